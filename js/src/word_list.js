/**
 * The word list of a compressed file: front-coded, then deflated.
 *
 * Words are sorted by their UTF-8 bytes. For each word the list holds the number of leading bytes shared with the
 * previous word (LEB128), the number of bytes that follow (LEB128), and those bytes. The list is one raw deflate stream.
 * The first word has id 1; id 0 is the unknown word.
 */
import { ModelError } from './errors.js';

const MAX_BYTES = 1 << 26; // of the inflated list

/**
 * Return the id of each word.
 * @param {Uint8Array} packed
 * @param {number} count expected number of words
 * @param {string} name name of the model, for messages
 * @returns {Promise<Map<string, number>>}
 */
export async function readWordList(packed, count, name) {
  try {
    const ids = new Map();
    const bytes = await inflate(packed);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    let at = 0, word = new Uint8Array(64), length = 0;

    function varint() {
      let value = 0;
      for (let factor = 1; factor < 2 ** 35; factor *= 128) {
        if (at >= bytes.length) throw new RangeError('a number is truncated');
        const byte = bytes[at++];
        value += (byte & 127) * factor;
        if (byte < 128) return value;
      }
      throw new RangeError('a number is too long');
    }

    while (at < bytes.length) {
      const shared = varint(), further = varint();
      if (shared > length || at + further > bytes.length) throw new RangeError(`word ${ids.size + 1} is truncated`);
      length = shared + further;
      if (length > word.length) {
        const longer = new Uint8Array(2 * length);
        longer.set(word.subarray(0, shared));
        word = longer;
      }
      word.set(bytes.subarray(at, at + further), shared);
      at += further;
      const spelling = text.decode(word.subarray(0, length));
      if (ids.has(spelling)) throw new RangeError(`"${spelling}" occurs twice`);
      ids.set(spelling, ids.size + 1);
    }
    if (ids.size !== count) throw new RangeError(`${ids.size} words, expected ${count}`);
    return ids;
  } catch (error) {
    throw new ModelError(`${name} is damaged: its word list cannot be read (${error.message})`);
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
    if (size > MAX_BYTES) {
      await reader.cancel();
      throw new RangeError(`more than ${MAX_BYTES} bytes`);
    }
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) bytes.set(piece, at), (at += piece.length);
  return bytes;
}
