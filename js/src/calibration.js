/**
 * Class lengths to probabilities, as the calibration inside a model says.
 *
 * Lengths (C,) become scores by a scale, scores times a factor go through a softmax, and the probability of the best
 * class may be corrected once more: by a logistic curve (platt) or by straight lines between knots (isotonic). The others
 * share what is left as before. Which class is best does not change. Where a text may have several labels, each length
 * goes through one logistic curve by itself.
 */
import { ModelError } from './errors.js';

const SMALLEST = 1e-6; // lengths are kept this far from 0 and 1, probabilities from 0
const METHODS = ['temperature', 'platt', 'isotonic'];
const SCALES = {
  length: (length) => length,
  log: Math.log,
  logit: (length) => Math.log(length / (1 - length)),
  norm: (length) => Math.sqrt(length / (1 - length)),
};

const clip = (value, low, high) => Math.min(Math.max(value, low), high);
const inside = (value) => clip(value, SMALLEST, 1 - SMALLEST);

/** How lengths become probabilities. */
export class Calibration {
  constructor({ method, scale, factor, slope = 1, offset = 0, knots = [], each = false }) {
    Object.assign(this, { method, scale, factor, slope, offset, knots, each });
  }

  /**
   * Numbers that sum to one, unless each label stands by itself, in the order of the lengths.
   * @param {ArrayLike<number>} lengths
   * @returns {number[]}
   */
  probabilities(lengths) {
    if (this.each) return Array.from(lengths, (length) => this.curve(length));
    const scores = Array.from(lengths, (length) => this.factor * SCALES[this.scale](inside(length)));
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const sum = powers.reduce((total, power) => total + power, 0);
    const found = powers.map((power) => power / sum);
    return this.method === 'temperature' ? found : this.withTop(found);
  }

  /** The same with the best class corrected, which stays the best. */
  withTop(found) {
    const highest = Math.max(...found), best = found.indexOf(highest);
    const left = found.reduce((total, share, index) => total + (index === best ? 0 : share), 0);
    const shares = found.map((share, index) => {
      if (index === best) return 0;
      return left > 0 ? share / Math.max(left, 1e-300) : 1 / (found.length - 1);
    });
    const second = Math.max(...shares);
    const top = clip(this.corrected(highest), second / (1 + second), 1 - SMALLEST); // from where on it is at least the second
    return shares.map((share, index) => (index === best ? top : share * (1 - top)));
  }

  /** A sigmoid of the logit. */
  curve(value) {
    return 0.5 * (1 + Math.tanh(0.5 * (this.slope * SCALES.logit(inside(value)) + this.offset)));
  }

  /** What the probability of the best class becomes. */
  corrected(top) {
    if (this.method === 'platt') return this.curve(top);
    const next = this.knots.findIndex(([place]) => place > top);
    if (next === 0) return this.knots[0][1];
    if (next < 0) return this.knots.at(-1)[1];
    const [[x0, y0], [x1, y1]] = this.knots.slice(next - 1, next + 1);
    return y0 + ((y1 - y0) * (top - x0)) / (x1 - x0);
  }
}

/**
 * The calibration in a configuration, if there is one.
 * @param {any} stored
 * @param {string} name the model, for messages
 * @returns {Calibration | null}
 */
export function parseCalibration(stored, name) {
  if (stored === undefined || stored === null) return null;
  const found = new Calibration(stored);
  const numbers = [found.factor, found.slope, found.offset];
  let problem = '';
  if (!METHODS.includes(found.method) || !Object.hasOwn(SCALES, found.scale)) {
    problem = `${found.method} of ${found.scale} is unknown to this version`;
  } else if (!numbers.every(Number.isFinite) || (found.method === 'isotonic' && !areKnots(found.knots))) {
    problem = 'a number is missing';
  }
  if (problem) throw new ModelError(`${name} is damaged: its calibration cannot be read (${problem})`);
  return found;
}

/** @param {any} knots */
function areKnots(knots) {
  return Array.isArray(knots) && knots.length > 0
    && knots.every((knot) => Array.isArray(knot) && knot.length === 2 && knot.every(Number.isFinite));
}
