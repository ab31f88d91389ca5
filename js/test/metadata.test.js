/** Reading protobuf. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelError } from '../src/errors.js';
import { readMetadata } from '../src/metadata.js';

const encode = (text) => [...new TextEncoder().encode(text)];
const varint = (number) => (number < 128 ? [number] : [(number & 127) | 128, ...varint(number >> 7)]);
const field = (number, content) => [...varint((number << 3) | 2), ...varint(content.length), ...content];
const entry = (key, value) => field(14, [...field(1, encode(key)), ...field(2, encode(value))]);
const read = (bytes) => readMetadata(Uint8Array.from(bytes), 'm.onnx');

test('entries among fields of every type', () => {
  const long = 'ß'.repeat(300);
  const bytes = [
    8, 200, 1, // a number
    ...entry('one', 'eins'),
    ...field(7, [255, 255]), // the graph is skipped
    9, 1, 2, 3, 4, 5, 6, 7, 8, // eight bytes
    21, 1, 2, 3, 4, // four bytes
    ...entry('two', long),
    ...field(14, [...field(2, encode('value first')), ...field(1, encode('key'))]),
    ...entry('empty', ''),
  ];
  assert.deepEqual([...read(bytes)], [['one', 'eins'], ['two', long], ['key', 'value first'], ['empty', '']]);
});

test('damaged messages are refused', () => {
  const whole = [...field(7, [1, 2, 3]), ...entry('key', 'value')];
  for (const [bytes, words] of [
    [[], 'it is empty'],
    [encode('{"not": "onnx"}'), 'm.onnx is not a model, or is damaged'],
    [entry('key', 'value'), 'it has no graph'],
    [whole.slice(0, -1), 'truncated'],
    [[0, 1], 'no number'],
    [[11], 'unknown type 3'],
    [Array(30).fill(255), 'too long'],
    [[...whole, ...field(14, field(1, [255]))], 'm.onnx is not a model'], // no UTF-8
  ]) {
    assert.throws(() => read(bytes), (error) => error instanceof ModelError && error.message.includes(words), words);
  }
});
