/** A labelled table: the columns that a prediction adds, and how many texts got each label. */
import { predictedLabel } from './feedback.js';

const SEPARATOR = '|'; // of the labels in one cell, as capsulet reads them
export const UNKNOWN = 'Don’t know';
export const NO_TEXT = 'No text';
export const NO_LABEL = 'No label';

/** Names of the new columns of one or two models; a name that the table has gets a prefix. */
export function newColumns(models, taken) {
  const used = new Set(taken.map((name) => name.toLowerCase()));
  const own = models.map((model, index) => {
    const base = model.multiLabel ? ['labels', 'probabilities'] : ['label', 'probability', ...(model.calibrated ? ['reason'] : [])];
    return index ? base.map((name) => `${name} (${model.name})`) : base;
  });
  const isTaken = own.flat().some((name) => used.has(name));
  return own.map((names) => (isTaken ? names.map((name) => `predicted ${name}`) : names));
}

const rounded = (probability) => Math.round(probability * 1e6) / 1e6;

/** The cells of one prediction, in the order of the new columns. */
export function newCells(model, answer) {
  if (model.multiLabel) {
    const given = answer?.labels ?? [];
    return [given.map(({ label }) => label).join(SEPARATOR), given.map(({ probability }) => rounded(probability)).join(SEPARATOR)];
  }
  return [answer?.label ?? '', answer ? rounded(answer.probability) : '', ...(model.calibrated ? [answer?.reason ?? ''] : [])];
}

/** Number of texts by label, most frequent first. */
export function labelCounts(answers) {
  const counts = new Map(), add = (name) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const answer of answers) {
    if (!answer) add(NO_TEXT);
    else if (answer.labels) (answer.labels.length ? answer.labels : [{ label: NO_LABEL }]).forEach(({ label }) => add(label));
    else add(answer.label ?? UNKNOWN);
  }
  return [...counts].sort((one, other) => other[1] - one[1]);
}

/** Share of texts for which two models give the same answer. */
export function agreement(ones, others) {
  const written = (answer) => JSON.stringify(answer && [predictedLabel(answer)].flat().toSorted());
  const same = ones.filter((answer, index) => written(answer) === written(others[index])).length;
  return same / (ones.length || 1);
}
