/** The view of one text: answers of one or two models while the user types. */
import { announce } from './announcement.js';
import { Answer } from './answer.js';
import { byId, wellFormed, whole } from './element.js';

const PAUSE = 120; // milliseconds after the last key before the text is read
const LONGEST = 20_000; // characters that are read while typing

/** The text, and the answers to it. */
export class TextView {
  #answers = [];
  #timer;
  #report;
  #engine;
  #feedback;

  constructor(engine, feedback, report) {
    [this.#engine, this.#feedback, this.#report] = [engine, feedback, report];
    byId('text').addEventListener('input', () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.show(), PAUSE);
    });
  }

  /** Answer with these models from now on. */
  use(models) {
    this.#answers.forEach(({ root }) => root.remove());
    this.#answers = models.map((model) => new Answer(this.#engine, model, this.#feedback, this.#report));
    for (const answer of this.#answers) { // a label is pointed at in both answers
      answer.onPoint = (label) => this.#answers.filter((other) => other !== answer).forEach((other) => other.follow(label));
    }
    byId('answers').append(...this.#answers.map(({ root }) => root));
    byId('answers').classList.toggle('compared', models.length > 1);
    this.show();
  }

  /** Answer the text. */
  async show() {
    const longest = Math.min(LONGEST, this.#engine.longest);
    const written = byId('text').value, text = wellFormed(written.slice(0, longest));
    byId('text-hint').textContent = written.length > longest
      ? `The first ${whole(longest)} characters are read.`
      : text.trim() ? 'Point at a label, or press it, to see the words that count for and against it.' : 'Answers appear as you type.';
    if (!text.trim()) return this.#answers.forEach((answer) => answer.clear());
    try {
      const shown = await Promise.all(this.#answers.map((answer) => answer.show(text)));
      if (!shown.every(Boolean)) return;
      this.#report(null);
      const isCompared = this.#answers.length > 1;
      announce(this.#answers.map(({ sentence, heading }) => (isCompared ? `${heading.textContent}: ${sentence}` : sentence)).join('. '));
    } catch (error) {
      this.#report(error);
    }
  }
}
