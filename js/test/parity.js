/**
 * Compares answers with those of Python, in Node and in browsers.
 *
 * tests/browser/conftest.py writes a folder with models, texts and answers. Every function returns the first differences
 * and the number of comparisons. Numbers of int8 are equal to the last bit.
 */
const TOLERANCE = { int8: 0, float32: 1e-5 };
const MAX_DIFFERENCES = 5; // listed

/** Collects differences. */
class Comparison {
  differences = [];
  compared = 0;

  constructor(tolerance = 0) {
    this.tolerance = tolerance;
  }

  same(found, expected, where) {
    this.compared++;
    if (found !== expected && this.differences.length < MAX_DIFFERENCES) {
      this.differences.push(`${where}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
    }
  }

  near(found, expected, where) {
    this.compared++;
    if (!(Math.abs(found - expected) <= this.tolerance) && this.differences.length < MAX_DIFFERENCES) {
      this.differences.push(`${where}: ${found}, expected ${expected}`);
    }
  }
}

/** Tokens of texts: `{text, starts, ends, readAs}`. */
export async function compareTokens(model, cases) {
  const comparison = new Comparison();
  for (const { text, starts, ends, readAs } of cases) {
    const found = await model.tokens(text), where = `tokens of ${JSON.stringify(text.slice(0, 60))}`;
    comparison.same(found.map(({ start }) => start).join(), starts.join(), `starts of ${where}`);
    comparison.same(found.map(({ end }) => end).join(), ends.join(), `ends of ${where}`);
    comparison.same(JSON.stringify(found.map((token) => token.readAs)), JSON.stringify(readAs), `words of ${where}`);
    for (const token of found) comparison.same(token.text, text.slice(token.start, token.end), where);
  }
  return comparison;
}

/** Probabilities, labels, abstentions, label sets and contributions of a model: what `answers` of conftest.py returns. */
export async function compareAnswers(model, expected) {
  const comparison = new Comparison(TOLERANCE[model.precision]);
  const { labels, texts, given, batches, requests, explanations } = expected;
  comparison.same(model.labels.join('\n'), labels.join('\n'), 'labels');
  for (const rows of [...batches, [...texts.keys()]]) {
    const predictions = await model.predict(rows.map((row) => texts[row]), { topK: labels.length, lengths: true });
    comparison.same(predictions.length, rows.length, 'predictions');
    predictions.forEach((prediction, place) => {
      compareNumbers(comparison, prediction, 'length', labels, expected.lengths[rows[place]], `text ${rows[place]} in a batch of ${rows.length}`);
    });
  }
  (await model.predict(texts, { topK: labels.length })).forEach((prediction, row) => {
    compareNumbers(comparison, prediction, 'probability', labels, expected.probabilities[row], `probability of text ${row}`);
    const sorted = [...expected.lengths[row]].sort((one, other) => other - one);
    if (sorted[0] - sorted[1] > 2 * comparison.tolerance) { // closer ones may swap
      comparison.same(prediction.label, labels[expected.lengths[row].indexOf(sorted[0])], `label of text ${row}`);
    }
    const names = prediction.labels && prediction.labels.map(({ label }) => label).sort().join('\n');
    if (!comparison.tolerance) comparison.same(names, given[row] && given[row].sort().join('\n'), `labels of text ${row}`);
  });
  for (const { options, error, reasons, sets } of requests) {
    const where = JSON.stringify(options);
    const found = await model.predict(texts, options).catch((problem) => problem.message);
    if (error) comparison.same(found, `${model.name} cannot do this: ${error}`, where);
    else if (!comparison.tolerance) {
      found.forEach(({ reason, label, labelSet }, row) => {
        comparison.same(reason, reasons ? reasons[row] : '', `${where}, text ${row}`);
        comparison.same(label === null, reason !== '', `${where}, text ${row}`);
        comparison.same(labelSet && labelSet.join('\n'), sets && sets[row].join('\n'), `${where}, set of text ${row}`);
      });
    }
  }
  for (const { text, label, contrast, norms, contributions, ngrams } of explanations) {
    const found = await model.explain(text, { label, contrast }), where = `explanation of ${JSON.stringify(text.slice(0, 60))}`;
    comparison.same(`${found.label} ${found.contrast.label}`, `${label} ${contrast}`, where);
    comparison.near(found.lengthBeforeSquash, norms[0], where);
    comparison.near(found.contrast.lengthBeforeSquash, norms[1], where);
    comparison.near(found.ngrams, ngrams, where);
    comparison.same(found.tokens.length, contributions.length, where);
    contributions.forEach(([own, other], row) => {
      comparison.near(found.tokens[row]?.contribution, own, `${where}, token ${row}`);
      comparison.near(found.contrast.tokens[row]?.contribution, own - other, `${where}, token ${row}`);
    });
  }
  return comparison;
}

function compareNumbers(comparison, { top }, name, labels, expected, where) {
  const found = new Map(top.map((entry) => [entry.label, entry[name]]));
  labels.forEach((label, index) => comparison.near(found.get(label), expected[index], `${where}, ${label}`));
}
