/**
 * Text to tokens by the rule of `tokenizer.json`. The result is the same in every browser.
 *
 * Each character is lower-cased. A letter a-z followed by letters or digits is a word. Every other digit and every other
 * visible character is a token. Lower case and white space come from tables, because the browser's version of Unicode
 * may differ from that of the library that trained the model. Offsets count UTF-16 units: a token is
 * `text.slice(start, end)`.
 */
import { LOWER_CASE, WHITE_SPACE } from './casing.js';
import { InputError, ModelError } from './errors.js';

const RULE = '[a-z][a-z0-9]*|[0-9]|[^\\sa-z0-9]';
const DOTTED_I = 0x130, DOT_ABOVE = 0x307; // the only character whose lower case is two characters: i and a combining dot

const lowerOf = new Map();
for (const [first, count, step, difference] of LOWER_CASE) {
  for (let code = first; code < first + count * step; code += step) lowerOf.set(code, code + difference);
}
lowerOf.set(DOTTED_I, 0x69);
const spaces = new Set(WHITE_SPACE);

/** @param {number} code */
const isLetter = (code) => code >= 97 && code <= 122;
/** @param {number} code */
const isDigit = (code) => code >= 48 && code <= 57;

/**
 * Return the lower-case tokens of a text and their offsets.
 * @param {string} text
 * @param {number} limit maximum number of tokens
 * @returns {{words: string[], starts: number[], ends: number[]}}
 */
export function split(text, limit) {
  const words = [], starts = [], ends = [];
  const put = (word, start, end) => {
    if (words.length < limit) words.push(word), starts.push(start), ends.push(end);
  };
  let at = 0;
  while (at < text.length && words.length < limit) {
    const start = at;
    let code = text.codePointAt(at);
    at += code > 0xffff ? 2 : 1;
    let lower = lowerOf.get(code) ?? code;
    if (spaces.has(lower)) continue;
    let word = String.fromCodePoint(lower);
    if (isLetter(lower)) {
      while (at < text.length && code !== DOTTED_I) { // the combining dot ends the word
        const next = text.charCodeAt(at); // no letter or digit is above 0xFFFF
        lower = lowerOf.get(next) ?? next;
        if (!isLetter(lower) && !isDigit(lower)) break;
        word += String.fromCharCode(lower);
        code = next;
        at++;
      }
    }
    put(word, start, at);
    if (code === DOTTED_I) put(String.fromCharCode(DOT_ABOVE), at - 1, at);
  }
  return { words, starts, ends };
}

/**
 * Refuse a text that cannot be tokenised.
 * @param {unknown} text
 * @param {number} index index of the text, for messages
 */
export function checkText(text, index) {
  if (typeof text !== 'string') throw new InputError(`text ${index} has type ${typeOf(text)}: expected a string`);
  const place = text.search(/\p{Surrogate}/u); // matches unpaired surrogates only
  if (place >= 0) {
    const half = text.charCodeAt(place).toString(16);
    throw new InputError(`text ${index} has an unpaired surrogate \\u${half} at ${place}: the text was cut or decoded incorrectly`);
  }
}

/** @param {unknown} value */
export const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** Maps texts to ids. */
export class Tokenizer {
  /**
   * @param {Map<string, number>} vocabulary
   * @param {number} unknown id of unknown words
   * @param {number} maxTokens number of tokens read per text
   */
  constructor(vocabulary, unknown, maxTokens) {
    this.vocabulary = vocabulary;
    this.unknown = unknown;
    this.maxTokens = maxTokens;
    /** @type {import('./similar_words.js').SimilarWords | undefined} set if unknown words are read as similar ones */
    this.similarWords = undefined;
  }

  /**
   * Return the ids and offsets of a text's tokens. A text without tokens is read as one unknown word at (0, 0).
   * @param {string} text
   * @returns {{ids: number[], starts: number[], ends: number[]}}
   */
  encode(text) {
    const { words, starts, ends } = split(text, this.maxTokens);
    if (!words.length) return { ids: [this.unknown], starts: [0], ends: [0] };
    const idOf = (word) => this.vocabulary.get(word) ?? this.similarWords?.idOf(word) ?? this.unknown;
    return { ids: words.map(idOf), starts, ends };
  }
}

/**
 * Parse a `tokenizer.json` and check that it follows the rule above.
 * @param {string} json
 * @param {string} name name of the model, for messages
 * @returns {Tokenizer}
 */
export function parseTokenizer(json, name) {
  let parsed;
  try {
    parsed = JSON.parse(json);
  } catch (error) {
    throw new ModelError(`${name} is damaged: its tokenizer is not JSON (${error.message}); export it again`);
  }
  const { normalizer, pre_tokenizer: splitter, model, truncation } = parsed ?? {};
  const actual = {
    normalizer: normalizer?.type, rule: splitter?.pattern?.Regex, behavior: splitter?.behavior,
    invert: splitter?.invert, model: model?.type, truncation: truncation?.direction,
    post_processor: parsed?.post_processor ?? null, added_tokens: parsed?.added_tokens?.length ?? 0,
  };
  const expected = {
    normalizer: 'Lowercase', rule: RULE, behavior: 'Removed', invert: true, model: 'WordLevel', truncation: 'Right',
    post_processor: null, added_tokens: 0,
  };
  for (const [key, value] of Object.entries(expected)) {
    if (actual[key] !== value) {
      const got = JSON.stringify(actual[key])?.slice(0, 60);
      throw new ModelError(`${name} has an unsupported tokenizer: ${key} is ${got}, expected ${JSON.stringify(value)}`);
    }
  }
  const words = Object.entries(model.vocab ?? {}); // a Map, because "constructor" is an ordinary word
  const vocabulary = new Map(words);
  const unknown = vocabulary.get(model.unk_token);
  const ids = new Set(vocabulary.values());
  if (unknown === undefined || ids.size < words.length || ![...ids].every((id) => Number.isInteger(id) && id >= 0)) {
    throw new ModelError(`${name} is damaged: its word ids are not unique integers, or the unknown word has no id`);
  }
  if (!Number.isInteger(truncation.max_length) || truncation.max_length < 1) {
    throw new ModelError(`${name} is damaged: its tokenizer reads ${truncation.max_length} tokens per text, expected at least 1`);
  }
  return new Tokenizer(vocabulary, unknown, truncation.max_length);
}
