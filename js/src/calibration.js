/**
 * Class lengths to calibrated probabilities.
 *
 * A scale maps lengths (C,) to scores. The scores times a factor go through a softmax. The probability of the best class
 * may then be corrected by a logistic curve (platt) or by linear interpolation between knots (isotonic). The other
 * classes share the rest in the same proportions. The best class stays the best. A multi-label model maps each length
 * with one logistic curve, independently of the others.
 */
import { ModelError } from './errors.js';

const SMALLEST = 1e-6; // lengths are clipped to this distance from 0 and 1, probabilities to this distance from 0
const METHODS = ['temperature', 'platt', 'isotonic'];
const SCALES = {
  length: (length) => length,
  log: Math.log,
  logit: (length) => Math.log(length / (1 - length)),
  norm: (length) => Math.sqrt(length / (1 - length)),
};

const clip = (value, low, high) => Math.min(Math.max(value, low), high);
const inside = (value) => clip(value, SMALLEST, 1 - SMALLEST);

/** Maps class lengths to probabilities. */
export class Calibration {
  constructor({ method, scale, factor, slope = 1, offset = 0, knots = [], each = false }) {
    Object.assign(this, { method, scale, factor, slope, offset, knots, each });
  }

  /**
   * Return one probability per class. They sum to one, except for a multi-label model.
   * @param {ArrayLike<number>} lengths
   * @returns {number[]}
   */
  probabilities(lengths) {
    if (this.each) return Array.from(lengths, (length) => this.curve(length));
    const scores = Array.from(lengths, (length) => this.factor * SCALES[this.scale](inside(length)));
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const sum = powers.reduce((total, power) => total + power, 0);
    const shares = powers.map((power) => power / sum);
    return this.method === 'temperature' ? shares : this.withTop(shares);
  }

  /** Correct the probability of the best class, which stays the best. */
  withTop(softmax) {
    const highest = Math.max(...softmax), best = softmax.indexOf(highest);
    const left = softmax.reduce((total, share, index) => total + (index === best ? 0 : share), 0);
    const shares = softmax.map((share, index) => {
      if (index === best) return 0;
      return left > 0 ? share / Math.max(left, 1e-300) : 1 / (softmax.length - 1);
    });
    const second = Math.max(...shares);
    const top = clip(this.corrected(highest), second / (1 + second), 1 - SMALLEST); // at least the second-best class
    return shares.map((share, index) => (index === best ? top : share * (1 - top)));
  }

  /** Logistic curve over the logit. */
  curve(value) {
    return 0.5 * (1 + Math.tanh(0.5 * (this.slope * SCALES.logit(inside(value)) + this.offset)));
  }

  /** Return the corrected probability of the best class. */
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
 * Parse the calibration of a configuration; return null if there is none.
 * @param {any} stored
 * @param {string} name name of the model, for messages
 * @returns {Calibration | null}
 */
export function parseCalibration(stored, name) {
  if (stored === undefined || stored === null) return null;
  const calibration = new Calibration(stored);
  const numbers = [calibration.factor, calibration.slope, calibration.offset];
  let problem = '';
  if (!METHODS.includes(calibration.method) || !Object.hasOwn(SCALES, calibration.scale)) {
    problem = `method ${calibration.method} with scale ${calibration.scale} is unknown`;
  } else if (!numbers.every(Number.isFinite) || (calibration.method === 'isotonic' && !areKnots(calibration.knots))) {
    problem = 'a number is missing';
  }
  if (problem) throw new ModelError(`${name} is damaged: its calibration cannot be read (${problem})`);
  return calibration;
}

/** @param {any} knots */
function areKnots(knots) {
  return Array.isArray(knots) && knots.length > 0
    && knots.every((knot) => Array.isArray(knot) && knot.length === 2 && knot.every(Number.isFinite));
}
