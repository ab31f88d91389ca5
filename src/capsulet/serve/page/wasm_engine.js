/** Answers of the WebAssembly module, in the browser. */
import { PageError } from './element.js';
import { nextTexts } from './next_texts.js';

const BATCH = 32; // texts of one call of the module
const BUSY = 25; // milliseconds of work between two pauses, in which the page reacts

let paused = 0; // when the last pause ended

/** Let the rest of the page react, if it has waited for long. */
async function pause() {
  if (performance.now() - paused < BUSY) return;
  await new Promise((resolve) => { setTimeout(resolve); });
  paused = performance.now();
}

const listed = (labels) => labels?.map((found) => ({ label: found.label, probability: found.probability })) ?? null;

/** Runs models in the page; see engine.js. */
export class WasmEngine {
  models = [];
  canOpen = true;
  keeps = false;
  batch = { texts: BATCH, units: Infinity };
  longest = Infinity;
  where = 'The model and your texts stay in this browser.';

  /** Open the model that the address of the page names: ?model=FILE, a path relative to the page. */
  async start() {
    const beside = new URLSearchParams(location.search).get('model');
    if (!beside) return;
    const address = new URL(beside, location.href);
    if (/^[a-z][a-z0-9+.-]*:|^[\\/]{2}/i.test(beside) || address.origin !== location.origin) {
      throw new PageError(`model=${beside} is on another server: expected a path relative to this page`);
    }
    await this.open(address, beside.split('/').at(-1));
  }

  /** Add a model: a file, or the address of one. */
  async open(source, name = source.name) {
    const { load } = await import('../src/index.js');
    const bytes = new Uint8Array(await (source instanceof Blob ? source.arrayBuffer() : read(source, name)));
    const classifier = await load(new File([bytes], name));
    const taken = new Set(this.models.map((model) => model.name));
    let own = name;
    for (let number = 2; taken.has(own); number++) own = `${name} (${number})`;
    const model = {
      name: own, classifier, labels: classifier.labels, multiLabel: classifier.multiLabel, calibrated: classifier.calibrated,
      bytes: classifier.size, thresholds: classifier.multiLabel ? classifier.probabilityThresholds : null,
      card: cardOf(bytes), report: false,
    };
    this.models.push(model);
    return model;
  }

  async answer(model, text, { label, contrast } = {}) {
    const [found] = await this.#predict(model, [text], model.labels.length);
    const wanted = label ?? found.top[0].label;
    const explanation = await model.classifier.explain(text, contrast === undefined || contrast === wanted ? { label: wanted } : { label: wanted, contrast });
    const { contrast: other } = explanation;
    return {
      prediction: found,
      explanation: {
        label: wanted, sum: explanation.lengthBeforeSquash, tokens: explanation.tokens,
        contrast: other && { label: other.label, sum: other.lengthBeforeSquash, tokens: other.tokens },
      },
    };
  }

  async classify(model, texts, { topK = 1, signal } = {}) {
    await pause();
    signal?.throwIfAborted();
    return this.#predict(model, texts, Math.min(topK, model.labels.length));
  }

  async next(model, texts, count, { signal, onProgress } = {}) {
    const answers = [];
    const top = model.multiLabel ? model.labels.length : 2;
    for (let first = 0; first < texts.length; first += BATCH) {
      await pause();
      signal?.throwIfAborted();
      answers.push(...await this.#predict(model, texts.slice(first, first + BATCH), top));
      onProgress?.(answers.length, texts.length);
    }
    return nextTexts(texts, answers, count);
  }

  async card(model) {
    return model.card;
  }

  async report() {
    return null;
  }

  async #predict({ classifier }, texts, topK) {
    const abstain = classifier.calibrated && !classifier.multiLabel;
    return (await classifier.predict(texts, { topK, abstain })).map((found) => ({
      label: found.label, probability: found.probability, reason: found.reason, guess: found.reason ? found.top[0].label : null,
      top: listed(found.top), labels: listed(found.labels),
    }));
  }
}

/** Bytes of an address. */
async function read(address, name) {
  let response;
  try {
    response = await fetch(address);
  } catch {
    throw new PageError(`${name} cannot be read from here: choose the file, or drop it on the page`);
  }
  if (!response.ok) throw new PageError(`${name} cannot be read (${response.status}): check the name in the address`);
  return response.arrayBuffer();
}

/** The card in a model file that the module has accepted: a tensor of Markdown. */
function cardOf(bytes) {
  const size = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const place = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size))).card?.data_offsets;
  return place ? new TextDecoder().decode(bytes.subarray(8 + size + place[0], 8 + size + place[1])) : '';
}
