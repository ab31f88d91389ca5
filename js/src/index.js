/**
 * Small text classifiers in browsers, workers, Node and Deno: `const model = await load(source); await model.predict(texts)`.
 *
 * The work is done by capsulet.wasm, which is core/ compiled to WebAssembly. This file reads files, copies texts into the
 * memory of the module, and makes objects of the numbers that come back. index.d.ts describes the functions.
 */

/** Base class of all errors of capsulet. */
export class CapsuletError extends Error {
  name = 'CapsuletError';
}

/** An argument is invalid. */
export class InputError extends CapsuletError {
  name = 'InputError';
}

/** The model is missing, damaged or unsupported. */
export class ModelError extends CapsuletError {
  name = 'ModelError';
}

const MODULE = new URL('./capsulet.wasm', import.meta.url);
const PRECISIONS = { float32: 1, int8: 2 };
const MESSAGE_BYTES = 256, MOST_BYTES = 0x7fff0000;
const MOST_TEXTS = 1024, MOST_UNITS = 2 ** 20; // texts of one call of the module, and their UTF-16 units
const FIRST_TEXTS = 16, WAIT = 20; // of a stream: texts before the first answers, and milliseconds to wait for a text
const REASONS = ['', 'low confidence', 'unknown words']; // by the result of `abstains`
const NO_MEMORY = -2; // a result of capsulet.h

// ---- the module ----

let started; // promise of the exports of the module; all models share its memory

function start() {
  started ??= instantiate().catch((error) => {
    started = undefined; // the next call tries again
    throw error;
  });
  return started;
}

// a function that returns a vector of 128 bits
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11];

async function instantiate() {
  if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(Uint8Array.from(SIMD))) {
    throw new CapsuletError('capsulet needs WebAssembly with SIMD: use Chrome 91, Firefox 89, Safari 16.4, Node 18 or newer');
  }
  try {
    return (await WebAssembly.instantiate(await readAddress(MODULE))).instance.exports;
  } catch (error) {
    throw new CapsuletError(`${MODULE} cannot be started (${reason(error)}): serve it beside index.js`);
  }
}

/** Calls `use` with the places of memory of these sizes, which is released afterwards. */
function withMemory(core, sizes, use) {
  const starts = [];
  let total = 0;
  for (const size of sizes) {
    starts.push(total);
    total += Math.ceil(size / 16) * 16;
  }
  const place = total > MOST_BYTES ? 0 : core.allocate(total);
  if (!place) throw new InputError(`the texts need ${total} bytes, more than there is: give fewer or shorter texts at a time`);
  try {
    return use(...starts.map((start) => place + start));
  } finally {
    core.release(place);
  }
}

// memory moves when it grows, so views are made after each call
const bytesAt = (core, place, count) => new Uint8Array(core.memory.buffer, place, count);
const integersAt = (core, place, count) => new Int32Array(core.memory.buffer, place, count);
const floatsAt = (core, place, count) => new Float32Array(core.memory.buffer, place, count);
const doublesAt = (core, place, count) => new Float64Array(core.memory.buffer, place, count);
const stringAt = (core, place, count) => new TextDecoder().decode(bytesAt(core, place, count));

function messageAt(core, place) {
  const bytes = bytesAt(core, place, MESSAGE_BYTES);
  return stringAt(core, place, bytes.indexOf(0));
}

// ---- reading ----

const reason = (error) => String(error?.cause?.message ?? error?.message ?? error).split('\n')[0].slice(0, 200);
const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** Bytes of a URL; file: is read through the file system of Node or Deno. */
async function readAddress(url) {
  if (url.protocol === 'file:' && globalThis.process?.versions?.node) {
    const files = 'node:fs/promises'; // a variable, so that bundlers for browsers do not look for it
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ files)).readFile(url);
  }
  return readResponse(await fetch(url));
}

async function readResponse(response) {
  if (response.ok === false) throw new Error(`${response.status} ${response.statusText}`.trim());
  return new Uint8Array(await response.arrayBuffer());
}

/** The URL of a string: relative to the page, or the path of a file where there is no page. */
async function addressOf(string) {
  const page = globalThis.location?.href;
  if (page || /^[a-z][a-z0-9+.-]+:/i.test(string)) return new URL(string, page);
  const urls = 'node:url';
  return (await import(/* @vite-ignore */ /* webpackIgnore: true */ urls)).pathToFileURL(string);
}

