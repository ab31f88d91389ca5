/** What to label next: texts about which the model is uncertain, and which differ from each other. */

const POOL = 400; // the most uncertain texts, among which different ones are chosen

/** Words of a text as a set; without words, its characters. */
function features(text) {
  const found = text.toLowerCase().slice(0, 2000).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return new Set(found.length > 2 ? found : [...text].slice(0, 2000));
}

/** Share of common words: 1 for equal sets, 0 for sets without common words. */
function similarity(one, other) {
  if (one.size > other.size) return similarity(other, one);
  let common = 0;
  for (const word of one) if (other.has(word)) common++;
  return common / (one.size + other.size - common || 1);
}

/** 1 if the two best labels are equally probable, 0 if one is certain. For multi-label answers: the least certain label. */
export function uncertainty({ top, labels }) {
  if (labels) return Math.max(...top.map(({ probability }) => 1 - Math.abs(2 * probability - 1)));
  return 1 - (top[0].probability - (top[1]?.probability ?? 0));
}

/**
 * Indices of `count` texts in the order in which to label them. Each next one has the largest product of its uncertainty
 * and its difference from the chosen ones. Of equal texts, one is chosen.
 */
export function nextTexts(texts, answers, count) {
  const seen = new Set();
  const pool = texts.map((text, index) => ({ text, index, uncertainty: uncertainty(answers[index]) }))
    .filter(({ text }) => text.trim() && !seen.has(text) && seen.add(text))
    .sort((one, other) => other.uncertainty - one.uncertainty || one.index - other.index)
    .slice(0, Math.max(POOL, count))
    .map((candidate) => ({ ...candidate, words: features(candidate.text), nearest: 0 }));
  const order = [];
  while (order.length < count && pool.length) {
    const value = (candidate) => candidate.uncertainty * (1 - candidate.nearest);
    const best = pool.reduce((place, candidate, index) => (value(candidate) > value(pool[place]) ? index : place), 0);
    const [chosen] = pool.splice(best, 1);
    order.push(chosen.index);
    for (const candidate of pool) candidate.nearest = Math.max(candidate.nearest, similarity(candidate.words, chosen.words));
  }
  return order;
}
