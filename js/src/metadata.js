/**
 * The metadata of an ONNX file. ONNX Runtime for WebAssembly gives no access to them.
 *
 * A file is one protobuf message, ModelProto. Its field 14, `metadata_props`, is repeated. Each entry is a message with
 * the key as field 1 and the value as field 2. All other fields, such as the graph, are skipped.
 */
import { ModelError } from './errors.js';

const GRAPH = 7, METADATA = 14;
const KEY = 1, VALUE = 2;
const VARINT = 0, EIGHT_BYTES = 1, LENGTH_DELIMITED = 2, FOUR_BYTES = 5; // wire types

/**
 * Return the keys and values of a model's metadata.
 * @param {Uint8Array} bytes the whole file
 * @param {string} name name of the file, for messages
 * @returns {Map<string, string>}
 */
export function readMetadata(bytes, name) {
  const metadata = new Map();
  let hasGraph = false;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    for (const { number, content } of fields(bytes)) {
      hasGraph ||= number === GRAPH && content !== null;
      if (number !== METADATA || content === null) continue;
      let key = '', value = '';
      for (const field of fields(content)) {
        if (field.number === KEY && field.content) key = text.decode(field.content);
        if (field.number === VALUE && field.content) value = text.decode(field.content);
      }
      metadata.set(key, value);
    }
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    throw notAModel(name, bytes.length ? `${error.message} in ${bytes.length} bytes` : 'it is empty');
  }
  if (!hasGraph) throw notAModel(name, bytes.length ? 'it has no graph' : 'it is empty');
  return metadata;
}

/** Advice for a file that is not a capsulet model. */
export const CHOOSE = 'choose a file that `capsulet export` or `capsulet compress` wrote';

const SEAL = [...'capsulet.digest'].map((letter) => letter.charCodeAt(0)).concat(0x12, 0x40); // followed by 64 digits
const DIGITS = 64;

/**
 * Refuse a file whose digest does not match its bytes. The digest is that of the file with zeros in place of the digest.
 * Nothing is checked if the file has no digest, or if the browser computes none: pages served over plain HTTP have no
 * `crypto.subtle`.
 * @param {Uint8Array} bytes the whole file
 * @param {string} name name of the file, for messages
 */
export async function checkDigest(bytes, name) {
  const place = lastIndexOf(bytes, SEAL) + SEAL.length;
  if (place < SEAL.length || !globalThis.crypto?.subtle) return;
  const blank = bytes.slice();
  const stored = new TextDecoder().decode(bytes.subarray(place, place + DIGITS));
  blank.fill('0'.charCodeAt(0), place, place + DIGITS);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', blank));
  if (stored !== [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')) {
    throw new ModelError(
      `${name} is damaged: the digest of its ${bytes.length} bytes does not match the stored one; download it again`);
  }
}

/** Index of the last occurrence of these bytes, or -1. */
function lastIndexOf(bytes, wanted) {
  for (let at = bytes.length - wanted.length; at >= 0; at--) {
    if (wanted.every((byte, place) => bytes[at + place] === byte)) return at;
  }
  return -1;
}

/** The error for a file that cannot be read as an ONNX model. */
export function notAModel(name, reason) {
  return new ModelError(
    `${name} is not a model, or is damaged (${reason}): ${CHOOSE}`);
}

/** Iterate over the fields of a message; `content` is null if the field is a number. */
function* fields(bytes) {
  let at = 0;

  function varint() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      if (at >= bytes.length) throw new RangeError('a number is truncated');
      if (factor > 2 ** 63) throw new RangeError('a number is too long');
      const byte = bytes[at++];
      value += (byte & 127) * factor; // exact up to 2^53: lengths and field numbers are smaller
      if (byte < 128) return value;
    }
  }

  while (at < bytes.length) {
    const tag = varint(), number = Math.floor(tag / 8), type = tag % 8;
    if (number < 1) throw new RangeError('a field has no number');
    let content = null;
    if (type === VARINT) varint();
    else if (type === EIGHT_BYTES) at += 8;
    else if (type === FOUR_BYTES) at += 4;
    else if (type === LENGTH_DELIMITED) {
      const length = varint();
      content = bytes.subarray(at, at + length);
      at += length;
    } else throw new RangeError(`a field has the unknown type ${type}`);
    if (at > bytes.length) throw new RangeError('a field is truncated');
    yield { number, content };
  }
}