/** Bytes of a model and its name for messages. */
async function readSource(given) {
  const source = await given;
  if (Object.prototype.toString.call(source) === '[object ArrayBuffer]') return { bytes: new Uint8Array(source), name: 'the model' };
  if (ArrayBuffer.isView(source)) {
    return { bytes: new Uint8Array(source.buffer, source.byteOffset, source.byteLength), name: 'the model' };
  }
  if (typeof source === 'string' || source instanceof URL) {
    try {
      return { bytes: await readAddress(typeof source === 'string' ? await addressOf(source) : source), name: String(source) };
    } catch (error) {
      throw new ModelError(`${source} cannot be read (${reason(error)})`);
    }
  }
  const isStream = typeof source?.getReader === 'function';
  if (!isStream && typeof source?.arrayBuffer !== 'function') {
    throw new InputError(`load got ${typeOf(source)}: expected the bytes of a model, a File, a Response, a stream or a URL`);
  }
  const name = source.name || source.url || 'the model';
  try {
    return { bytes: await readResponse(isStream ? new Response(source) : source), name };
  } catch (error) {
    throw new ModelError(`${name} cannot be read (${reason(error)})`);
  }
}

/** Loads a model file: bytes, a File, a Response, a stream, a URL, or in Node a path. */
export async function load(source, { precision = 'int8' } = {}) {
  if (!Object.hasOwn(PRECISIONS, precision)) {
    throw new InputError(`precision is ${JSON.stringify(precision)}: expected 'int8' or 'float32'`);
  }
  const [{ bytes, name }, core] = await Promise.all([readSource(source), start()]);
  const damaged = (problem) => new ModelError(`${name} is not a model, or is damaged: ${problem}`);
  if (!bytes.length) throw damaged('it is empty');
  const place = bytes.length > MOST_BYTES ? 0 : core.allocate(bytes.length + MESSAGE_BYTES);
  if (!place) throw new ModelError(`${name} is too large: there is not enough memory for its ${bytes.length} bytes`);
  let model = 0;
  try {
    bytesAt(core, place, bytes.length).set(bytes);
    const message = place + bytes.length;
    model = core.open(place, bytes.length, PRECISIONS[precision], message);
    if (!model) throw damaged(messageAt(core, message));
    return new Classifier(core, model, place, name, bytes.length);
  } catch (error) {
    if (error instanceof CapsuletError) {
      if (model) core.close(model);
      core.release(place);
      throw error;
    }
    started = undefined; // the module stopped: its memory cannot be trusted
    throw damaged(reason(error));
  }
}

// ---- the classifier ----

// models that are dropped without close()
const dropped = new FinalizationRegistry(({ core, model, place }) => {
  core.close(model);
  core.release(place);
});

/** A trained model; `load` makes one. */
export class Classifier {
  #core;
  #model;
  #place;
  #facts;

