/**
 * Attribution: the contribution of each word to a class, traced back through the encoder.
 *
 * With gates and slopes held fixed, a class capsule is a linear function of the words' vectors. Python's
 * runtime/attribution.py explains why the contributions are exact.
 */
import { MEAN_SHARE } from './config.js';

const EQUAL = 1e-9; // states that differ by less count as equal: those of a repeated word differ by rounding errors
/** Weights of one bidirectional layer: input (2, 3H, I), recurrent (2, 3H, H), bias (2, 6H); gates update, reset, new. */
const KINDS = ['input', 'recurrent', 'bias'];

/**
 * Return the weights of the encoder's layers, which are outputs of the graph.
 * @param {import('./session.js').Session} session
 * @returns {Promise<{input: Float32Array, recurrent: Float32Array, bias: Float32Array, hidden: number}[]>}
 */
export async function encoderLayers(session) {
  const names = session.graph.outputNames.filter((name) => /^gru\d+_(input|recurrent|bias)$/.test(name));
  const weights = await session.run(names, [[session.tokenizer.unknown]]);
  return Array.from({ length: names.length / KINDS.length }, (_, number) => {
    const layer = Object.fromEntries(KINDS.map((kind) => [kind, weights[`gru${number}_${kind}`]]));
    return { ...layer, hidden: layer.bias.length / 12 };
  });
}

/**
 * Return the contribution of each word to one class.
 * @param {Float32Array} embedded vectors of the words (T, D)
 * @param {number} count T
 * @param {Awaited<ReturnType<typeof encoderLayers>>} layers
 * @param {string} pooling mean, mean+max or max
 * @param {Float32Array} direction contribution of each component of the pooled state to the class (H,)
 * @returns {Float64Array} (T,); the sum is the length of the class capsule before squash
 */
export function wordContributions(embedded, count, layers, pooling, direction) {
  const inputs = [Float64Array.from(embedded)]; // per layer (T, I)
  const runs = [];
  for (const layer of layers) {
    runs.push([0, 1].map((way) => forward(inputs.at(-1), count, layer, way)));
    const { hidden } = layer;
    const states = new Float64Array(count * 2 * hidden);
    runs.at(-1).forEach(({ states: own }, way) => {
      for (let at = 0; at < count; at++) {
        states.set(own.subarray(at * hidden, (at + 1) * hidden), at * 2 * hidden + way * hidden);
      }
    });
    inputs.push(states);
  }
  const { hidden } = layers.at(-1);
  const share = MEAN_SHARE[pooling];
  const last = inputs.at(-1); // (T, 2H)
  let credit = new Float64Array(count * 2 * hidden);
  for (let number = 0; number < hidden; number++) {
    const first = number, second = hidden + number; // index in the forward and in the backward direction
    const sum = (token) => last[token * 2 * hidden + first] + last[token * 2 * hidden + second];
    let most = -Infinity;
    for (let at = 0; at < count; at++) most = Math.max(most, sum(at));
    let largest = 0; // the first token whose state is equal to the largest
    while (sum(largest) < most - EQUAL) largest++;
    for (let at = 0; at < count; at++) {
      const counted = share / count + (at === largest ? 1 - share : 0);
      for (const place of [first, second]) credit[at * 2 * hidden + place] = direction[number] * counted;
    }
  }
  const contributions = new Float64Array(count);
  for (let number = layers.length - 1; number >= 0; number--) {
    const size = inputs[number].length / count;
    const next = new Float64Array(count * size); // (T, I)
    for (const way of [0, 1]) backward(runs[number][way], count, layers[number], way, credit, next, contributions);
    credit = next;
  }
  const size = inputs[0].length / count;
  for (let place = 0; place < inputs[0].length; place++) {
    contributions[Math.floor(place / size)] += inputs[0][place] * credit[place];
  }
  return contributions;
}

const sigmoid = (value) => 0.5 * (1 + Math.tanh(0.5 * value));

/** Token positions in the reading order of one direction; `back` reverses the order. */
function order(count, way, back) {
  const places = [...Array(count).keys()];
  return (way === 1) !== back ? places.reverse() : places;
}

/** Run one direction over a text. Return what is then held fixed: states, update, reset and gain, each (T, H). */
function forward(inputs, count, { input, recurrent, bias, hidden }, way) {
  const size = inputs.length / count;
  const [states, update, reset, gain] = Array.from({ length: 4 }, () => new Float64Array(count * hidden));
  let state = new Float64Array(hidden);
  const gates = 3 * hidden;
  const given = new Float64Array(gates), own = new Float64Array(gates);
  for (const at of order(count, way, false)) {
    for (let gate = 0; gate < gates; gate++) {
      let sum = bias[way * 2 * gates + gate];
      let row = (way * gates + gate) * size;
      for (let place = 0; place < size; place++) sum += input[row + place] * inputs[at * size + place];
      given[gate] = sum;
      sum = bias[way * 2 * gates + gates + gate];
      row = (way * gates + gate) * hidden;
      for (let place = 0; place < hidden; place++) sum += recurrent[row + place] * state[place];
      own[gate] = sum;
    }
    const next = new Float64Array(hidden);
    for (let unit = 0; unit < hidden; unit++) {
      const z = sigmoid(given[unit] + own[unit]), r = sigmoid(given[hidden + unit] + own[hidden + unit]);
      const before = given[2 * hidden + unit] + r * own[2 * hidden + unit];
      const slope = Math.abs(before) > 1e-9 ? Math.tanh(before) / before : 1;
      const place = at * hidden + unit;
      [update[place], reset[place], gain[place]] = [z, r, (1 - z) * slope];
      next[unit] = gain[place] * before + z * state[unit];
      states[place] = next[unit];
    }
    state = next;
  }
  return { states, update, reset, gain };
}

/** Add the credit of the inputs to `next` (T, I) and the contributions of the biases to `contributions` (T,). */
function backward({ update, reset, gain }, count, { input, recurrent, bias, hidden }, way, credit, next, contributions) {
  const size = next.length / count, gates = 3 * hidden, first = way * 2 * gates + 2 * hidden;
  let carried = new Float64Array(hidden);
  for (const at of order(count, way, true)) {
    const before = new Float64Array(hidden);
    for (let unit = 0; unit < hidden; unit++) {
      const place = at * hidden + unit;
      const whole = credit[at * 2 * hidden + way * hidden + unit] + carried[unit];
      const worth = gain[place] * whole; // credit of the input of tanh
      contributions[at] += worth * (bias[first + unit] + reset[place] * bias[first + gates + unit]);
      before[unit] += update[place] * whole;
      const row = way * gates + 2 * hidden + unit;
      for (let other = 0; other < hidden; other++) before[other] += recurrent[row * hidden + other] * reset[place] * worth;
      for (let other = 0; other < size; other++) next[at * size + other] += input[row * size + other] * worth;
    }
    carried = before;
  }
}
