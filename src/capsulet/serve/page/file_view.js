/** The view of a file: read it, label it, give it back. */
import { announce } from './announcement.js';
import { classifyAll, Progress } from './bulk.js';
import { byId, counted, download, isolated, labelList, make, PageError, percent, visible, whole } from './element.js';
import { agreement, labelCounts, newCells, newColumns, NO_LABEL, NO_TEXT, UNKNOWN } from './labelled.js';
import { body, columnNames, formats, readTable, textColumns, writeTable } from './tables.js';

const SHOWN_ROWS = 20, SHOWN_LABELS = 12, EXCERPT = 160;
const FORMAT_NAMES = { csv: 'CSV', tsv: 'TSV', xlsx: 'XLSX', jsonl: 'JSONL' };

/** A file of texts. */
export class FileView {
  table = null;
  #engine; #report; #onNext;
  #models = [];
  #columns = []; // places of the columns with texts, which are joined by a space
  #running = null; // progress of the current work
  #answers = null; // per model

  /** `onNext` shows what to label next of the file. */
  constructor(engine, report, onNext) {
    [this.#engine, this.#report, this.#onNext] = [engine, report, onNext];
    byId('file').addEventListener('change', () => {
      const [picked] = byId('file').files;
      byId('file').value = ''; // so that the same file can be chosen again after a change
      if (picked) this.open(picked);
    });
  }

  /** Texts of the file. */
  get texts() {
    return this.table ? body(this.table).map((row) => this.#columns.map((place) => row[place] ?? '').join(' ')) : [];
  }

  /** Label with these models from now on. */
  use(models) {
    this.#models = models;
    this.#stop();
    this.#drawOptions();
  }

  /** Read a file; keep the current one if that fails. */
  async open(file) {
    this.#report(null);
    try {
      const table = await readTable(file);
      this.#stop();
      this.table = table;
      this.#columns = textColumns(table);
    } catch (error) {
      return this.#report(error);
    }
    byId('file-prompt').replaceChildren(make('strong', {}, isolated(file.name)));
    this.#drawOptions();
    return announce(`${file.name}: ${counted(this.texts.length, 'text')}`, 100);
  }

  #stop() {
    this.#running?.abort();
    this.#answers = null;
    byId('file-result').hidden = true;
  }

  #drawOptions() {
    const place = byId('file-options');
    place.hidden = !this.table;
    if (!this.table) return;
    const names = columnNames(this.table), { kind, book } = this.table;
    const again = (id) => {
      this.#stop();
      this.#drawOptions();
      byId(id).focus();
    };
    const columns = names.map((name, index) => {
      const box = make('input', { type: 'checkbox', id: `column-${index}`, checked: this.#columns.includes(index) });
      box.addEventListener('change', () => {
        this.#columns = [...names.keys()].filter((place) => (place === index ? box.checked : this.#columns.includes(place)));
        again(box.id);
      });
      return make('label', { className: 'check' }, box, isolated(name));
    });
    const header = make('input', { type: 'checkbox', id: 'header', checked: this.table.hasHeader });
    header.addEventListener('change', () => {
      this.table.hasHeader = header.checked;
      again('header');
    });
    const run = make('button', { type: 'button', className: 'primary', id: 'run' }, `Label ${counted(this.texts.length, 'text')}`);
    run.addEventListener('click', () => this.#label(run));
    const next = make('button', { type: 'button', id: 'ask-next' }, 'What should I label next?');
    next.addEventListener('click', () => this.#onNext(this.texts));
    const example = this.texts.find((text) => text.trim()) ?? '';
    place.replaceChildren(
      make('fieldset', { className: 'columns-choice' }, make('legend', {}, 'Texts are in'), columns),
      make('p', { className: 'row' }, kind === 'jsonl' || kind === 'lines' ? '' : make('label', { className: 'check' }, header, ' the first row has names'),
        book ? make('span', { className: 'hint' }, 'sheet “', isolated(book.sheet), '”') : ''),
      make('p', { className: 'hint excerpt', dir: 'auto' }, example ? `“${excerpt(example)}”` : 'There are no texts in these columns.'),
      make('p', { className: 'row' }, run, next));
    run.disabled = next.disabled = !example;
  }

  async #label(run) {
    this.#stop();
    const texts = this.texts, models = this.#models, work = texts.filter((text) => text.trim()).length;
    const progress = new Progress(byId('file-progress'), 'Labelling', work * models.length), stop = new AbortController();
    progress.signal.addEventListener('abort', () => stop.abort());
    this.#running = stop;
    run.disabled = true;
    try {
      const answers = [];
      for (const [index, model] of models.entries()) {
        answers.push(await classifyAll(this.#engine, model, texts, {
          signal: stop.signal, onProgress: (finished) => progress.show(index * work + finished),
        }));
      }
      this.#answers = answers;
      this.#report(null);
      this.#drawResult(models, texts);
      announce(`${counted(work, 'text')} labelled`, 100);
    } catch (error) {
      if (error.name !== 'AbortError') this.#report(error);
    } finally {
      run.disabled = false;
      if (this.#running === stop) this.#running = null;
      progress.end();
    }
  }

  #drawResult(models, texts) {
    const place = byId('file-result'), isCompared = models.length > 1;
    const same = isCompared && make('p', {}, `The two models give the same answer to ${percent(agreement(...this.#answers))} of the texts.`);
    const cut = texts.filter((text) => text.length > this.#engine.longest).length;
    const note = cut > 0 && make(
      'p', { className: 'hint' }, `Of ${counted(cut, 'long text')}, the first ${whole(this.#engine.longest)} characters were read.`);
    const counts = models.map((model, index) => countsList(isCompared ? model : null, this.#answers[index], texts.length));
    place.replaceChildren(...[
      make('h3', {}, 'Labels'), same, note, make('div', { className: 'columns' }, counts), this.#downloads(models),
      make('h3', { id: 'preview-heading' }, texts.length > SHOWN_ROWS ? `The first ${SHOWN_ROWS} texts` : 'Texts'),
      this.#preview(models, texts),
    ].filter(Boolean));
    place.hidden = false;
  }

  #preview(models, texts) {
    const heads = ['text', ...models.flatMap((model) => [models.length > 1 ? model.name : model.multiLabel ? 'labels' : 'label', 'probability'])];
    const rows = texts.slice(0, SHOWN_ROWS).map((text, row) => make('tr', {},
      make('td', { dir: 'auto', className: 'excerpt' }, excerpt(text)),
      models.flatMap((_, index) => answerCells(this.#answers[index][row]))));
    const isNumber = (place) => place > 0 && place % 2 === 0;
    const head = make('tr', {}, heads.map((name, place) => make('th', { scope: 'col', className: isNumber(place) ? 'number' : '' }, isolated(name))));
    return make('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-labelledby': 'preview-heading' },
      make('table', { className: 'preview' }, make('thead', {}, head), make('tbody', {}, rows)));
  }

  #downloads(models) {
    const choices = formats(this.table);
    const format = make('select', { id: 'format' }, choices.map((kind) => make('option', { value: kind }, FORMAT_NAMES[kind])));
    const guard = make('input', { type: 'checkbox', checked: true, id: 'guard' });
    const title = 'An apostrophe is put before cells that a spreadsheet would run';
    const guardLabel = make('label', { className: 'check', title }, guard, ' guard against formulas');
    const show = () => { guardLabel.hidden = !['csv', 'tsv'].includes(format.value); };
    format.addEventListener('change', show);
    show();
    const save = make('button', { type: 'button', className: 'primary', id: 'save' }, 'Download');
    save.addEventListener('click', async () => {
      try {
        const names = newColumns(models, columnNames(this.table)).flat();
        const added = this.texts.map((_, row) => models.flatMap((model, index) => newCells(model, this.#answers[index][row])));
        const { parts, type, name } = await writeTable(this.table, names, added, format.value, guard.checked);
        download(parts, name, type);
      } catch (error) {
        this.#report(error instanceof PageError ? error : new PageError(`The file cannot be written (${error.message})`));
      }
    });
    return make('p', { className: 'row' }, save, make('label', {}, 'as ', format), guardLabel);
  }
}

/** The beginning of a text on one line. */
function excerpt(text) {
  const line = text.slice(0, 4 * EXCERPT).replace(/\s+/g, ' ').trim();
  return visible(line.length > EXCERPT ? `${[...line].slice(0, EXCERPT).join('')}…` : line);
}

/** Table cells of a prediction. */
function answerCells(answer) {
  if (!answer) return [make('td', { className: 'hint' }, NO_TEXT), make('td')];
  const { label, labels, guess } = answer;
  if (labels) {
    const shares = labels.map(({ probability }) => percent(probability)).join(', ');
    return [make('td', {}, labelList(labels.map((given) => given.label), NO_LABEL)), make('td', { className: 'number' }, shares)];
  }
  const unknown = () => [make('span', { className: 'unknown' }, UNKNOWN), make('span', { className: 'hint' }, ' perhaps ', isolated(guess))];
  return [make('td', {}, label === null ? unknown() : isolated(label)), make('td', { className: 'number' }, percent(answer.probability))];
}

/** How many texts got each label, as bars. */
function countsList(model, answers, total) {
  const counts = labelCounts(answers), rest = counts.slice(SHOWN_LABELS);
  const line = (name, count) => {
    const bar = make('span', { className: 'probability-bar', 'aria-hidden': 'true' }, make('span'));
    bar.style.setProperty('--share', String(count / total));
    return make('li', {}, make('span', { className: 'name' }, isolated(name)), make('span', { className: 'share' }, whole(count)), bar);
  };
  const items = counts.slice(0, SHOWN_LABELS).map(([name, count]) => line(name, count));
  if (rest.length) items.push(line(counted(rest.length, 'more label'), rest.reduce((sum, [, count]) => sum + count, 0)));
  return make('div', {}, model ? make('h4', {}, isolated(model.name)) : null, make('ul', { className: 'counts' }, items));
}
