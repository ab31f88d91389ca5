/** Front-coded words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { ModelError } from '../src/errors.js';
import { readWordList } from '../src/word_list.js';

const encode = (text) => [...new TextEncoder().encode(text)];
const read = (bytes, count) => readWordList(deflateRawSync(Uint8Array.from(bytes)), count, 'm.onnx');
const WORDS = [0, 3, ...encode('car'), 3, 1, ...encode('t'), 0, 3, ...encode('文'), 2, 1, 0x88]; // 文 is e6 96 87, 斈 e6 96 88

test('words share their beginnings, by bytes', async () => {
  assert.deepEqual([...await read(WORDS, 4)], [['car', 1], ['cart', 2], ['文', 3], ['斈', 4]]);
  assert.equal((await read([], 0)).size, 0);
});

test('long words, and numbers of several bytes', async () => {
  const word = 'x'.repeat(300);
  const ids = await read([0, 0xac, 2, ...encode(word), 0xac, 2, 1, ...encode('y')], 2);
  assert.deepEqual([...ids], [[word, 1], [`${word}y`, 2]]);
});

test('a damaged list is refused', async () => {
  for (const [bytes, count, words] of [
    [WORDS, 5, '4 words, expected 5'],
    [WORDS.slice(0, -1), 4, 'word 4 is truncated'],
    [[0, 1], 1, 'word 1 is truncated'],
    [[0], 1, 'a number is truncated'],
    [[1, 1, 97], 1, 'word 1 is truncated'],
    [[0, 1, 97, 1, 0], 2, '"a" occurs twice'],
    [[0, 1, 0xff], 1, 'cannot be read'],
    [Array(9).fill(0xff), 1, 'a number is too long'],
  ]) {
    await assert.rejects(read(bytes, count),
      (error) => error instanceof ModelError && error.message.startsWith('m.onnx is damaged') && error.message.includes(words), words);
  }
  await assert.rejects(readWordList(Uint8Array.from([1, 2, 3]), 1, 'm.onnx'), ModelError);
});
