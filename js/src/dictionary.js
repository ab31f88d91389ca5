/**
 * The word list of a compressed file.
 *
 * Words stand in ascending order of their UTF-8 bytes. Of each the file keeps how many leading bytes it shares with the
 * word before, how many follow, and those that follow; both numbers as LEB128. All of it is one raw deflate stream. The
 * first word has the id 1; 0 is every word that is not there.
 */
import { ModelError } from './errors.js';

const LARGEST = 1 << 26; // bytes when inflated: sixty-four million are more than any language has

/**
 * Ids of the words by their spelling.
 * @param {Uint8Array} packed
 * @param {number} count how many words there should be
 * @param {string} name the model, for messages
 * @returns {Promise<Map<string, number>>}
 */
export async function readDictionary(packed, count, name) {
  try {
    const ids = new Map();
    const bytes = await inflate(packed);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    let at = 0, word = new Uint8Array(64), length = 0;

    function varint() {
      let value = 0;
      for (let factor = 1; factor < 2 ** 35; factor *= 128) {
        if (at >= bytes.length) throw new RangeError('a number is cut off');
        const byte = bytes[at++];
        value += (byte & 127) * factor;
        if (byte < 128) return value;
      }
      throw new RangeError('a number is too long');
    }

    while (at < bytes.length) {
      const shared = varint(), further = varint();
      if (shared > length || at + further > bytes.length) throw new RangeError(`word ${ids.size + 1} is cut off`);
      length = shared + further;
      if (length > word.length) {
        const longer = new Uint8Array(2 * length);
        longer.set(word.subarray(0, shared));
        word = longer;
      }
      word.set(bytes.subarray(at, at + further), shared);
      at += further;
      const spelling = text.decode(word.subarray(0, length));
      if (ids.has(spelling)) throw new RangeError(`"${spelling}" is there twice`);
      ids.set(spelling, ids.size + 1);
    }
    if (ids.size !== count) throw new RangeError(`${ids.size} words, expected ${count}`);
    return ids;
  } catch (error) {
    throw new ModelError(`${name} is damaged: its dictionary cannot be read (${error.message})`);
  }
}

/** @param {Uint8Array} packed */
async function inflate(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const pieces = [];
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > LARGEST) {
      await reader.cancel();
      throw new RangeError(`more than ${LARGEST} bytes`);
    }
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) bytes.set(piece, at), (at += piece.length);
  return bytes;
}
