/** The classifier: predicts labels and scores of texts and explains them. */
import { encoderLayers, wordContributions } from './attribution.js';
import { parseCalibration } from './calibration.js';
import { isMultiLabel, poolingOf } from './config.js';
import { InputError } from './errors.js';
import { openSession } from './session.js';
import { readSource } from './source.js';
import { checkText, typeOf } from './tokens.js';

// limits of one batch
const MAX_TEXTS = 64;
const MAX_TOKENS = 64 * 512; // including padding
const MAX_CONTRIBUTIONS = 2 ** 22; // tokens times classes
const MAX_VOTES = 64 * 256; // texts times classes

/**
 * The labels of a text.
 * @typedef {object} Prediction
 * @property {string} label
 * @property {number} score calibrated probability; class length (0 to 1) without a calibration or with `rawScores`
 * @property {{label: string, score: number}[]} top the `topK` best labels, best first
 * @property {{label: string, score: number}[] | null} labels of a multi-label model: the labels that reach their
 *   thresholds, best first; null for a single-label model
 */

/**
 * The contribution of one token to a class; the token is `text.slice(start, end)`.
 * @typedef {object} TokenContribution
 * @property {string} text
 * @property {number} start
 * @property {number} end
 * @property {number} contribution
 */

/**
 * The contributions of a text's tokens to a label; they sum to `lengthBeforeSquash`.
 * @typedef {object} Explanation
 * @property {string} label
 * @property {number} score class length
 * @property {number} lengthBeforeSquash length of the class capsule before squash; with a linear head the logit
 * @property {TokenContribution[]} tokens
 */

/**
 * Load a model file.
 * @param {import('./source.js').Source} source bytes, a File or a URL
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
    /** Size of the file in bytes. */
    this.size = size;
    this.config = session.config;
    /** @type {string[]} */
    this.labels = session.config.labels;
    this.calibration = parseCalibration(session.config.calibration, name);
    /** Whether a text may have any number of labels. */
    this.multiLabel = isMultiLabel(session.config);
    /** @type {number[]} of a multi-label model: the smallest class length at which each label is predicted */
    this.thresholds = this.multiLabel ? session.config.thresholds : [];
    /** @type {number[]} the thresholds on the scale of the scores that `predict` returns */
    this.scoreThresholds = this.calibration ? this.calibration.probabilities(this.thresholds) : this.thresholds;
  }

  /**
   * Predict the labels of texts. Scores are calibrated probabilities if the model has a calibration.
   * @param {Iterable<string>} texts
   * @param {{topK?: number, rawScores?: boolean}} [options] rawScores: use class lengths as scores
   * @returns {Promise<Prediction[]>}
   */
  async predict(texts, { topK = 1, rawScores = false } = {}) {
    if (typeof texts === 'string' || typeof texts?.[Symbol.iterator] !== 'function') {
      throw new InputError(`predict got ${typeOf(texts)}, expected an array of texts: write predict([text])`);
    }
    if (!Number.isInteger(topK) || topK < 1) throw new InputError(`topK is ${topK}: expected an integer of at least 1`);
    return (await this.lengths([...texts])).map((lengths) => {
      const order = [...lengths.keys()].sort((one, other) => lengths[other] - lengths[one]); // stable: ties keep the order of the labels
      const scores = rawScores || !this.calibration ? lengths : this.calibration.probabilities(lengths);
      const named = (index) => ({ label: this.labels[index], score: scores[index] });
      const reached = this.multiLabel ? order.filter((index) => lengths[index] >= this.thresholds[index]).map(named) : null;
      const top = order.slice(0, topK).map(named);
      return { ...top[0], top, labels: reached };
    });
  }

  /**
   * Return the class lengths of each text.
   * @param {string[]} texts
   * @returns {Promise<Float32Array[]>}
   */
  async lengths(texts) {
    texts.forEach(checkText);
    const encoded = texts.map((text) => this.session.tokenizer.encode(text).ids);
    const order = [...encoded.keys()].sort((one, other) => encoded[one].length - encoded[other].length);
    const results = new Array(texts.length);
    const classes = this.labels.length;
    for (const rows of batches(order, encoded, classes)) {
      const { lengths } = await this.session.run(['lengths'], rows.map((row) => encoded[row]));
      rows.forEach((row, place) => { results[row] = lengths.slice(place * classes, (place + 1) * classes); });
    }
    return results;
  }

  /**
   * Return the contribution of each token to a label (default: the predicted one).
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
    const ngramOutput = this.session.graph.outputNames.includes('ngrams') ? ['ngrams'] : [];
    const outputs = ['lengths', 'norms', 'embedded', 'directions', ...ngramOutput];
    const { lengths, norms, embedded, directions, ngrams } = await this.session.run(outputs, [ids]);
    const classes = this.labels.length;
    const chosen = label === undefined ? lengths.indexOf(Math.max(...lengths)) : this.labels.indexOf(label);
    const column = (values) => values.filter((_, place) => place % classes === chosen); // (…, C) -> (…,)
    const contributions = wordContributions(
      embedded, ids.length, this.layers, poolingOf(this.session.config), column(directions));
    if (ngrams) column(ngrams).forEach((value, place) => { contributions[place] += value; });
    const tokens = ids.map((_, place) => ({
      text: text.slice(starts[place], ends[place]),
      start: starts[place],
      end: ends[place],
      contribution: contributions[place],
    }));
    return { label: this.labels[chosen], score: lengths[chosen], lengthBeforeSquash: norms[chosen], tokens };
  }

  /** Release the memory of the model, which cannot be used afterwards. */
  async close() {
    await this.session.close();
  }
}

/** The first labels, for messages. */
function some(labels) {
  const shown = labels.slice(0, 8).map((label) => (label.length <= 40 ? label : `${label.slice(0, 39)}…`)).join(', ');
  return labels.length > 8 ? `${shown} … (${labels.length} in all)` : shown;
}

/** Split rows, sorted by text length, into batches within the limits above. */
function* batches(rows, encoded, classes) {
  const tokens = Math.min(MAX_TOKENS, Math.max(1, Math.floor(MAX_CONTRIBUTIONS / classes)));
  for (let start = 0; start < rows.length;) {
    let size = Math.min(MAX_TEXTS, rows.length - start, Math.max(1, Math.floor(MAX_VOTES / classes)));
    // the last text of a batch is its longest
    while (size > 1 && size * encoded[rows[start + size - 1]].length > tokens) size = Math.ceil(size / 2);
    yield rows.slice(start, start + size);
    start += size;
  }
}
