/** The tokenizer's rule, and the same tokens as in Python for every string. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InputError, ModelError } from '../src/errors.js';
import { checkText, parseTokenizer, split } from '../src/tokens.js';
import { expected, skip } from './expected.js';
import { compareCharacters, compareTokens } from './parity.js';

const tokenizer = (changes = {}) => JSON.stringify({
  truncation: { direction: 'Right', max_length: 4 },
  added_tokens: [],
  normalizer: { type: 'Lowercase' },
  pre_tokenizer: {
    type: 'Split', pattern: { Regex: '[a-z][a-z0-9]*|[0-9]|[^\\sa-z0-9]' }, behavior: 'Removed', invert: true,
  },
  post_processor: null,
  model: { type: 'WordLevel', vocab: { '[PAD]': 0, '[UNK]': 1, cat: 2, '文': 3 }, unk_token: '[UNK]' },
  ...changes,
});

test('the rule', () => {
  assert.deepEqual(split('The mp3 4x4 don’t 中文', 99).words, ['the', 'mp3', '4', 'x4', 'don', '’', 't', '中', '文']);
});

test('offsets slice the string', () => {
  const text = '👍🏽 İyi KELVIN \u212a2';
  const { words, starts, ends } = split(text, 99);
  assert.deepEqual(starts.map((start, place) => text.slice(start, ends[place])), ['👍', '🏽', 'İ', 'İ', 'yi', 'KELVIN', '\u212a2']);
  assert.deepEqual(words, ['👍', '🏽', 'i', '\u0307', 'yi', 'kelvin', 'k2']);
});

test('only the first tokens are read', () => {
  assert.deepEqual(split('a İ b', 2).words, ['a', 'i']);
});

test('names of object properties are ordinary words', () => {
  const parsed = parseTokenizer(tokenizer(), 'm.onnx');
  assert.deepEqual(parsed.encode('constructor toString CAT'), { ids: [1, 1, 2], starts: [0, 12, 21], ends: [11, 20, 24] });
  assert.deepEqual(parsed.encode('a b c d e').ids.length, 4);
  assert.deepEqual(parsed.encode(' \u3000'), { ids: [1], starts: [0], ends: [0] });
});

test('half a character is refused', () => {
  assert.throws(() => checkText('ab\ud83dc', 3), (error) => error instanceof InputError
    && error.message === 'text 3 has an unpaired surrogate \\ud83d at 2: the text was cut or decoded incorrectly');
  assert.throws(() => checkText(null, 0), /text 0 has type null/);
  checkText('👍🏽', 0);
});

test('a tokenizer of another rule is refused', () => {
  for (const [changes, words] of [
    [{ normalizer: null }, 'normalizer is undefined, expected "Lowercase"'],
    [{ pre_tokenizer: { type: 'Whitespace' } }, 'rule is undefined'],
    [{ model: { type: 'BPE' } }, 'model is "BPE"'],
    [{ model: { type: 'WordLevel', vocab: { a: 0 }, unk_token: '[UNK]' } }, 'the unknown word has no id'],
    [{ model: { type: 'WordLevel', vocab: { a: 0, '[UNK]': 0 }, unk_token: '[UNK]' } }, 'not unique integers'],
    [{ truncation: null }, 'truncation is undefined'],
    [{ truncation: { direction: 'Right', max_length: 0 } }, 'reads 0 tokens per text'],
  ]) {
    assert.throws(() => parseTokenizer(tokenizer(changes), 'm.onnx'),
      (error) => error instanceof ModelError && error.message.includes(words), words);
  }
  for (const json of ['', 'null', '[]', '3']) assert.throws(() => parseTokenizer(json, 'm.onnx'), ModelError);
});

test('unusual strings have the same tokens as in Python', { skip }, async () => {
  const { cases, refused, limit } = await expected('tokens.json');
  const { differences } = compareTokens(cases, limit);
  assert.deepEqual(differences, []);
  assert.ok(cases.length >= 3000 && refused.length >= 3);
  for (const text of refused) assert.throws(() => checkText(text, 0), InputError);
  for (const { text } of cases) checkText(text, 0);
});

test('every character has the same tokens as in Python', { skip }, async () => {
  const slices = await expected('characters.json');
  assert.equal(slices.reduce((sum, { count }) => sum + count, 0), 0x110000);
  assert.deepEqual((await compareCharacters(slices)).differences, []);
});
