/** The rule by which unknown words are read; tests/text/test_likeness.py has the same cases. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Likeness } from '../src/likeness.js';
import { Tokenizer } from '../src/tokens.js';

const WORDS = ['fabulous', 'quality', 'film', 'films', 'match', 'matches', 'qu', '中', 'inter', 'international', 'planetary',
  'planets'];
const vocabulary = new Map(['[PAD]', '[UNK]', ...WORDS].map((word, number) => [word, number]));

test('the known word that begins most like it', () => {
  const likeness = new Likeness(vocabulary);
  for (const [word, known] of [
    ['fabulously', 'fabulous'], ['qualities', 'quality'], ['filmed', 'film'], ['matching', 'match'], ['planeted', 'planets'],
    ['matche', 'matches'], ['matc', 'match'], ['fabian', undefined], ['filmographies', undefined],
    ['interpretation', undefined], ['internationally', 'international'], ['intern', undefined], ['qui', undefined],
    ['文', undefined], ['zzzz', undefined], ['aaaa', undefined],
  ]) assert.equal(likeness.number(word), vocabulary.get(known), word);
  assert.equal(new Likeness(new Map()).number('anything'), undefined);
});

test('only a model that reads so has ids of other words', () => {
  const tokenizer = new Tokenizer(vocabulary, 1, 9);
  assert.deepEqual(tokenizer.encode('films fabulously zzzz').ids, [5, 1, 1]);
  tokenizer.likeness = new Likeness(vocabulary);
  assert.deepEqual(tokenizer.encode('films fabulously zzzz').ids, [5, 2, 1]);
});
