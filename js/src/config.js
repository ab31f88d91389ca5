/** The configuration inside a model file. */
import { ModelError } from './errors.js';

const FORMAT_VERSION = 2;
/** How much of the pooled state is the mean over the tokens; the rest is the largest value of each number. */
export const MEAN_SHARE = { mean: 1, 'mean+max': 0.5, max: 0 };

/**
 * Parse and check the configuration.
 * @param {string} json
 * @param {string} name name of the model, for messages
 * @returns {{format_version: number, labels: string[], vocab_size: number, [key: string]: any}}
 */
export function parseConfig(json, name) {
  let config;
  try {
    config = JSON.parse(json);
  } catch (error) {
    throw new ModelError(`${name} is damaged: its configuration is not JSON (${error.message}); export it again`);
  }
  const version = config?.format_version;
  if (!Number.isInteger(version) || version < 1) {
    throw new ModelError(`${name} has no format_version, so it is not a capsulet model`);
  }
  if (version !== FORMAT_VERSION) {
    const remedy = version > FORMAT_VERSION ? 'use a newer capsulet' : 'train the model again';
    throw new ModelError(`${name} has format ${version}, this page reads format ${FORMAT_VERSION}: ${remedy}`);
  }
  const { labels, vocab_size: words } = config;
  if (!Array.isArray(labels) || labels.length < 2 || new Set(labels).size < labels.length
    || !labels.every((label) => typeof label === 'string')) {
    const value = `${JSON.stringify(labels)}`.slice(0, 40);
    throw new ModelError(`${name} is damaged: labels is ${value}, expected two or more different strings`);
  }
  const pooling = poolingOf(config);
  if (!(pooling in MEAN_SHARE)) {
    const kinds = Object.keys(MEAN_SHARE).join(', ');
    throw new ModelError(`${name} is damaged: pooling is ${`${JSON.stringify(pooling)}`.slice(0, 40)}, expected one of ${kinds}`);
  }
  if (!Number.isInteger(words)) throw new ModelError(`${name} is damaged: vocab_size is ${words}, expected an integer`);
  if (isMultiLabel(config) && !areThresholds(config.thresholds, labels.length)) {
    const value = `${JSON.stringify(config.thresholds)}`.slice(0, 40);
    throw new ModelError(`${name} is damaged: thresholds is ${value}, expected a number from 0 to 1 per label`);
  }
  return config;
}

/** Whether the model is multi-label. */
export function isMultiLabel(config) {
  return config.options?.model?.multi_label === true;
}

/** Whether the model reads an unknown word as a similar known word. */
export function readsSimilar(config) {
  return config.options.text.unknown_words === 'similar';
}

function areThresholds(values, count) {
  return Array.isArray(values) && values.length === count
    && values.every((value) => Number.isFinite(value) && value >= 0 && value <= 1);
}

/** How the states of a text become one. */
export const poolingOf = (config) => config.options?.model?.pooling;
