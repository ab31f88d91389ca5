/** Labels that the user gives: kept by the server, or in the page until they are downloaded as JSONL. */
import { download } from './element.js';

/** What was given in this session. */
export class Feedback {
  records = [];
  isSaved = true; // by the server, or as a download
  #engine;
  #listeners = [];

  constructor(engine) {
    this.#engine = engine;
  }

  /** Whether the server keeps the labels. */
  get isKept() {
    return this.#engine.keeps;
  }

  /** Call `listener` after every change. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  /** Keep the right label, or the list of labels, of a text. A second label of a text replaces the first one in the page. */
  async give(text, label, model, predicted) {
    const record = { text, label, model: model.name, predicted };
    if (this.isKept) await this.#engine.give(record);
    else this.isSaved = false;
    this.records = [...this.records.filter((other) => other.text !== text || other.model !== model.name), record];
    this.#listeners.forEach((listener) => listener());
  }

  /** Whether a text has a label. */
  has(text) {
    return this.records.some((record) => record.text === text);
  }

  /** Forget a label that only the page keeps. */
  remove(record) {
    this.records = this.records.filter((other) => other !== record);
    this.#listeners.forEach((listener) => listener());
  }

  /** Download everything as JSONL, which `capsulet train` takes. */
  download() {
    this.isSaved = true;
    download(this.records.map((record) => `${JSON.stringify(row(record))}\n`), 'feedback.jsonl', 'application/x-ndjson');
  }
}

/** A row of the file, in the form that the server writes: `labels` of a multi-label model, `predicted` if it is one label. */
const row = ({ text, label, model, predicted }) => ({
  text, ...(Array.isArray(label) ? { labels: label } : { label }), ...(typeof predicted === 'string' ? { predicted } : {}), model,
});

/** The label or labels of a prediction; null if the model does not know. */
export const predictedLabel = ({ label, labels }) => (labels ? labels.map((given) => given.label) : label);
