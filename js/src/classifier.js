/** The classifier: texts in, labels, scores and reasons out. */
import { parseCalibration } from './calibration.js';
import { isMultiLabel, poolingOf } from './config.js';
import { InputError } from './errors.js';
import { encoderLayers, wordContributions } from './flow.js';
import { openSession } from './session.js';
import { readSource } from './source.js';
import { checkText, typeOf } from './tokens.js';

const BATCH = 64;
const LARGEST_BATCH = 64 * 512; // tokens, padding included: long texts go in smaller batches
const LARGEST_GIVEN = 2 ** 22; // tokens times classes, likewise
const LARGEST_VOTES = 64 * 256; // texts times classes, likewise

/**
 * The best label of a text, and the best few when more were asked for.
 * @typedef {object} Prediction
 * @property {string} label
 * @property {number} score calibrated probability; without a calibration, or on request, the class length: 0 to 1
 * @property {{label: string, score: number}[]} top best first, as many as `topK`
 * @property {{label: string, score: number}[] | null} labels with several labels a text: those whose scores reach their
 *   thresholds, best first, perhaps none; null where a text has one label, which is `label`
 */

/**
 * What one token gave to a class; `text.slice(start, end)` is the token.
 * @typedef {object} TokenContribution
 * @property {string} text
 * @property {number} start
 * @property {number} end
 * @property {number} contribution
 */

/**
 * Why a text got, or did not get, a label: the contributions sum to `lengthBeforeSquash`.
 * @typedef {object} Explanation
 * @property {string} label
 * @property {number} score the class length
 * @property {number} lengthBeforeSquash linear head: the logit
 * @property {TokenContribution[]} tokens
 */

/**
 * The classifier in a model file.
 * @param {import('./source.js').Source} source its bytes, a File, or a URL
 * @returns {Promise<Classifier>}
 */
export async function load(source) {
  const { bytes, name } = await readSource(source);
  const session = await openSession(bytes, name);
  try {
    return new Classifier(session, name, bytes.length);
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** A trained model. */
export class Classifier {
  /** @param {import('./session.js').Session} session */
  constructor(session, name, size) {
    this.session = session;
    this.name = name;
    /** Bytes of the file. */
    this.size = size;
    this.config = session.config;
    /** @type {string[]} */
    this.labels = session.config.labels;
    this.calibration = parseCalibration(session.config.calibration, name);
    /** Whether a text may have several labels, or none. */
    this.multiLabel = isMultiLabel(session.config);
    /** @type {number[]} with several labels a text: the length from which on each label is given */
    this.thresholds = this.multiLabel ? session.config.thresholds : [];
    /** @type {number[]} the same as the scores that `predict` gives */
    this.scoreThresholds = this.calibration ? this.calibration.probabilities(this.thresholds) : this.thresholds;
  }

  /**
   * A prediction a text, in order. Scores are calibrated probabilities where the model has a calibration.
   * @param {Iterable<string>} texts
   * @param {{topK?: number, rawScores?: boolean}} [options] rawScores: class lengths all the same
   * @returns {Promise<Prediction[]>}
   */
  async predict(texts, { topK = 1, rawScores = false } = {}) {
    if (typeof texts === 'string' || typeof texts?.[Symbol.iterator] !== 'function') {
      throw new InputError(`predict got one ${typeOf(texts)}, expected several texts: write predict([text])`);
    }
    if (!Number.isInteger(topK) || topK < 1) throw new InputError(`topK is ${topK}: expected an integer of at least 1`);
    return (await this.lengths([...texts])).map((lengths) => {
      const order = [...lengths.keys()].sort((one, other) => lengths[other] - lengths[one]); // equal ones stay in order
      const scores = rawScores || !this.calibration ? lengths : this.calibration.probabilities(lengths);
      const named = (index) => ({ label: this.labels[index], score: scores[index] });
      const given = this.multiLabel ? order.filter((index) => lengths[index] >= this.thresholds[index]).map(named) : null;
      const top = order.slice(0, topK).map(named);
      return { ...top[0], top, labels: given };
    });
  }

  /**
   * Class lengths of each text.
   * @param {string[]} texts
   * @returns {Promise<Float32Array[]>}
   */
  async lengths(texts) {
    texts.forEach(checkText);
    const encoded = texts.map((text) => this.session.tokenizer.encode(text).ids);
    const order = [...encoded.keys()].sort((one, other) => encoded[one].length - encoded[other].length);
    const found = new Array(texts.length);
    const classes = this.labels.length;
    for (const rows of batches(order, encoded, classes)) {
      const { lengths } = await this.session.run(['lengths'], rows.map((row) => encoded[row]));
      rows.forEach((row, place) => { found[row] = lengths.slice(place * classes, (place + 1) * classes); });
    }
    return found;
  }

  /**
   * What each token contributed to a label (default: the predicted one).
   * @param {string} text
   * @param {{label?: string}} [options]
   * @returns {Promise<Explanation>}
   */
  async explain(text, { label } = {}) {
    if (label !== undefined && !this.labels.includes(label)) {
      throw new InputError(`label ${JSON.stringify(label)} is unknown to the model: expected one of ${some(this.labels)}`);
    }
    checkText(text, 0);
    const { ids, starts, ends } = this.session.tokenizer.encode(text);
    this.layers ??= await encoderLayers(this.session);
    const past = this.session.graph.outputNames.includes('ngrams') ? ['ngrams'] : [];
    const more = this.layers.length ? ['embedded', 'directions', ...past] : ['contributions'];
    const found = await this.session.run(['lengths', 'norms', ...more], [ids]);
    const { lengths, norms } = found, classes = this.labels.length;
    const chosen = label === undefined ? lengths.indexOf(Math.max(...lengths)) : this.labels.indexOf(label);
    const column = (values) => values.filter((_, place) => place % classes === chosen); // (…, C) -> (…,)
    const contributions = this.layers.length
      ? wordContributions(found.embedded, ids.length, this.layers, poolingOf(this.session.config), column(found.directions))
      : column(found.contributions); // a graph from before: shares of the states
    if (found.ngrams) {
      column(found.ngrams).forEach((value, place) => { contributions[place] += value; });
    }
    const tokens = ids.map((_, place) => ({
      text: text.slice(starts[place], ends[place]),
      start: starts[place],
      end: ends[place],
      contribution: contributions[place],
    }));
    return { label: this.labels[chosen], score: lengths[chosen], lengthBeforeSquash: norms[chosen], tokens };
  }

  /** Give the memory of the model back; it answers no more after that. */
  async close() {
    await this.session.close();
  }
}

/** A few labels, for messages. */
function some(labels) {
  const shown = labels.slice(0, 8).map((label) => (label.length <= 40 ? label : `${label.slice(0, 39)}…`)).join(', ');
  return labels.length > 8 ? `${shown} … (${labels.length} in all)` : shown;
}

/** Rows, shortest text first, cut so that neither padded tokens nor votes of a batch grow large. */
function* batches(rows, encoded, classes) {
  const tokens = Math.min(LARGEST_BATCH, Math.max(1, Math.floor(LARGEST_GIVEN / classes)));
  for (let start = 0; start < rows.length;) {
    let size = Math.min(BATCH, rows.length - start, Math.max(1, Math.floor(LARGEST_VOTES / classes)));
    // the last row of a batch is its longest
    while (size > 1 && size * encoded[rows[start + size - 1]].length > tokens) size = Math.ceil(size / 2);
    yield rows.slice(start, start + size);
    start += size;
  }
}