  constructor(core, model, place, name, size) {
    [this.#core, this.#model, this.#place] = [core, model, place];
    const facts = withMemory(core, [4 * 15], (at) => {
      core.describe(model, at);
      return integersAt(core, at, 15).slice();
    });
    const [classes, vocabulary, unknown, maxTokens, multiLabel, , , , calibrated, , linearOnly, precision, config, configSize] = facts;
    this.#facts = { classes, vocabulary, maxTokens };
    this.name = name;
    this.size = size;
    this.config = parseConfig(stringAt(core, config, configSize), classes, name);
    this.labels = this.config.labels;
    this.wordCount = vocabulary - unknown - 1;
    this.precision = precision === PRECISIONS.float32 ? 'float32' : 'int8';
    this.calibrated = calibrated === 1;
    this.multiLabel = multiLabel === 1;
    this.hasNetwork = linearOnly === 0;
    this.thresholds = this.multiLabel ? this.config.thresholds : [];
    this.probabilityThresholds = this.multiLabel ? this.#probabilities(this.thresholds) : this.thresholds;
    dropped.register(this, { core, model, place }, this);
  }

  /** Predicts the labels of texts. */
  async predict(texts, options = {}) {
    if (typeof texts === 'string' || typeof texts?.[Symbol.iterator] !== 'function') {
      throw new InputError(`predict got ${typeOf(texts)}, expected an array of texts: write predict([text])`);
    }
    const request = this.#request(options), results = [];
    for (const { window, first } of windows([...texts])) results.push(...this.#answers(window, first, request));
    return results;
  }

  /** Predicts the labels of texts while they arrive, in order. Texts that arrive together are answered together. */
  async* predictStream(texts, options = {}) {
    const open = texts?.[Symbol.asyncIterator] ?? texts?.[Symbol.iterator];
    if (typeof texts === 'string' || typeof open !== 'function') {
      throw new InputError(`predictStream got ${typeOf(texts)}, expected an iterable of texts`);
    }
    const request = this.#request(options), iterator = open.call(texts);
    const advance = () => {
      const next = Promise.resolve(iterator.next());
      next.catch(() => {}); // an error is thrown where the text is awaited, not while answers are read
      return next;
    };
    let window = [], first = 0, most = FIRST_TEXTS, ended = false;
    try {
      let next = advance();
      while (!ended) {
        const found = window.length ? await withoutWaiting(next) : await next;
        if (found?.done) ended = true;
        else if (found) {
          window.push(found.value);
          next = advance();
        }
        if (found && !ended && window.length < most) continue;
        yield* this.#answers(window, first, request);
        [window, first, most] = [[], first + window.length, Math.min(2 * most, MOST_TEXTS)];
      }
    } finally {
      if (!ended) Promise.resolve(iterator.return?.()).catch(() => {}); // not awaited: it may wait for a text
    }
  }

  /** Class lengths of each text. */
  async lengths(texts) {
    const results = [], classes = this.#facts.classes;
    for (const { window, first } of windows([...texts])) {
      this.#classify(window, first, (lengths) => {
        const all = floatsAt(this.#core, lengths, window.length * classes);
        window.forEach((_, row) => results.push(all.slice(row * classes, (row + 1) * classes)));
      });
    }
    return results;
  }

  /** Tokens of a text, as the model reads them. */
  async tokens(text) {
    return this.#tokens(text);
  }

  /** Contributions of the tokens of a text to a label, and their difference to another label. */
  async explain(text, { label, contrast } = {}) {
    for (const name of [label, contrast]) {
      if (name !== undefined && !this.labels.includes(name)) {
        throw new InputError(`label ${JSON.stringify(name)} is unknown to the model: expected one of ${some(this.labels)}`);
      }
    }
    if (contrast !== undefined && contrast === label) {
      throw new InputError(`label and contrast are both ${JSON.stringify(label)}: choose another label to contrast with`);
    }
    const tokens = this.#tokens(text);
    let chosen = this.labels.indexOf(label), other = this.labels.indexOf(contrast);
    if (label === undefined) {
      const order = byLength((await this.lengths([text]))[0]);
      chosen = order[0];
      if (other === chosen) other = order[1]; // the predicted label: contrast with the next best
    }
    const { lengths, norms, parts, ngrams } = this.#contributions(text, tokens.length, contrast === undefined ? [chosen] : [chosen, other]);
    const probabilities = this.#probabilities(lengths);
    const shown = (column) => tokens.map((token, row) => ({ ...token, contribution: column(parts[row]) }));
    return {
      label: this.labels[chosen],
      probability: probabilities[chosen],
      length: lengths[chosen],
      lengthBeforeSquash: norms[chosen],
      ngrams: ngrams.reduce((sum, [own]) => sum + own, 0),
      tokens: shown(([own]) => own),
      contrast: contrast === undefined ? null : {
        label: this.labels[other],
        probability: probabilities[other],
        length: lengths[other],
        lengthBeforeSquash: norms[other],
        tokens: shown(([own, others]) => own - others),
      },
    };
  }

  /** Releases the memory of the model, which cannot be used afterwards. */
  async close() {
    if (!this.#model) return;
    dropped.unregister(this);
    this.#core.close(this.#model);
    this.#core.release(this.#place);
    this.#model = 0;
  }

  // ---- calls of the module ----

  /** Calls a function of the module with the model; the result of a function that can fail is checked. */
  #call(name, ...values) {
    if (!this.#model) throw new InputError(`${this.name} is closed: load it again`);
    let result;
    try {
      result = this.#core[name](this.#model, ...values);
    } catch (error) { // the module stopped: its memory cannot be trusted
      started = undefined;
      this.#model = 0;
      throw new ModelError(`${this.name} cannot be run (${reason(error)}): the file is damaged`);
    }
    if (result === NO_MEMORY) throw new InputError('there is not enough memory: give fewer or shorter texts at a time');
    if (result < 0 && name !== 'rules') {
      throw new ModelError(`${this.name} is damaged: its weights give numbers that are not finite`);
    }
    return result;
  }

  /** Calls `use` with the places of class lengths (n, C) and shares of unknown words (n) of texts. */
  #classify(texts, first, use) {
    const core = this.#core, count = texts.length, classes = this.#facts.classes;
    let units = 0;
    texts.forEach((text, row) => {
      checkText(text, first + row);
      units += text.length;
    });
    return withMemory(core, [3 * units, 4 * count, 4 * count * classes, 4 * count], (letters, sizes, lengths, unknown) => {
      const to = bytesAt(core, letters, 3 * units), encoder = new TextEncoder();
      let used = 0;
      const written = Int32Array.from(texts, (text) => {
        const size = encoder.encodeInto(text, to.subarray(used)).written;
        used += size;
        return size;
      });
      integersAt(core, sizes, count).set(written);
      this.#call('classify', letters, sizes, count, lengths, unknown);
      return use(lengths, unknown);
    });
  }

  /** Probabilities (C) of class lengths (C). */
  #probabilities(lengths) {
    const count = lengths.length;
    return withMemory(this.#core, [4 * count, 8 * count], (from, to) => {
      floatsAt(this.#core, from, count).set(lengths);
      this.#call('probabilities', from, 1, to);
      return [...doublesAt(this.#core, to, count)];
    });
  }

  /** Tokens of a text, with their places in UTF-16 units. */
  #tokens(text) {
    checkText(text, 0);
    const core = this.#core, { vocabulary, maxTokens } = this.#facts;
    const most = Math.min(3 * text.length + 1, maxTokens);
    const found = withMemory(core, [3 * text.length, 12 * most], (letters, room) => {
      const { written } = new TextEncoder().encodeInto(text, bytesAt(core, letters, 3 * text.length));
      const count = this.#call('tokenize', letters, written, room, most);
      return integersAt(core, room, 3 * count).slice();
    });
    const ids = found.filter((_, place) => place % 3 === 0);
    return Array.from(ids, (id, row) => {
      const [start, end] = [found[3 * row + 1], found[3 * row + 2]];
      return { text: text.slice(start, end), start, end, readAs: id < vocabulary ? null : this.#word(id - vocabulary) };
    });
  }

  #word(id) {
    return withMemory(this.#core, [4], (size) => {
      const place = this.#call('word', id, size);
      return stringAt(this.#core, place, integersAt(this.#core, size, 1)[0]);
    });
  }

  /** Lengths and norms (C), contributions (T, wanted) of the `count` tokens of a text, and the part of the n-gram features in them. */
  #contributions(text, count, wanted) {
    const core = this.#core, classes = this.#facts.classes, all = count * wanted.length, most = 3 * text.length;
    const sizes = [most, 4 * wanted.length, 4 * classes, 4 * classes, 4 * all, 4 * all];
    return withMemory(core, sizes, (letters, wantedAt, lengths, norms, parts, ngrams) => {
      const { written } = new TextEncoder().encodeInto(text, bytesAt(core, letters, most));
      integersAt(core, wantedAt, wanted.length).set(wanted);
      this.#call('explain', letters, written, wantedAt, wanted.length, lengths, norms, parts, ngrams);
      const rows = (place) => {
        const values = floatsAt(core, place, all);
        return Array.from({ length: count }, (_, row) => [...values.subarray(row * wanted.length, (row + 1) * wanted.length)]);
      };
      const [own, before] = [lengths, norms].map((place) => floatsAt(core, place, classes).slice());
      return { lengths: own, norms: before, parts: rows(parts), ngrams: rows(ngrams) };
    });
  }

