/** Answers of the server that sent the page. */
import { classifyAll } from './bulk.js';
import { PageError } from './element.js';
import { uncertainty } from './next_texts.js';

const BATCH_TEXTS = 64, BATCH_UNITS = 100_000; // texts of one request, and their UTF-16 units
const BYTES_PER_UNIT = 8; // more than JSON needs
const TRIES = 8, LONGEST_WAIT = 30; // of a busy server; seconds

const sleep = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal?.addEventListener('abort', () => {
    clearTimeout(timer);
    reject(signal.reason);
  }, { once: true });
});

/** Where the token is kept while the tab is open; null if the browser forbids it. */
function stored() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/** The server wants a token. */
export class TokenError extends PageError {}

/** Talks to the server; see engine.js. */
export class ServerEngine {
  models = [];
  canOpen = false;
  keeps = false;
  where = 'Texts are sent to this server and nowhere else.';
  #token = stored()?.getItem('token') ?? '';
  #limits = {};

  /** Read what the server has. */
  async start() {
    const info = await this.#json('info');
    this.#limits = info.limits ?? {};
    this.keeps = Boolean(info.feedback);
    this.models = info.models.map((model) => ({
      name: model.name, labels: model.labels, multiLabel: Boolean(model.multi_label), calibrated: Boolean(model.calibrated),
      bytes: model.bytes, thresholds: model.thresholds ?? null, report: model.report,
    }));
    this.models.sort((one, other) => Number(other.name === info.default) - Number(one.name === info.default));
  }

  /** Use a token from now on. */
  setToken(token) {
    this.#token = token;
    stored()?.setItem('token', token);
  }

  get batch() {
    return { texts: Math.min(BATCH_TEXTS, this.#most('max_texts')), units: Math.min(BATCH_UNITS, this.#units) };
  }

  get longest() {
    return Math.min(this.#most('max_length'), this.#units);
  }

  /** A limit of the server. */
  #most(name) {
    return this.#limits[name] ?? Infinity;
  }

  /** UTF-16 units that fit into one request. */
  get #units() {
    return Math.floor(this.#most('max_body') / BYTES_PER_UNIT);
  }

  async answer(model, text, { label, contrast, signal } = {}) {
    const body = {
      input: text, model: model.name, top_k: model.labels.length, abstain: canAbstain(model), explain: label ?? true,
      ...(contrast === undefined ? {} : { contrast }),
    };
    const { results: [found] } = await this.#json('v1/classify', { body, signal });
    const units = unitsOf(text);
    const { explanation } = found;
    const tokens = (list) => list.map((token) => ({ ...token, start: units[token.start], end: units[token.end] }));
    return {
      prediction: prediction(found),
      explanation: {
        label: explanation.label, sum: explanation.length_before_squash, tokens: tokens(explanation.tokens),
        contrast: explanation.contrast ? {
          label: explanation.contrast.label, sum: explanation.contrast.length_before_squash, tokens: tokens(explanation.contrast.tokens),
        } : null,
      },
    };
  }

  async classify(model, texts, { topK = 1, signal } = {}) {
    const body = { input: texts, model: model.name, top_k: Math.min(topK, model.labels.length), abstain: canAbstain(model) };
    return (await this.#json('v1/classify', { body, signal })).results.map(prediction);
  }

  async next(model, texts, count, { signal, onProgress } = {}) {
    const places = await this.#askable(model, texts, { signal, onProgress });
    const body = { input: places.map((place) => texts[place].slice(0, this.longest)), count, model: model.name };
    return (await this.#json('v1/next', { body, signal })).order.slice(0, count).map((index) => places[index]);
  }

  /** Places of the texts that fit into one request: all of them, or the most uncertain ones. */
  async #askable(model, texts, options) {
    const places = [...texts.keys()];
    const size = (place) => Math.min(texts[place].length, this.longest);
    const total = places.reduce((sum, place) => sum + size(place), 0);
    if (texts.length <= this.#most('max_texts') && total <= this.#units) return places;
    const answers = await classifyAll(this, model, texts, { ...options, topK: model.multiLabel ? model.labels.length : 2 });
    const unsure = places.filter((place) => answers[place]).sort((one, other) => uncertainty(answers[other]) - uncertainty(answers[one]));
    let units = 0;
    return unsure.slice(0, this.#most('max_texts')).filter((place) => (units += size(place)) <= this.#units);
  }

  async give({ text, label, model, predicted }) {
    const known = typeof predicted === 'string' ? { predicted } : {}; // not of multi-label models
    await this.#send('v1/feedback', { body: { text: text.slice(0, this.longest), label, model, ...known } });
  }

  async card(model) {
    return (await this.#send(`card?model=${encodeURIComponent(model.name)}`)).text();
  }

  async report(model) {
    const address = `report?model=${encodeURIComponent(model.name)}`;
    if (model.report === false) return null;
    if (model.report === undefined || this.#token) {
      const response = await fetch(address, { headers: this.#headers() });
      if (!response.ok) return null;
      if (this.#token) return URL.createObjectURL(await response.blob()); // a link cannot send the token
      await response.body.cancel(); // there is a report: the link will read it
    }
    return address;
  }

  #headers() {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }

  async #json(address, options) {
    return (await this.#send(address, options)).json();
  }

  /** Send a request; a busy server is asked again after the time that it names. */
  async #send(address, { body, signal } = {}) {
    const request = body === undefined ? { headers: this.#headers(), signal } : {
      method: 'POST', body: JSON.stringify(body), headers: { ...this.#headers(), 'content-type': 'application/json' }, signal,
    };
    for (let attempt = 1; ; attempt++) {
      let response;
      try {
        response = await fetch(address, request);
      } catch (error) {
        throw error.name === 'AbortError' ? error : new PageError('The server does not answer. Check that it runs, and try again');
      }
      if (response.ok) return response;
      if (response.status === 401) throw new TokenError('This server needs a token');
      const wait = Number(response.headers.get('retry-after')) || 1;
      if (response.status !== 503 || attempt === TRIES || wait > LONGEST_WAIT) throw new PageError(await problem(response));
      await sleep(wait, signal);
    }
  }
}

/** Whether the model can say that it does not know. */
const canAbstain = ({ calibrated, multiLabel }) => calibrated && !multiLabel;

/** A prediction in the form of engine.js. */
const prediction = ({ label, probability, reason, guess, top, labels }) => ({
  label, probability, reason: reason ?? '', guess: guess ?? null, top: top ?? [{ label: label ?? guess, probability }], labels: labels ?? null,
});

/** For each code point of a text, and for its end, the place in UTF-16 units. */
function unitsOf(text) {
  const places = [];
  let at = 0;
  for (const letter of text) {
    places.push(at);
    at += letter.length;
  }
  places.push(at);
  return places;
}

/** What a refused request says. */
async function problem(response) {
  const text = await response.text();
  try {
    const { error, detail, message } = JSON.parse(text);
    const found = error?.message ?? error ?? detail ?? message;
    if (typeof found === 'string') return found;
  } catch { /* not JSON */ }
  return `The server answered ${response.status} ${response.statusText}`.trim();
}
