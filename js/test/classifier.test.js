/** Answers equal to Python's, and refused files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapsuletError, InputError, load, ModelError } from '../src/index.js';
import { expected, model, skip } from './expected.js';
import { compareAnswers } from './parity.js';
import { serve } from './chromium.js';

for (const [name, answers] of [['model.onnx', 'answers'], ['compressed.onnx', 'answers'], ['sets.onnx', 'sets']]) {
  test(`${name} answers as in Python`, { skip }, async () => {
    const classifier = await load(await model(name));
    const comparison = await compareAnswers(classifier, await expected(`${answers}.json`));
    assert.deepEqual(comparison.differences, []);
    assert.ok(comparison.compared > 2000);
    await classifier.close();
  });
}

test('bytes, a file and an address give the same model', { skip }, async () => {
  const bytes = await model('model.onnx');
  const server = await serve({ '': process.env.CAPSULET_EXPECTED });
  const padded = new Uint8Array(bytes.length + 16); // a view into a larger buffer
  padded.set(bytes, 8);
  const sources = [
    bytes, bytes.slice().buffer, padded.subarray(8, 8 + bytes.length), new File([bytes], 'picked.onnx'),
    `${server.address}model.onnx`, new URL(`${server.address}model.onnx`),
  ];
  const answers = [];
  for (const source of sources) {
    const classifier = await load(source);
    answers.push(await classifier.predict(['The match was close'], { topK: 2 }));
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  await assert.rejects(load(`${server.address}none.onnx`), /none\.onnx cannot be downloaded \(404/);
  server.close();
  await assert.rejects(load('http://127.0.0.1:1/model.onnx'), ModelError);
  for (const source of [null, undefined, 3, {}]) await assert.rejects(load(source), InputError);
});

test('multi-label models predict any number of labels', { skip }, async () => {
  const classifier = await load(await model('sets.onnx'));
  const { texts, given } = await expected('sets.json');
  const found = (await classifier.predict(texts)).map(({ labels }) => labels);
  assert.ok(classifier.multiLabel && classifier.thresholds.length === 3);
  assert.ok(found.some((labels) => labels.length === 0) && found.some((labels) => labels.length > 1));
  for (const labels of found) {
    const scores = labels.map(({ score }) => score);
    assert.deepEqual(scores, scores.toSorted((one, other) => other - one));
  }
  assert.equal(found.length, given.length);
  const single = await load(await model('model.onnx'));
  assert.ok(!single.multiLabel && (await single.predict(['match']))[0].labels === null);
});

test('concurrent calls do not interfere', { skip }, async () => {
  const classifier = await load(await model('model.onnx'));
  const { texts, lengths, labels } = await expected('answers.json');
  const answers = await Promise.all(texts.slice(0, 20).map((text) => classifier.predict([text], { topK: labels.length, rawScores: true })));
  answers.forEach(([{ top }], row) => top.forEach(({ label, score }) => {
    assert.ok(Math.abs(score - lengths[row][labels.indexOf(label)]) < 1e-4);
  }));
});

test('wrong calls say what was expected', { skip }, async () => {
  const classifier = await load(await model('model.onnx'));
  assert.deepEqual(await classifier.predict([]), []);
  for (const [call, words] of [
    [() => classifier.predict('one text'), 'predict got string, expected an array of texts: write predict([text])'],
    [() => classifier.predict(3), 'predict got number'],
    [() => classifier.predict(['fine', 3]), 'text 1 has type number: expected a string'],
    [() => classifier.predict(['a'], { topK: 0 }), 'topK is 0: expected an integer of at least 1'],
    [() => classifier.predict(['a'], { topK: 1.5 }), 'topK is 1.5'],
    [() => classifier.explain('a', { label: 'sprot' }), 'label "sprot" is unknown to the model: expected one of food, money, sport'],
    [() => classifier.explain(undefined), 'text 0 has type undefined'],
    [() => classifier.explain('\udc00'), 'unpaired surrogate'],
  ]) {
    await assert.rejects(call, (error) => error instanceof InputError && error.message.includes(words), words);
  }
});

test('contributions sum to the length before squash', { skip }, async () => {
  const classifier = await load(await model('compressed.onnx'));
  const { lengthBeforeSquash, tokens } = await classifier.explain('Stir the soup and the onions 👍');
  const sum = tokens.reduce((total, { contribution }) => total + contribution, 0);
  assert.ok(Math.abs(sum - lengthBeforeSquash) < 1e-5);
});

test('damaged and foreign files are refused with a reason', { skip }, async () => {
  for (const { name, words } of await expected('damaged.json')) {
    await assert.rejects(load(new File([await model(name)], name)), (error) => {
      assert.ok(error instanceof ModelError, `${name}: ${error.stack}`);
      assert.ok(error.message.includes(words), `${name}: ${error.message}`);
      assert.ok(error.message.startsWith(name), error.message);
      return true;
    });
  }
});

test('a file cut anywhere is refused', { skip }, async () => {
  const bytes = await model('compressed.onnx');
  for (let part = 0; part < 40; part++) {
    const cut = Math.floor((bytes.length * part) / 40);
    await assert.rejects(load(bytes.subarray(0, cut)), ModelError, `the first ${cut} bytes`);
  }
});

test('a file with wrong bytes loads or is refused', { skip }, async () => {
  let state = 1;
  const random = (below) => (state = (state * 48271) % 2147483647) % below;
  for (const name of ['model.onnx', 'compressed.onnx']) {
    const bytes = await model(name);
    for (let round = 0; round < 10; round++) {
      const wrong = bytes.slice();
      for (let count = 0; count < 4; count++) wrong[random(wrong.length)] = random(256);
      await load(wrong).then((loaded) => loaded.close(), (error) => assert.ok(error instanceof CapsuletError, error.stack));
    }
  }
});
