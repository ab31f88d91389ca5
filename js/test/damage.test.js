/** Damaged, foreign and hostile files are refused with one line. They never stop the module. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapsuletError, InputError, load, ModelError } from '../src/index.js';
import { expected, model, names, skip } from './expected.js';
import { dice, pack, parts, seal } from './files.js';

const STOPPED = /unreachable|out of bounds|stack|divide by zero|cannot be run|not a function|undefined/i; // words of engines and of bugs

function checkError(error) {
  assert.ok(error instanceof CapsuletError, error.stack);
  assert.ok(!STOPPED.test(error.message) && !error.message.includes('\n') && error.message.length < 300, error.stack);
}

/** Loads a file, which may be refused, and uses it; whether it was accepted. */
async function use(bytes) {
  let classifier;
  try {
    classifier = await load(bytes);
    await classifier.predict(['The match was close', '', 'x'.repeat(300), 'wrotes 👍🏽 İ'], { topK: 99 });
    await classifier.explain('The match was clöse', { contrast: classifier.labels[0] });
  } catch (error) {
    checkError(error);
  }
  await classifier?.close();
  return classifier !== undefined;
}

test('damaged and foreign files are refused with a reason', { skip }, async () => {
  const bytes = model('model.safetensors'), text = (string) => new TextEncoder().encode(string);
  const foreign = pack({ header: { __metadata__: { format: 'pt' }, config: { dtype: 'U8' } }, config: '{}', tensors: new Map() });
  const future = parts(bytes);
  future.header.__metadata__.version = '6';
  const flipped = bytes.slice();
  flipped[Math.floor(bytes.length / 2)] ^= 1;
  for (const [wrong, words] of [
    [new Uint8Array(0), 'it is empty'],
    [text('PK\x03\x04'), 'it is too short'],
    [text('text,label\nnice,good\n'.repeat(9)), 'it does not begin with a header'],
    [foreign, 'it is not a capsulet model'],
    [pack(future), 'it has another format than 5'],
    [flipped, 'its bytes do not match its checksum'],
    [bytes.subarray(0, bytes.length - 1), 'the place of a tensor in it is wrong'],
  ]) {
    const name = 'wrong.safetensors', file = Object.assign(new Blob([wrong]), { name });
    await assert.rejects(load(file), (error) => {
      checkError(error);
      assert.ok(error instanceof ModelError && error.message.startsWith(`${name} is not a model, or is damaged: `), error.message);
      assert.ok(error.message.includes(words), error.message);
      return true;
    });
  }
});

test('models without a network that are wrong are refused', { skip }, async () => {
  const bytes = model('linear-only.safetensors'), refused = async (change, words) => {
    const own = parts(bytes);
    change(own);
    await assert.rejects(load(pack(own)), (error) => {
      checkError(error);
      assert.ok(error instanceof ModelError && error.message.includes(words), error.message);
      return true;
    });
  };
  await refused(({ config }) => { config.linear_only = 'true'; }, 'its options are missing or unknown');
  await refused(({ config }) => { delete config.linear_only; }, 'missing');
  await refused(({ header }) => { delete header['ngrams.levels']; }, 'neither a network nor n-gram features');
  await refused(({ header }) => { delete header['ngrams.bias']; }, 'its n-gram features are missing or of another size');
  await refused(({ tensors }) => new DataView(tensors.get('ngrams.bias').buffer).setFloat32(4, NaN, true), 'not a finite number');
  await refused(({ header, tensors }) => {
    header['ngrams.bias'].shape = [2];
    tensors.set('ngrams.bias', tensors.get('ngrams.bias').slice(0, 8));
  }, 'its n-gram features are missing or of another size');
});

test('a file cut anywhere is refused', { skip }, async () => {
  for (const name of names) {
    const bytes = model(`${name}.safetensors`);
    const cuts = [...Array(120).keys(), ...Array.from({ length: 150 }, (_, part) => Math.floor((bytes.length * part) / 150))];
    for (const cut of cuts.filter((place) => place < bytes.length)) {
      await assert.rejects(load(bytes.subarray(0, cut)), (error) => {
        checkError(error);
        return error instanceof ModelError;
      }, `the first ${cut} bytes`);
    }
  }
});

