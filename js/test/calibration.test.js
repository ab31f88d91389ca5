/** Class lengths to probabilities. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Calibration, parseCalibration } from '../src/calibration.js';
import { ModelError } from '../src/errors.js';
import { expected, skip } from './expected.js';

const near = (found, wanted) => {
  assert.equal(found.length, wanted.length);
  found.forEach((value, index) => assert.ok(Math.abs(value - wanted[index]) < 1e-9, `${found}, expected ${wanted}`));
};

test('a softmax of every scale', () => {
  const lengths = [0.8, 0.5]; // logits log 4 and 0, norms 2 and 1
  const first = (scale, factor) => new Calibration({ method: 'temperature', scale, factor }).probabilities(lengths)[0];
  near([first('length', 10), first('log', 1), first('logit', 1), first('norm', 1), first('logit', 0)],
    [1 / (1 + Math.exp(-3)), 0.8 / 1.3, 0.8, 1 / (1 + Math.exp(-1)), 0.5]);
});

test('the best class is corrected and the others share the rest', () => {
  const lengths = [0.2, 0.6, 0.2]; // log: these shares themselves
  const platt = new Calibration({ method: 'platt', scale: 'log', factor: 1, slope: 2, offset: 0 });
  near(platt.probabilities(lengths), [2 / 13, 9 / 13, 2 / 13]); // odds of 1.5 squared
  const isotonic = (knots) => new Calibration({ method: 'isotonic', scale: 'log', factor: 1, knots });
  near(isotonic([[0.5, 0.7], [0.7, 0.9]]).probabilities(lengths), [0.1, 0.8, 0.1]);
  near(isotonic([[0.7, 0.7], [0.8, 0.9]]).probabilities(lengths), [0.15, 0.7, 0.15]);
  near(isotonic([[0.1, 0.5], [0.2, 0.9]]).probabilities(lengths), [0.05, 0.9, 0.05]);
  near(isotonic([[0.6, 0]]).probabilities(lengths), [1 / 3, 1 / 3, 1 / 3]); // at least the second-best class
});

test('lengths of 0 and 1 give numbers', () => {
  for (const scale of ['length', 'log', 'logit', 'norm']) {
    for (const method of ['temperature', 'platt']) {
      const found = new Calibration({ method, scale, factor: 1e4 }).probabilities([0, 1, 0.5]);
      assert.ok(found.every(Number.isFinite) && Math.abs(found.reduce((sum, each) => sum + each) - 1) < 1e-9);
    }
  }
});

test('a calibration that cannot be read is refused', () => {
  assert.equal(parseCalibration(undefined, 'm.onnx'), null);
  assert.equal(parseCalibration({ method: 'temperature', scale: 'log', factor: 2 }, 'm.onnx').factor, 2);
  for (const stored of [
    {}, 3, [], { method: 'oracle', scale: 'log', factor: 1 }, { method: 'platt', scale: 'toString', factor: 1 },
    { method: 'platt', scale: 'log' }, { method: 'isotonic', scale: 'log', factor: 1 },
    { method: 'isotonic', scale: 'log', factor: 1, knots: [[1]] }, { method: 'platt', scale: 'log', factor: 1, slope: null },
  ]) {
    assert.throws(() => parseCalibration(stored, 'm.onnx'), ModelError, JSON.stringify(stored));
  }
});

test('the same probabilities as in Python', { skip }, async () => {
  const { stored, lengths, probabilities } = await expected('calibration.json');
  stored.forEach((each, index) => {
    const calibration = parseCalibration(each, 'm.onnx');
    lengths.forEach((row, place) => near(calibration.probabilities(row), probabilities[index][place]));
  });
});
