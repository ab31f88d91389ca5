/** The view of labelling: the texts of a file that are worth a label, one card per text, and what was given so far. */
import { announce } from './announcement.js';
import { classifyAll, Progress } from './bulk.js';
import { labelChoice } from './choice.js';
import { byId, counted, isolated, labelList, make, percent, visible } from './element.js';
import { predictedLabel } from './feedback.js';

const COUNT = 20, LIKELY = 6;

/** Cards with texts to label. */
export class LabelView {
  #engine; #feedback; #report;
  #model = null;
  #running = null;
  #texts = []; // of the file

  constructor(engine, feedback, report, onFile) {
    [this.#engine, this.#feedback, this.#report] = [engine, feedback, report];
    const choose = make('button', { type: 'button' }, 'Choose a file');
    choose.addEventListener('click', onFile);
    this.save = make('button', { type: 'button', className: 'primary', hidden: true, id: 'save-feedback' }, 'Download the labels');
    this.save.addEventListener('click', () => feedback.download());
    this.again = make('button', { type: 'button', hidden: true, id: 'ask-again' }, `The next ${COUNT} texts`);
    this.again.addEventListener('click', () => this.ask(this.#texts));
    byId('label-actions').append(choose, this.again, this.save);
    byId('label-hint').replaceChildren(
      feedback.isKept ? 'Labels are saved by the server, in the file of --feedback. ' : 'Labels are kept in this page until you download them as JSONL. ',
      'Train again with them and the texts that you had: ', make('code', {}, 'capsulet train old.csv feedback.jsonl --out model'));
    byId('cards').addEventListener('keydown', (event) => this.#press(event));
    feedback.onChange(() => this.#drawGiven());
  }

  /** Ask about answers of this model from now on. */
  use(model) {
    this.#model = model;
    this.#running?.abort();
    this.again.hidden = true;
    byId('cards').replaceChildren();
  }

  /** Show the texts to label next. */
  async ask(texts) {
    this.#running?.abort();
    this.#texts = texts;
    const model = this.#model, open = texts.filter((text) => text.trim() && !this.#feedback.has(text));
    const progress = new Progress(byId('next-progress'), 'Looking for texts', open.length), stop = new AbortController();
    progress.signal.addEventListener('abort', () => stop.abort());
    this.#running = stop;
    byId('cards').replaceChildren();
    try {
      const order = await this.#engine.next(model, open, COUNT, { signal: stop.signal, onProgress: (finished) => progress.show(finished) });
      const chosen = order.map((index) => open[index]);
      const answers = await classifyAll(this.#engine, model, chosen, { signal: stop.signal, topK: LIKELY });
      byId('cards').replaceChildren(...chosen.map((text, index) => this.#card(text, answers[index], model)));
      this.again.hidden = false;
      announce(chosen.length ? `${counted(chosen.length, 'text')} to label` : 'Every text has a label', 100);
    } catch (error) {
      if (error.name !== 'AbortError') this.#report(error);
    } finally {
      if (this.#running === stop) this.#running = null;
      progress.end();
    }
  }

  #card(text, prediction, model) {
    const [guess] = prediction.top;
    const card = make('li', { className: 'card', tabIndex: -1 });
    const written = make('p', { className: 'card-text', dir: 'auto' }, visible(text.trim()));
    const said = make('p', { className: 'hint' }, prediction.label === null ? 'Don’t know; perhaps ' : 'The model says ',
      prediction.labels ? labelList(prediction.labels.map(({ label }) => label), 'no label') : [isolated(guess.label), `, ${percent(guess.probability)}`]);
    card.append(written, said, labelChoice(model, prediction, async (label) => {
        try {
          await this.#feedback.give(text, label, model, predictedLabel(prediction));
        } catch (error) {
          return this.#report(error);
        }
        card.classList.add('done');
        card.replaceChildren(written, make('p', { className: 'saved' }, '✓ ', labelList([label].flat(), 'no label')));
        return this.#advance(card);
      }, { numbered: true }));
    return card;
  }

  /** Move the focus to the next card without a label. */
  #advance(card) {
    const cards = [...byId('cards').children], at = cards.indexOf(card);
    const next = [...cards.slice(at + 1), ...cards.slice(0, at)].find((other) => !other.classList.contains('done'));
    if (next) next.querySelector('button').focus();
    else {
      card.focus();
      announce('All texts have a label', 100);
    }
  }

  /** A digit presses the button with this number in the card that has the focus. */
  #press(event) {
    if (event.target.matches('input') || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return;
    const button = event.target.closest('.card')?.querySelectorAll('.choices button')[Number(event.key) - 1];
    if (button) button.click();
  }

  #drawGiven() {
    const { records, isKept } = this.#feedback;
    this.save.hidden = !records.length || isKept;
    byId('given-heading').hidden = !records.length;
    byId('given').replaceChildren(...records.toReversed().slice(0, 50).map((record) => {
      const item = make('li', {}, make('strong', {}, labelList([record.label].flat(), 'no label')),
        make('span', { className: 'excerpt', dir: 'auto' }, visible(record.text.slice(0, 200).replace(/\s+/g, ' '))));
      if (!isKept) {
        const name = `Remove the label of: ${record.text.slice(0, 60)}`;
        const remove = make('button', { type: 'button', className: 'quiet', 'aria-label': name }, 'Remove');
        remove.addEventListener('click', () => this.#feedback.remove(record));
        item.append(remove);
      }
      return item;
    }));
  }
}
