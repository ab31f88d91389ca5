/** Reads a model from bytes, a File or a URL. */
import { InputError, ModelError } from './errors.js';
import { typeOf } from './tokens.js';

/** @typedef {Uint8Array | ArrayBuffer | ArrayBufferView | Blob | URL | string} Source */

/**
 * Return the bytes of a model and its name.
 * @param {Source} source
 * @returns {Promise<{bytes: Uint8Array, name: string}>}
 */
export async function readSource(source) {
  if (source instanceof ArrayBuffer) return { bytes: new Uint8Array(source), name: 'the model' };
  if (ArrayBuffer.isView(source)) {
    return { bytes: new Uint8Array(source.buffer, source.byteOffset, source.byteLength), name: 'the model' };
  }
  if (source instanceof Blob) {
    const name = /** @type {File} */ (source).name || 'the model';
    try {
      return { bytes: new Uint8Array(await source.arrayBuffer()), name };
    } catch (error) {
      throw new ModelError(`${name} cannot be read (${error.message})`);
    }
  }
  if (typeof source === 'string' || source instanceof URL) return download(String(source));
  throw new InputError(`load got ${typeOf(source)}: expected the bytes of a model, a File or a URL`);
}

/** @param {string} url */
async function download(url) {
  let response;
  try {
    response = await fetch(url);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`.trim());
    return { bytes: new Uint8Array(await response.arrayBuffer()), name: url };
  } catch (error) {
    throw new ModelError(`${url} cannot be downloaded (${error.cause?.message ?? error.message})`);
  }
}
