/**
 * What each word gave to a class, followed back through the encoder: Python's runtime/flow.py, which says why it is exact.
 * With gates and slopes held fixed the way from the words' vectors to a class capsule is linear.
 */
import { MEAN_SHARE } from './config.js';

const EQUAL = 1e-9; // states that differ by less: those of a word said over and over differ by rounding alone
/** Weights of one bidirectional layer: input (2, 3H, I), recurrent (2, 3H, H), bias (2, 6H); gates update, reset, new. */
const KINDS = ['input', 'recurrent', 'bias'];

/**
 * The weights of the encoder, which the graph gives as outputs; a graph from before gives none.
 * @param {import('./session.js').Session} session
 * @returns {Promise<{input: Float32Array, recurrent: Float32Array, bias: Float32Array, hidden: number}[]>}
 */
export async function encoderLayers(session) {
  const names = session.graph.outputNames.filter((name) => /^gru\d+_(input|recurrent|bias)$/.test(name));
  if (!names.length) return [];
  const found = await session.run(names, [[session.tokenizer.unknown]]);
  return Array.from({ length: names.length / KINDS.length }, (_, number) => {
    const layer = Object.fromEntries(KINDS.map((kind) => [kind, found[`gru${number}_${kind}`]]));
    return { ...layer, hidden: layer.bias.length / 12 };
  });
}

/**
 * Vectors of the words (T, D), and what each number of the pooled state gives to one class (H,), to a part a word.
 * @param {Float32Array} embedded
 * @param {number} count T
 * @param {string} pooling how the states became one: mean, mean+max or max
 * @returns {Float64Array} (T,); they sum to the length of the class before squash
 */
export function wordContributions(embedded, count, layers, pooling, direction) {
  const inputs = [Float64Array.from(embedded)]; // of each layer, (T, I)
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
    const first = number, second = hidden + number; // its places in both directions
    const sum = (token) => last[token * 2 * hidden + first] + last[token * 2 * hidden + second];
    let most = -Infinity;
    for (let at = 0; at < count; at++) most = Math.max(most, sum(at));
    let largest = 0; // the first token whose sum of both is as good as the largest
    while (sum(largest) < most - EQUAL) largest++;
    for (let at = 0; at < count; at++) {
      const counted = share / count + (at === largest ? 1 - share : 0);
      for (const place of [first, second]) credit[at * 2 * hidden + place] = direction[number] * counted;
    }
  }
  const found = new Float64Array(count);
  for (let number = layers.length - 1; number >= 0; number--) {
    const size = inputs[number].length / count;
    const next = new Float64Array(count * size); // (T, I)
    for (const way of [0, 1]) backward(runs[number][way], count, layers[number], way, credit, next, found);
    credit = next;
  }
  const size = inputs[0].length / count;
  for (let place = 0; place < inputs[0].length; place++) found[Math.floor(place / size)] += inputs[0][place] * credit[place];
  return found;
}

const sigmoid = (value) => 0.5 * (1 + Math.tanh(0.5 * value));

/** The places of a text in the order in which one direction reads them; `back` turns it round. */
function order(count, way, back) {
  const places = [...Array(count).keys()];
  return (way === 1) !== back ? places.reverse() : places;
}

/** One direction over a text, with everything that is then held fixed: states, update, reset and gain, each (T, H). */
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

/** Add what the inputs are worth to `next` (T, I), and what the constants gave in each place to `found` (T,). */
function backward({ update, reset, gain }, count, { input, recurrent, bias, hidden }, way, credit, next, found) {
  const size = next.length / count, gates = 3 * hidden, first = way * 2 * gates + 2 * hidden;
  let carried = new Float64Array(hidden);
  for (const at of order(count, way, true)) {
    const before = new Float64Array(hidden);
    for (let unit = 0; unit < hidden; unit++) {
      const place = at * hidden + unit;
      const whole = credit[at * 2 * hidden + way * hidden + unit] + carried[unit];
      const worth = gain[place] * whole; // of what enters the tanh
      found[at] += worth * (bias[first + unit] + reset[place] * bias[first + gates + unit]);
      before[unit] += update[place] * whole;
      const row = way * gates + 2 * hidden + unit;
      for (let other = 0; other < hidden; other++) before[other] += recurrent[row * hidden + other] * reset[place] * worth;
      for (let other = 0; other < size; other++) next[at * size + other] += input[row * size + other] * worth;
    }
    carried = before;
  }
}
