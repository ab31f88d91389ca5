/**
 * Text to tokens by the rule of `tokenizer.json`, the same in every browser.
 *
 * Lower-case, character by character; a run of letters a-z that may go on with digits is a word; every digit and every
 * other visible character is a token of its own. Lower case and white space come from tables, not from the browser,
 * whose Unicode may be older or newer than that of the library which made the model. Offsets count UTF-16 units, so
 * that `text.slice(start, end)` is what was read.
 */
import { LOWER_CASE, WHITE_SPACE } from './casing.js';
import { InputError, ModelError } from './errors.js';

const RULE = '[a-z][a-z0-9]*|[0-9]|[^\\sa-z0-9]';
const DOTTED_I = 0x130, DOT_ABOVE = 0x307; // the one character whose lower case is two: i and a combining dot

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
 * The words of a text, lower-case, and where each stands in it.
 * @param {string} text
 * @param {number} limit the most words to read
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
      while (at < text.length && code !== DOTTED_I) { // its dot ends the word
        const next = text.charCodeAt(at); // no letter or digit is beyond 0xFFFF
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
 * Refuse what cannot be tokenised.
 * @param {unknown} text
 * @param {number} index its number among the texts
 */
export function checkText(text, index) {
  if (typeof text !== 'string') throw new InputError(`text ${index} is of type ${typeOf(text)}: expected a string`);
  const place = text.search(/\p{Surrogate}/u); // a pair is one character to this pattern, half a pair is not
  if (place >= 0) {
    const half = text.charCodeAt(place).toString(16);
    throw new InputError(`text ${index} has an unpaired surrogate \\u${half} at ${place}: it was cut or decoded wrongly`);
  }
}

/** @param {unknown} value */
export const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** Words and their ids. */
export class Tokenizer {
  /**
   * @param {Map<string, number>} vocabulary
   * @param {number} unknown the id of every word that is not in it
   * @param {number} maxTokens tokens of a text that are read
   */
  constructor(vocabulary, unknown, maxTokens) {
    this.vocabulary = vocabulary;
    this.unknown = unknown;
    this.maxTokens = maxTokens;
    /** @type {import('./likeness.js').Likeness | undefined} of a model that reads unknown words as known ones */
    this.likeness = undefined;
  }

  /**
   * Ids of the tokens of a text and where they stand; a text without tokens is read as one unknown word at (0, 0).
   * @param {string} text
   * @returns {{ids: number[], starts: number[], ends: number[]}}
   */
  encode(text) {
    const { words, starts, ends } = split(text, this.maxTokens);
    if (!words.length) return { ids: [this.unknown], starts: [0], ends: [0] };
    const number = (word) => this.vocabulary.get(word) ?? this.likeness?.number(word) ?? this.unknown;
    return { ids: words.map(number), starts, ends };
  }
}

/**
 * The tokenizer of a `tokenizer.json`, if it follows the rule above.
 * @param {string} json
 * @param {string} name the model, for messages
 * @returns {Tokenizer}
 */
export function parseTokenizer(json, name) {
  let parsed;
  try {
    parsed = JSON.parse(json);
  } catch (error) {
    throw new ModelError(`${name} holds no tokenizer that can be read (${error.message})`);
  }
  const { normalizer, pre_tokenizer: splitter, model, truncation } = parsed ?? {};
  const found = {
    normalizer: normalizer?.type, rule: splitter?.pattern?.Regex, behavior: splitter?.behavior,
    invert: splitter?.invert, model: model?.type, truncation: truncation?.direction,
    post_processor: parsed?.post_processor ?? null, added_tokens: parsed?.added_tokens?.length ?? 0,
  };
  const expected = {
    normalizer: 'Lowercase', rule: RULE, behavior: 'Removed', invert: true, model: 'WordLevel', truncation: 'Right',
    post_processor: null, added_tokens: 0,
  };
  for (const [key, value] of Object.entries(expected)) {
    if (found[key] !== value) {
      const got = JSON.stringify(found[key])?.slice(0, 60);
      throw new ModelError(`${name} has a tokenizer of another kind: ${key} is ${got}, expected ${JSON.stringify(value)}`);
    }
  }
  const words = Object.entries(model.vocab ?? {}); // a Map, for "constructor" is a word as any other
  const vocabulary = new Map(words);
  const unknown = vocabulary.get(model.unk_token);
  const ids = new Set(vocabulary.values());
  if (unknown === undefined || ids.size < words.length || ![...ids].every((id) => Number.isInteger(id) && id >= 0)) {
    throw new ModelError(`${name} is damaged: its words have no numbers of their own, or there is none for unknown words`);
  }
  if (!Number.isInteger(truncation.max_length) || truncation.max_length < 1) {
    throw new ModelError(`${name} is damaged: its tokenizer reads ${truncation.max_length} tokens of a text`);
  }
  return new Tokenizer(vocabulary, unknown, truncation.max_length);
}
