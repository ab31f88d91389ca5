/** Unknown words read as similar ones; tests/text/test_vocabulary.py has the same cases. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SimilarWords } from '../src/similar_words.js';
import { Tokenizer } from '../src/tokens.js';

const WORDS = ['fabulous', 'quality', 'film', 'films', 'match', 'matches', 'qu', '中', 'inter', 'international', 'planetary',
  'planets'];
const vocabulary = new Map(['[PAD]', '[UNK]', ...WORDS].map((word, number) => [word, number]));

test('the known word with the longest shared beginning', () => {
  const similarWords = new SimilarWords(vocabulary);
  for (const [word, known] of [
    ['fabulously', 'fabulous'], ['qualities', 'quality'], ['filmed', 'film'], ['matching', 'match'], ['planeted', 'planets'],
    ['matche', 'matches'], ['matc', 'match'], ['fabian', undefined], ['filmographies', undefined],
    ['interpretation', undefined], ['internationally', 'international'], ['intern', undefined], ['qui', undefined],
    ['文', undefined], ['zzzz', undefined], ['aaaa', undefined],
  ]) assert.equal(similarWords.idOf(word), vocabulary.get(known), word);
  assert.equal(new SimilarWords(new Map()).idOf('anything'), undefined);
});

test('unknown words have the unknown id unless similar words are read', () => {
  const tokenizer = new Tokenizer(vocabulary, 1, 9);
  assert.deepEqual(tokenizer.encode('films fabulously zzzz').ids, [5, 1, 1]);
  tokenizer.similarWords = new SimilarWords(vocabulary);
  assert.deepEqual(tokenizer.encode('films fabulously zzzz').ids, [5, 2, 1]);
});