  /** Checks the options of `predict`, and finds the thresholds for abstention. */
  #request({ topK = 1, lengths: withLengths = false, abstain = false, coverage, maxError, sets } = {}) {
    if (!Number.isInteger(topK) || topK < 1) throw new InputError(`topK is ${topK}: expected an integer of at least 1`);
    if (coverage !== undefined && maxError !== undefined) {
      throw new InputError('coverage and maxError set the same threshold: leave one of them out');
    }
    for (const [name, value] of Object.entries({ coverage, maxError, sets })) {
      if (value !== undefined && !(typeof value === 'number' && value >= 0 && value <= 1)) {
        throw new InputError(`${name} is ${value}: expected a share from 0 to 1, such as ${name === 'maxError' ? 0.02 : 0.9}`);
      }
    }
    const abstains = Boolean(abstain) || coverage !== undefined || maxError !== undefined;
    let thresholds = null; // of confidence, certainty and set score
    if (abstains || sets !== undefined) {
      thresholds = withMemory(this.#core, [8 * 3, MESSAGE_BYTES], (to, message) => {
        if (this.#call('rules', Boolean(abstain), coverage ?? NaN, maxError ?? NaN, sets ?? NaN, to, message)) {
          throw new InputError(`${this.name} cannot do this: ${messageAt(this.#core, message)}`);
        }
        return doublesAt(this.#core, to, 3).slice();
      });
    }
    return { topK, withLengths, abstains, hasSets: sets !== undefined, thresholds };
  }

  /** Predictions of texts, of which the first one has number `first`. */
  #answers(texts, first, { topK, withLengths, abstains, hasSets, thresholds }) {
    const core = this.#core, classes = this.#facts.classes, count = texts.length;
    if (!count) return [];
    const name = withLengths ? 'length' : 'probability';
    return this.#classify(texts, first, (lengthsAt, unknownAt) => withMemory(
      core, [withLengths ? 0 : 8 * count * classes, 8 * 3, 4 * classes], (probabilitiesAt, rulesAt, room) => {
        if (!withLengths) this.#call('probabilities', lengthsAt, count, probabilitiesAt);
        if (thresholds) doublesAt(core, rulesAt, 3).set(thresholds);
        return texts.map((_, row) => {
          const own = lengthsAt + 4 * row * classes;
          const unknown = floatsAt(core, unknownAt, count)[row];
          const why = abstains ? this.#call('abstains', rulesAt, own, unknown) : 0;
          const setSize = hasSets ? this.#call('label_set', rulesAt, own, room) : 0;
          const labelSet = hasSets ? Array.from(integersAt(core, room, setSize), (index) => this.labels[index]) : null;
          const lengths = floatsAt(core, own, classes);
          const numbers = withLengths ? lengths : doublesAt(core, probabilitiesAt + 8 * row * classes, classes);
          const order = topK === 1 && !this.multiLabel ? [best(lengths)] : byLength(lengths);
          const named = (index) => ({ label: this.labels[index], [name]: numbers[index] });
          const top = order.slice(0, topK).map(named);
          let labels = null;
          if (this.multiLabel) {
            this.#call('given', own, room);
            const given = bytesAt(core, room, classes);
            labels = order.filter((index) => given[index]).map(named);
          }
          return { label: why ? null : top[0].label, [name]: top[0][name], top, labels, labelSet, reason: REASONS[why] };
        });
      }));
  }
}

