/** Answers equal to Python's, sources, wrong calls. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { CapsuletError, InputError, load, ModelError } from '../src/index.js';
import { expected, folder, model, names, skip } from './expected.js';
import { compareAnswers, compareTokens } from './parity.js';
import { serve } from './server.js';

const FILE = 'model.safetensors';

test('answers as in Python', { skip }, async (context) => {
  for (const name of names) {
    for (const precision of ['int8', 'float32']) {
      await context.test(`${name}, ${precision}`, async () => {
        const classifier = await load(model(`${name}.safetensors`), { precision });
        assert.equal(classifier.precision, precision);
        const comparison = await compareAnswers(classifier, expected(`${name}-${precision}.json`));
        assert.deepEqual(comparison.differences, []);
        assert.ok(comparison.compared > 2000);
        await classifier.close();
      });
    }
  }
});

test('models without a network', { skip }, async () => {
  for (const [name, hasNetwork] of [['linear-only', false], ['linear-only-multi', false], ['linear-only-bits', false], ['linear', true]]) {
    const [exact, rounded] = await Promise.all(['float32', 'int8'].map((precision) => load(model(`${name}.safetensors`), { precision })));
    assert.equal(exact.hasNetwork, hasNetwork);
    const texts = ['fabulous quality', '', 'a playing 中文'];
    const [own, other] = await Promise.all([exact, rounded].map((classifier) => classifier.lengths(texts)));
    if (!hasNetwork) assert.deepEqual(own, other);
    const { tokens, lengthBeforeSquash, ngrams } = await exact.explain(texts[2]);
    const sum = tokens.reduce((total, { contribution }) => total + contribution, 0);
    assert.ok(Math.abs(sum - lengthBeforeSquash) < 1e-5);
    assert.equal(Math.abs(ngrams - lengthBeforeSquash) < 1e-5, !hasNetwork);
    await Promise.all([exact.close(), rounded.close()]);
  }
});

test('unusual strings have the same tokens as in Python', { skip }, async () => {
  const classifier = await load(model(FILE)), { cases, refused } = expected('tokens.json');
  const { differences } = await compareTokens(classifier, cases);
  assert.deepEqual(differences, []);
  assert.ok(cases.length >= 3000 && refused.length >= 3);
  for (const text of refused) await assert.rejects(classifier.predict([text]), InputError);
  await classifier.close();
});

test('every source gives the same model', { skip }, async () => {
  const bytes = model(FILE), path = join(folder, FILE);
  const server = await serve({ '': folder });
  const padded = new Uint8Array(bytes.length + 16); // a view into a larger buffer
  padded.set(bytes, 8);
  const sources = [
    bytes, bytes.slice().buffer, padded.subarray(8, 8 + bytes.length), new DataView(bytes.buffer), readFileSync(path),
    new Blob([bytes]), new Response(bytes), new Blob([bytes]).stream(), Promise.resolve(bytes),
    `${server.address}${FILE}`, new URL(`${server.address}${FILE}`), fetch(`${server.address}${FILE}`),
    path, pathToFileURL(path), String(pathToFileURL(path)),
  ];
  const answers = [];
  for (const source of sources) {
    const classifier = await load(source);
    answers.push(await classifier.predict(['The match was close'], { topK: 2 }));
    await classifier.close();
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  await assert.rejects(load(`${server.address}none.safetensors`), /none\.safetensors cannot be read \(404/);
  await assert.rejects(load(fetch(`${server.address}none.safetensors`)), /none\.safetensors cannot be read \(404/);
  server.close();
  await assert.rejects(load('http://127.0.0.1:1/model.safetensors'), ModelError);
  await assert.rejects(load(join(folder, 'none.safetensors')), ModelError);
  for (const source of [null, undefined, 3, {}]) await assert.rejects(load(source), InputError);
  await assert.rejects(load(bytes, { precision: 'int4' }), /precision is "int4": expected 'int8' or 'float32'/);
});

test('texts are answered in a worker', { skip }, async () => {
  const code = `import { load } from ${JSON.stringify(String(new URL('../src/index.js', import.meta.url)))};
    import { parentPort, workerData } from 'node:worker_threads';
    const model = await load(workerData);
    parentPort.postMessage(await model.predict(['The match was close']));`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData: join(folder, FILE) });
  const found = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const classifier = await load(model(FILE));
  assert.deepEqual(found, await classifier.predict(['The match was close']));
  await classifier.close();
});

test('multi-label models predict any number of labels', { skip }, async () => {
  const classifier = await load(model('sets.safetensors'));
  const { texts } = expected('sets-int8.json');
  const found = (await classifier.predict(texts)).map(({ labels }) => labels);
  assert.ok(classifier.multiLabel && classifier.thresholds.length === 3 && classifier.probabilityThresholds.length === 3);
  assert.ok(found.some((labels) => labels.length === 0) && found.some((labels) => labels.length > 1));
  for (const labels of found) {
    const found = labels.map(({ probability }) => probability);
    assert.deepEqual(found, [...found].sort((one, other) => other - one));
  }
  await assert.rejects(classifier.predict(texts, { abstain: true }), /a multi-label model does not abstain/);
  await classifier.close();
  const single = await load(model(FILE));
  assert.ok(!single.multiLabel && (await single.predict(['match']))[0].labels === null);
  await single.close();
});

test('concurrent calls and models do not interfere', { skip }, async () => {
  const [one, other] = await Promise.all([load(model(FILE)), load(model(FILE), { precision: 'float32' })]);
  const { texts, lengths, labels } = expected('model-int8.json');
  const answers = await Promise.all(texts.slice(0, 20).flatMap((text) => [one.lengths([text]), other.lengths([text])]));
  answers.filter((_, place) => place % 2 === 0).forEach(([row], place) => assert.deepEqual([...row], lengths[place]));
  assert.equal(answers[1][0].length, labels.length);
  await one.close();
  assert.deepEqual(await other.lengths([texts[0]]), answers[1]);
  await other.close();
});

test('many texts are answered in order', { skip }, async () => {
  const classifier = await load(model(FILE)), { texts, lengths } = expected('model-int8.json');
  const short = [...texts.keys()].filter((row) => texts[row].length < 300);
  const rows = Array.from({ length: 2500 }, (_, place) => short[(place * 7) % short.length]);
  (await classifier.lengths(rows.map((row) => texts[row]))).forEach((found, place) => assert.deepEqual([...found], lengths[rows[place]]));
  await assert.rejects(classifier.predict([...rows.map((row) => texts[row]), 3]), /text 2500 has type number/);
  await classifier.close();
});

test('a stream is answered while it arrives', { skip }, async () => {
  const classifier = await load(model(FILE)), { texts } = expected('model-int8.json');
  const wanted = await classifier.predict(texts.slice(0, 60), { topK: 2 });
  let given = 0;
  async function* slowly() {
    for (const text of texts.slice(0, 60)) {
      given++;
      yield text;
      if (given % 25 === 0) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const found = [], ahead = [];
  for await (const prediction of classifier.predictStream(slowly(), { topK: 2 })) {
    found.push(prediction);
    ahead.push(given - found.length);
  }
  assert.deepEqual(found, wanted);
  assert.ok(Math.max(...ahead) < 26); // not all at the end
  const listed = [];
  for await (const prediction of classifier.predictStream(texts.slice(0, 60), { topK: 2 })) listed.push(prediction);
  assert.deepEqual(listed, wanted);
  for await (const _ of classifier.predictStream([])) assert.fail('there is nothing');

  let returned = false;
  async function* endless() {
    try {
      for (;;) yield 'match';
    } finally {
      returned = true;
    }
  }
  for await (const _ of classifier.predictStream(endless())) break;
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(returned);
  const read = async (source) => { for await (const _ of classifier.predictStream(source)); };
  async function* broken() {
    yield 'match';
    throw new Error('the line is dead');
  }
  await assert.rejects(read(broken()), /the line is dead/);
  await assert.rejects(read(['match', 3]), /text 1 has type number/);
  await assert.rejects(read('match'), InputError);
  await classifier.close();
});

test('wrong calls say what was expected', { skip }, async () => {
  const classifier = await load(model(FILE)), known = classifier.labels[0];
  assert.deepEqual(await classifier.predict([]), []);
  assert.deepEqual(await classifier.lengths([]), []);
  for (const [call, words] of [
    [() => classifier.predict('one text'), 'predict got string, expected an array of texts: write predict([text])'],
    [() => classifier.predict(3), 'predict got number'],
    [() => classifier.predict(['fine', 3]), 'text 1 has type number: expected a string'],
    [() => classifier.predict([null]), 'text 0 has type null'],
    [() => classifier.predict(['a'], { topK: 0 }), 'topK is 0: expected an integer of at least 1'],
    [() => classifier.predict(['a'], { topK: 1.5 }), 'topK is 1.5'],
    [() => classifier.predict(['a'], { coverage: 2 }), 'coverage is 2: expected a share from 0 to 1, such as 0.9'],
    [() => classifier.predict(['a'], { sets: '0.9' }), 'sets is 0.9'],
    [() => classifier.predict(['a'], { maxError: NaN }), 'maxError is NaN: expected a share from 0 to 1, such as 0.02'],
    [() => classifier.predict(['a'], { coverage: 0.5, maxError: 0.5 }), 'leave one of them out'],
    [() => classifier.predict(['a'], { maxError: 0 }), 'no number of texts guarantees'],
    [() => classifier.explain('a', { label: 'sprot' }), 'label "sprot" is unknown to the model: expected one of '],
    [() => classifier.explain('a', { contrast: 'sprot' }), 'label "sprot" is unknown'],
    [() => classifier.explain('a', { label: known, contrast: known }), 'choose another label'],
    [() => classifier.explain(undefined), 'text 0 has type undefined'],
    [() => classifier.explain('\udc00'), 'unpaired surrogate'],
    [() => classifier.predict(['fine', 'ab\ud83dc']), 'text 1 has an unpaired surrogate \\ud83d at 2: the text was cut or decoded incorrectly'],
  ]) {
    await assert.rejects(call, (error) => error instanceof InputError && error.message.includes(words), words);
  }
  await classifier.close();
  await classifier.close();
  await assert.rejects(classifier.predict(['a']), /is closed: load it again/);
  await assert.rejects(classifier.explain('a'), InputError);
});

test('contributions sum to the length before squash', { skip }, async () => {
  for (const name of names) {
    const classifier = await load(model(`${name}.safetensors`));
    const { label, lengthBeforeSquash, tokens, contrast } = await classifier.explain('Stir the soup and the onions 👍', { contrast: classifier.labels[0] });
    const sum = (list) => list.reduce((total, { contribution }) => total + contribution, 0);
    assert.ok(Math.abs(sum(tokens) - lengthBeforeSquash) < 1e-4);
    assert.ok(Math.abs(sum(contrast.tokens) - (lengthBeforeSquash - contrast.lengthBeforeSquash)) < 1e-4);
    assert.equal(label, (await classifier.predict(['Stir the soup and the onions 👍']))[0].label);
    assert.notEqual(contrast.label, label);
    await classifier.close();
  }
});

test('a browser without SIMD gets one clear line', { skip }, async () => {
  const validate = WebAssembly.validate;
  WebAssembly.validate = () => false;
  try {
    const fresh = await import('../src/index.js?without-simd');
    await assert.rejects(fresh.load(model(FILE)), /^CapsuletError: capsulet needs WebAssembly with SIMD: use Chrome 91, .* or newer$/);
    WebAssembly.validate = validate;
    await (await fresh.load(model(FILE))).close(); // it is tried again
  } finally {
    WebAssembly.validate = validate;
  }
  assert.ok(new ModelError('') instanceof CapsuletError && new InputError('') instanceof CapsuletError);
});
