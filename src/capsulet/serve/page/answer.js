/** The answer of one model for the text: what it predicts, every label with its probability, the words, and feedback. */
import { labelChoice } from './choice.js';
import { isolated, labelList, make, percent, visible } from './element.js';
import { predictedLabel } from './feedback.js';
import { markedText, strongestWords } from './words.js';

const MOST_LABELS = 7; // shown at first
const HOVER = 70; // milliseconds that the pointer must rest on a label
export const REASONS = {
  'low confidence': 'The text is unlike the texts of every class.',
  'unknown words': 'The model does not know the words of this text.',
};
let count = 0; // for ids

/** One answer; `root` is its element. */
export class Answer {
  onPoint = () => {}; // called with the label that the user points at, or null
  #engine; #model; #feedback; #report;
  #text = ''; #prediction = null;
  #explanations = new Map(); // by label and contrast, of the current text
  #chosen = null; #pointed = null; #contrast = null; // labels; null: none
  #all = false;
  #turn = 0; // counts texts: answers for older ones are dropped
  #timer;

  /** `report` shows an error. */
  constructor(engine, model, feedback, report) {
    [this.#engine, this.#model, this.#feedback, this.#report] = [engine, model, feedback, report];
    const id = `answer-${++count}`;
    this.heading = make('h2', { className: 'of-model', id }, isolated(model.name));
    this.verdict = make('p', { className: 'verdict' });
    this.note = make('p', { className: 'hint note' });
    this.labels = make('ol', { className: 'labels', 'aria-label': `Labels of ${model.name}` });
    this.more = make('button', { type: 'button', className: 'quiet', hidden: true });
    this.judgement = make('div', { className: 'judgement' });
    this.wordsHeading = make('h3', { id: `${id}-words` });
    this.contrast = make('select', { 'aria-label': 'and not' });
    this.words = make('p', { className: 'words', dir: 'auto', role: 'group', 'aria-labelledby': `${id}-words`, tabIndex: 0 });
    this.legend = make('p', { className: 'legend hint' });
    this.table = make('details', {}, make('summary', {}, 'Contributions of the words'));
    const result = make('div', { className: 'result' }, this.heading, this.verdict, this.note, this.labels, this.more, this.judgement);
    const why = make('div', { className: 'why' }, make('div', { className: 'why-head' }, this.wordsHeading,
      make('label', { className: 'and-not' }, 'and not ', this.contrast)), this.words, this.legend, this.table);
    this.root = make('article', { className: 'answer', 'aria-label': `Answer of ${model.name}`, hidden: true }, result, why);
    this.#listen();
  }

  /** The prediction as a sentence, for screen readers. */
  get sentence() {
    const prediction = this.#prediction, given = prediction?.labels;
    if (!prediction) return '';
    if (given) return given.length ? `Labels: ${given.map(({ label }) => label).join(', ')}` : 'No label reaches its threshold.';
    if (prediction.label === null) return `Don't know. Best guess: ${prediction.guess}, ${percent(prediction.probability)}`;
    return `${prediction.label}, ${percent(prediction.probability)}`;
  }

  /** Answer a text. The last answer stays until the next one is there. */
  async show(text) {
    const own = ++this.#turn;
    this.root.classList.add('waiting');
    try {
      const contrast = this.#contrast === this.#chosen ? undefined : this.#contrast ?? undefined;
      const { prediction, explanation } = await this.#engine.answer(this.#model, text, { label: this.#chosen ?? undefined, contrast });
      if (own !== this.#turn) return false;
      if (explanation.contrast && explanation.contrast.label !== contrast) explanation.contrast = null; // it is the best label
      [this.#text, this.#prediction] = [text, prediction];
      this.#explanations = new Map([[this.#key(explanation.label), explanation]]);
      this.#pointed = null;
      this.#drawVerdict();
      this.#drawLabels();
      this.#drawJudgement();
      this.#drawWords(explanation);
      this.root.hidden = false;
      return true;
    } finally {
      if (own === this.#turn) this.root.classList.remove('waiting');
    }
  }

  /** Show nothing. */
  clear() {
    this.#turn++;
    this.#prediction = null;
    this.root.hidden = true;
  }

  /** Show the words of a label that the user points at in another answer, if this model has it. */
  follow(label) {
    this.#point(this.#model.labels.includes(label) ? label : null);
  }

  get #shownLabel() {
    return this.#pointed ?? this.#chosen ?? this.#prediction.top[0].label;
  }

  /** The label to contrast with; undefined if it is the label itself. */
  #contrastFor(label) {
    return this.#contrast !== null && label !== this.#contrast ? this.#contrast : undefined;
  }

  #key(label) {
    return JSON.stringify([label, this.#contrastFor(label) ?? null]);
  }

  #listen() {
    const labelOf = (event) => event.target.closest?.('button')?.value;
    const rest = (label) => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#point(label);
        this.onPoint(label);
      }, HOVER);
    };
    this.labels.addEventListener('pointerover', (event) => event.pointerType !== 'touch' && labelOf(event) && rest(labelOf(event)));
    this.labels.addEventListener('pointerleave', () => rest(this.labels.querySelector('button:focus-visible')?.value ?? null));
    this.labels.addEventListener('focusin', (event) => event.target.matches(':focus-visible') && rest(labelOf(event)));
    this.labels.addEventListener('focusout', () => rest(null));
    this.labels.addEventListener('click', (event) => {
      const label = labelOf(event);
      if (label === undefined) return;
      this.#chosen = this.#chosen === label ? null : label; // a second press returns to the best label
      this.#point(this.#chosen === null ? null : label);
    });
    this.more.addEventListener('click', () => {
      this.#all = !this.#all;
      this.#drawLabels();
    });
    this.contrast.addEventListener('change', () => {
      this.#contrast = this.contrast.value === '' ? null : this.contrast.value;
      this.#point(this.#pointed);
    });
  }

  /** Show the words of a label; null: those of the chosen or of the best one. */
  async #point(label) {
    clearTimeout(this.#timer);
    if (!this.#prediction) return;
    this.#pointed = label;
    const own = this.#turn, wanted = this.#shownLabel, key = this.#key(wanted);
    this.#markLabels();
    if (!this.#explanations.has(key)) {
      try {
        const { explanation } = await this.#engine.answer(this.#model, this.#text, { label: wanted, contrast: this.#contrastFor(wanted) });
        if (own !== this.#turn) return;
        this.#explanations.set(key, explanation);
      } catch (error) {
        this.#report(error);
        return;
      }
    }
    if (own === this.#turn && key === this.#key(this.#shownLabel)) this.#drawWords(this.#explanations.get(key));
  }

  #drawVerdict() {
    const { label, probability, reason, guess, labels } = this.#prediction;
    this.root.classList.toggle('unsure', label === null && !labels);
    if (labels) {
      const names = make('strong', {}, labelList(labels.map((given) => given.label), 'No label'));
      this.verdict.replaceChildren(names, labels.length ? '' : ' reaches its threshold');
      this.note.textContent = '';
    } else if (label === null) {
      this.verdict.replaceChildren(make('strong', {}, 'Don’t know'));
      this.note.replaceChildren(`${REASONS[reason] ?? reason} Best guess: `, isolated(guess), `, ${percent(probability)}.`);
    } else {
      this.verdict.replaceChildren(make('strong', {}, isolated(label)), ' ', make('span', { className: 'share' }, percent(probability)));
      this.note.textContent = '';
    }
    if (!this.#model.calibrated) this.note.append(' The probabilities are not calibrated: use them to rank labels.');
    this.note.hidden = !this.note.textContent;
  }

  #drawLabels() {
    const { top, labels: given } = this.#prediction;
    const names = new Set(given?.map(({ label }) => label));
    const shown = this.#all ? top : top.filter(({ label }, place) => place < MOST_LABELS || label === this.#chosen || names.has(label));
    const focused = this.labels.contains(document.activeElement) ? document.activeElement.value : null;
    this.labels.replaceChildren(...shown.map(({ label, probability }) => make('li', {}, this.#labelButton(label, probability, given && names.has(label)))));
    // keep the keyboard focus in the new list
    if (focused !== null) [...this.labels.querySelectorAll('button')].find((button) => button.value === focused)?.focus();
    this.more.hidden = top.length <= MOST_LABELS;
    this.more.textContent = this.#all ? 'Show fewer labels' : `Show all ${top.length} labels`;
    this.more.setAttribute('aria-expanded', String(this.#all));
    this.#markLabels();
  }

  #labelButton(label, probability, isGiven) {
    const bar = make('span', { className: 'probability-bar', 'aria-hidden': 'true' }, make('span'));
    bar.style.setProperty('--share', String(Math.min(Math.max(probability, 0), 1)));
    const threshold = this.#model.thresholds?.[this.#model.labels.indexOf(label)];
    if (threshold !== undefined) {
      bar.append(make('i'));
      bar.style.setProperty('--threshold', String(threshold));
    }
    const button = make('button', { type: 'button', value: label, className: isGiven ? 'given' : '' },
      make('span', { className: 'name' }, isGiven ? make('span', { 'aria-label': 'given: ', role: 'img' }, '✓ ') : null, isolated(label)),
      make('span', { className: 'share' }, percent(probability)), bar);
    return button;
  }

  /** Mark the chosen label, and the one whose words are shown. */
  #markLabels() {
    for (const button of this.labels.querySelectorAll('button')) {
      button.setAttribute('aria-pressed', String(button.value === this.#chosen));
      button.classList.toggle('shown', button.value === this.#shownLabel);
    }
  }

  #drawWords(explanation) {
    const { contrast } = explanation, tokens = contrast?.tokens ?? explanation.tokens;
    const others = this.#prediction.top.filter(({ label }) => label !== explanation.label);
    this.contrast.replaceChildren(make('option', { value: '' }, '…'), ...others.map(({ label }) => make('option', { value: label }, visible(label))));
    this.contrast.value = contrast?.label ?? '';
    this.contrast.parentElement.hidden = !others.length;
    this.wordsHeading.replaceChildren('Why “', isolated(explanation.label), '”');
    this.words.replaceChildren(...markedText(this.#text, tokens));
    const mark = (kind, ...content) => make('mark', { className: kind }, ...content);
    this.legend.replaceChildren(
      mark('for', 'for ', isolated(explanation.label)), ' ',
      contrast ? mark('against', 'for ', isolated(contrast.label)) : mark('against', 'against it'));
    const isOpen = this.table.open, sum = contrast ? explanation.sum - contrast.sum : explanation.sum;
    const caption = contrast ? `Contributions to ${explanation.label} minus those to ${contrast.label}` : `Contributions to ${explanation.label}`;
    this.table.replaceChildren(this.table.firstChild, strongestWords(tokens, sum, caption));
    this.table.open = isOpen;
  }

  /** Ask whether the answer is right. */
  #drawJudgement() {
    const prediction = this.#prediction, text = this.#text;
    const give = async (label) => {
      try {
        await this.#feedback.give(text, label, this.#model, predictedLabel(prediction));
      } catch (error) {
        return this.#report(error);
      }
      const saved = make('p', { tabIndex: -1, className: 'saved' }, '✓ Saved as ', labelList([label].flat(), 'a text without labels'));
      this.judgement.replaceChildren(saved);
      return saved.focus();
    };
    const right = make('button', { type: 'button' }, 'Right');
    const wrong = make('button', { type: 'button', 'aria-expanded': 'false' }, 'Wrong');
    const knows = prediction.labels || prediction.label !== null;
    right.addEventListener('click', () => give(predictedLabel(prediction)));
    wrong.addEventListener('click', () => {
      const isOpen = wrong.getAttribute('aria-expanded') === 'true';
      wrong.setAttribute('aria-expanded', String(!isOpen));
      this.judgement.querySelector('form')?.remove();
      if (isOpen) return;
      const choice = labelChoice(this.#model, prediction, give, { without: prediction.labels ? null : prediction.label });
      this.judgement.append(choice);
      choice.querySelector('button, input').focus();
    });
    if (!knows) wrong.textContent = 'Give the label';
    const question = make('span', { className: 'hint' }, knows ? 'Is this right?' : 'Do you know it?');
    this.judgement.replaceChildren(make('p', { className: 'row' }, question, knows ? right : null, wrong));
  }
}
