/** The memory of the module: the allocator, and models that are loaded and closed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from '../src/index.js';
import { expected, model, names, skip } from './expected.js';
import { dice } from './files.js';

/** Exports of a module of its own, or of the one that `load` uses. */
const own = async () => (await WebAssembly.instantiate(readFileSync(new URL('../src/capsulet.wasm', import.meta.url)))).instance.exports;

async function shared() {
  const instantiate = WebAssembly.instantiate;
  let found;
  WebAssembly.instantiate = async (...values) => {
    const made = await instantiate(...values);
    found = made.instance.exports;
    return made;
  };
  const fresh = await import(`../src/index.js?${Math.random()}`);
  await (await fresh.load(model('model.safetensors'))).close();
  WebAssembly.instantiate = instantiate;
  return { core: found, load: fresh.load };
}

test('memory is aligned, separate and used again', { skip }, async () => {
  const core = await own(), random = dice(7), held = new Map();
  const fill = (place, size, byte) => new Uint8Array(core.memory.buffer, place, size).fill(byte);
  const check = ([place, { size, byte }]) => {
    assert.ok(new Uint8Array(core.memory.buffer, place, size).every((value) => value === byte), 'overwritten');
    core.release(place);
    held.delete(place);
  };
  for (let round = 0; round < 20_000; round++) {
    if (held.size > 200 || (held.size && random(2))) {
      check([...held][random(held.size)]);
    } else {
      const size = random(10) ? random(300) : random(100_000), place = core.allocate(size);
      assert.ok(place > 0 && place % 16 === 0);
      held.set(place, { size, byte: round % 251 });
      fill(place, size, round % 251);
    }
  }
  const most = core.memory.buffer.byteLength;
  assert.ok(most < 2 ** 24, `${most} bytes for at most 200 blocks`);
  for (const entry of [...held]) check(entry);
  const whole = core.allocate(most - 2 ** 18); // all free blocks are one again
  assert.ok(whole > 0);
  assert.equal(core.memory.buffer.byteLength, most);
  core.release(whole);
});

test('without memory there is no block and nothing is lost', { skip }, async () => {
  const core = await own(), place = core.allocate(1000);
  for (const size of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32 - 8, 0x7fff0000, 0x7fff0001]) assert.equal(core.allocate(size), 0);
  core.release(place);
  core.release(0);
  assert.equal(core.allocate(1000), place);
});

test('a model that is loaded and closed 1,000 times needs no more memory', { skip }, async () => {
  const { core, load: loadShared } = await shared(), bytes = model(`${names.at(-1)}.safetensors`);
  const use = async () => {
    const classifier = await loadShared(bytes);
    await classifier.predict(['The match was close', ''], { topK: 2, sets: undefined });
    await classifier.explain('The match was close');
    await classifier.close();
  };
  for (let round = 0; round < 10; round++) await use();
  const size = core.memory.buffer.byteLength;
  for (let round = 0; round < 1000; round++) await use();
  assert.equal(core.memory.buffer.byteLength, size);
});

test('refused models and wrong calls need no more memory', { skip }, async () => {
  const { core, load: loadShared } = await shared(), bytes = model('model.safetensors');
  const classifier = await loadShared(bytes);
  const use = async (round) => {
    await loadShared(bytes.subarray(0, bytes.length - 1 - round * 17)).catch(() => {});
    await classifier.predict(['fine', 3]).catch(() => {});
    await classifier.predict(['fine'], { maxError: 0 }).catch(() => {});
    await classifier.explain('\ud800').catch(() => {});
  };
  for (let round = 0; round < 10; round++) await use(round);
  const size = core.memory.buffer.byteLength;
  for (let round = 0; round < 200; round++) await use(round);
  assert.equal(core.memory.buffer.byteLength, size);
  await classifier.close();
});

test('huge and empty texts', { skip }, async () => {
  const classifier = await load(model('model.safetensors'));
  const [{ label, probability }] = await classifier.predict(['']);
  assert.ok(classifier.labels.includes(label) && Number.isFinite(probability));
  assert.deepEqual(await classifier.tokens(''), [{ text: '', start: 0, end: 0, readAs: null }]);
  assert.deepEqual((await classifier.explain(' \u3000')).tokens.map(({ text, start, end }) => [text, start, end]), [['', 0, 0]]);
  for (const text of ['x'.repeat(20e6), 'match '.repeat(3e6), '中'.repeat(5e6), '👍🏽'.repeat(2e6), ' '.repeat(1e7), 'İ'.repeat(1e6)]) {
    const [found] = await classifier.predict([text]);
    assert.ok(Number.isFinite(found.probability));
    const tokens = await classifier.tokens(text);
    assert.ok(tokens.length <= 5000 && tokens.every(({ text: token, start, end }) => token === text.slice(start, end)));
  }
  const { texts, lengths } = expected('model-int8.json');
  assert.deepEqual([...(await classifier.lengths([texts[0]]))[0]], lengths[0]);
  await classifier.close();
});

test('10,000 nasty strings and every character are tokenised, and places slice the string', { skip }, async () => {
  const classifier = await load(model('model.safetensors')), random = dice(3);
  const check = async (text) => {
    let last = 0;
    const tokens = await classifier.tokens(text), empty = tokens.length === 1 && tokens[0].end === 0; // nothing to see in it
    for (const { text: token, start, end } of tokens) {
      assert.equal(token, text.slice(start, end));
      assert.ok(start >= last - 1 && end >= start && end <= text.length && (end > start || empty), JSON.stringify(text));
      assert.ok(!/\p{Surrogate}/u.test(token)); // no half characters
      last = end;
    }
    assert.equal((await classifier.predict([text])).length, 1);
  };
  for (let round = 0; round < 10_000; round++) {
    const highest = [0x7f, 0xff, 0x24f, 0x5ff, 0x2fff, 0xffff, 0x10ffff][random(7)];
    const codes = Array.from({ length: 1 + random(40) }, () => random(highest + 1));
    await check(String.fromCodePoint(...codes.filter((code) => code < 0xd800 || code > 0xdfff)));
  }
  for (let first = 0; first < 0x110000; first += 2048) {
    const codes = Array.from({ length: 2048 }, (_, place) => first + place).filter((code) => code < 0xd800 || code > 0xdfff);
    await check(String.fromCodePoint(...codes));
  }
  await classifier.close();
});