test('every flipped bit is found', { skip }, async () => {
  const random = dice(1);
  for (const name of names) {
    const bytes = model(`${name}.safetensors`);
    for (let round = 0; round < 150; round++) {
      const place = round < 50 ? random(Math.min(2000, bytes.length)) : random(bytes.length), bit = 1 << random(8);
      bytes[place] ^= bit;
      await assert.rejects(load(bytes), (error) => {
        checkError(error);
        return error instanceof ModelError;
      }, `bit ${bit} of byte ${place}`);
      bytes[place] ^= bit;
    }
  }
});

test('wrong bytes with a correct checksum never stop the module', { skip }, async () => {
  const random = dice(2);
  let accepted = 0;
  for (const name of names) {
    const bytes = model(`${name}.safetensors`);
    for (let round = 0; round < 150; round++) {
      const wrong = bytes.slice(), end = round % 3 ? bytes.length : Math.min(4000, bytes.length);
      for (let count = 0; count < 1 + random(4); count++) wrong[random(end)] = random(256);
      accepted += await use(seal(wrong));
    }
  }
  assert.ok(accepted > 50); // most changes are in the weights
});

test('hostile values in the header and in the configuration never stop the module', { skip }, async () => {
  const random = dice(4), values = [
    -1, 0, 1, 2, 3, 16, 255, 4095, 4096, 4097, 65535, 65536, 2 ** 20, 2 ** 24, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40, 1e300,
    0.5, null, true, false, '', 'cwc', 'cc', 'plain', 'linear', 'dynamic', 'max', [], {}, [[]], 'x'.repeat(1000),
  ];
  /** All objects and arrays in a value, with their keys. */
  const places = (value) => (value && typeof value === 'object'
    ? Object.keys(value).flatMap((key) => [[value, key], ...places(value[key])]) : []);
  for (const name of names) {
    const original = parts(model(`${name}.safetensors`));
    for (let round = 0; round < 300; round++) {
      const changed = structuredClone(original), target = round % 2 ? changed.config : changed.header;
      for (let count = 0; count < 1 + random(2); count++) {
        const all = places(target).filter(([, key]) => key !== '__metadata__' && !changed.tensors.has(key) && key !== 'config');
        const [object, key] = all[random(all.length)];
        object[key] = structuredClone(values[random(values.length)]);
      }
      await use(pack(changed));
    }
  }
});

test('sizes that do not fit into 32 bits are too large, not small', { skip }, async () => {
  const changed = parts(model('model.safetensors')), { header, tensors, config: { labels, options } } = changed, width = 1024;
  const zeros = (name, ...shape) => {
    header[name].shape = shape;
    tensors.set(name, new Uint8Array(4 * shape.reduce((product, size) => product * size)));
  };
  const { embedding_size: inputs, num_layers: layers, primary_length: inside, class_length: length } = options.model;
  for (let layer = 0; layer < layers; layer++) {
    for (const direction of ['', '_reverse']) {
      zeros(`encoder.gru.weight_ih_l${layer}${direction}`, 3 * width, layer ? 2 * width : inputs);
      zeros(`encoder.gru.weight_hh_l${layer}${direction}`, 3 * width, width);
      for (const kind of ['ih', 'hh']) zeros(`encoder.gru.bias_${kind}_l${layer}${direction}`, 3 * width);
    }
  }
  zeros('head.transforms', width / inside, inside, labels.length, length);
  options.model.hidden_size = width;
  options.text.max_tokens = 2 ** 20;
  const classifier = await load(pack(changed));
  // 2 ** 20 tokens x 1024 states x 10 values x 4 bytes: 40 GiB, of which the last 32 bits are 0
  await assert.rejects(classifier.explain('match '.repeat(2 ** 20), { label: labels[0] }),
    (error) => error instanceof InputError && error.message.startsWith('there is not enough memory'));
  assert.equal((await classifier.explain('match')).tokens.length, 1);
  await classifier.close();
});

test('the good model still answers', { skip }, async () => {
  const classifier = await load(model('model.safetensors')), { texts, lengths } = expected('model-int8.json');
  assert.deepEqual([...(await classifier.lengths([texts[0]]))[0]], lengths[0]);
  await classifier.close();
});