// ---- small functions ----

function parseConfig(json, classes, name) {
  let config = null;
  try {
    config = JSON.parse(json);
  } catch { /* the same error as for other values */ }
  const labels = config?.labels;
  if (!Array.isArray(labels) || labels.length !== classes || new Set(labels).size < classes) {
    throw new ModelError(`${name} is not a model, or is damaged: its labels are not different strings`);
  }
  return config;
}

/** Refuses a text that cannot be tokenised. */
function checkText(text, index) {
  if (typeof text !== 'string') throw new InputError(`text ${index} has type ${typeOf(text)}: expected a string`);
  if (text.isWellFormed?.()) return; // quicker where it exists
  const place = text.search(/\p{Surrogate}/u); // matches unpaired surrogates only
  if (place < 0) return;
  const half = text.charCodeAt(place).toString(16);
  throw new InputError(`text ${index} has an unpaired surrogate \\u${half} at ${place}: the text was cut or decoded incorrectly`);
}

/** Parts of a list of texts that are not too large, and the number of their first texts. */
function* windows(texts) {
  let first = 0, units = 0;
  for (let row = 0; row < texts.length; row++) {
    units += texts[row]?.length ?? 0;
    const isLast = row === texts.length - 1, next = isLast ? 0 : texts[row + 1]?.length ?? 0;
    if (!isLast && row + 1 - first < MOST_TEXTS && units + next <= MOST_UNITS) continue;
    yield { window: texts.slice(first, row + 1), first };
    [first, units] = [row + 1, 0];
  }
}

/** Waits for a promise a short while; undefined if it takes longer. */
async function withoutWaiting(promise) {
  let timer;
  const pause = new Promise((resolve) => { timer = setTimeout(resolve, WAIT); });
  try {
    return await Promise.race([promise, pause]);
  } finally {
    clearTimeout(timer);
  }
}

function best(lengths) {
  let place = 0;
  for (let index = 1; index < lengths.length; index++) if (lengths[index] > lengths[place]) place = index;
  return place;
}

/** Classes by length, longest first; equal ones in the order of the labels. */
const byLength = (lengths) => [...lengths.keys()].sort((one, other) => lengths[other] - lengths[one]);

/** The first labels, for messages. */
function some(labels) {
  const shown = labels.slice(0, 8).map((label) => (label.length <= 40 ? label : `${label.slice(0, 39)}…`)).join(', ');
  return labels.length > 8 ? `${shown} … (${labels.length} in all)` : shown;
}
