/**
 * Compares answers with those of Python, in Node and in browsers.
 *
 * tests/browser/conftest.py writes a folder with models, texts and answers. Every function returns the first differences
 * and the number of comparisons.
 */
import { split } from '../src/tokens.js';

const TOLERANCE = 1e-4;
const MAX_DIFFERENCES = 5; // listed

/** Collects differences. */
class Comparison {
  differences = [];
  compared = 0;

  same(found, expected, where) {
    this.compared++;
    if (found !== expected && this.differences.length < MAX_DIFFERENCES) {
      this.differences.push(`${where}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
    }
  }

  near(found, expected, where) {
    this.compared++;
    if (!(Math.abs(found - expected) <= TOLERANCE) && this.differences.length < MAX_DIFFERENCES) {
      this.differences.push(`${where}: ${found}, expected ${expected}`);
    }
  }
}

/** Tokens and offsets of texts: `{text, words, starts, ends}`. */
export function compareTokens(cases, limit) {
  const comparison = new Comparison();
  for (const { text, words, starts, ends } of cases) {
    const found = split(text, limit), where = `tokens of ${JSON.stringify(text.slice(0, 60))}`;
    comparison.same(found.words.join('\n'), words.join('\n'), where);
    comparison.same(found.starts.join(), starts.join(), `starts of ${where}`);
    comparison.same(found.ends.join(), ends.join(), `ends of ${where}`);
  }
  return comparison;
}

/** Every Unicode character, in slices: `{first, count, digest}`. */
export async function compareCharacters(slices) {
  const comparison = new Comparison();
  for (const { first, count, digest } of slices) {
    let text = '';
    for (let code = first; code < first + count; code++) {
      if (code < 0xd800 || code > 0xdfff) text += String.fromCodePoint(code);
    }
    const { words, starts, ends } = split(text, Infinity);
    const read = new Blob([words.join('\n'), Int32Array.from(starts), Int32Array.from(ends)]);
    const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', await read.arrayBuffer()));
    const found = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    comparison.same(found, digest, `tokens of the ${count} characters from 0x${first.toString(16)}`);
  }
  return comparison;
}

/** Scores, labels and contributions of a model: `{labels, texts, lengths, scores, given, batches, explanations}`. */
export async function compareAnswers(model, { labels, texts, lengths, scores, given, batches, explanations }) {
  const comparison = new Comparison();
  comparison.same(model.labels.join('\n'), labels.join('\n'), 'labels');
  for (const rows of [...batches, [...texts.keys()]]) {
    const predictions = await model.predict(rows.map((row) => texts[row]), { topK: labels.length, rawScores: true });
    comparison.same(predictions.length, rows.length, 'predictions');
    predictions.forEach((prediction, place) => {
      const expected = lengths[rows[place]], where = `text ${rows[place]} in a batch of ${rows.length}`;
      compareScores(comparison, prediction, labels, expected, where);
      const order = [...expected].sort((one, other) => other - one);
      if (order[0] - order[1] > 2 * TOLERANCE) { // closer scores may swap
        comparison.same(prediction.label, labels[expected.indexOf(order[0])], where);
      }
    });
  }
  const predictions = await model.predict(texts, { topK: labels.length });
  predictions.forEach((prediction, row) => {
    compareScores(comparison, prediction, labels, scores[row], `score of text ${row}`);
    const names = (pairs) => pairs && pairs.map(({ label }) => label).sort().join('\n');
    comparison.same(names(prediction.labels), names(given[row]), `labels of text ${row}`);
    given[row]?.forEach(({ label, score }) => {
      comparison.near(prediction.labels.find((one) => one.label === label)?.score, score, `label of text ${row}, ${label}`);
    });
  });
  for (const { text, asked, label, score, length_before_squash: norm, tokens } of explanations) {
    const found = await model.explain(text, asked === null ? {} : { label: asked });
    const where = `explanation of ${JSON.stringify(text.slice(0, 60))}`;
    comparison.same(found.label, label, where);
    comparison.near(found.score, score, where);
    comparison.near(found.lengthBeforeSquash, norm, where);
    comparison.same(found.tokens.length, tokens.length, where);
    tokens.forEach((token, place) => {
      const own = found.tokens[place] ?? {};
      comparison.same(`${own.text} ${own.start} ${own.end}`, `${token.text} ${token.start} ${token.end}`, where);
      comparison.near(own.contribution, token.contribution, `${where}, ${token.text}`);
    });
  }
  return comparison;
}

function compareScores(comparison, { top }, labels, expected, where) {
  const found = new Map(top.map(({ label, score }) => [label, score]));
  labels.forEach((label, index) => comparison.near(found.get(label), expected[index], `${where}, ${label}`));
}
