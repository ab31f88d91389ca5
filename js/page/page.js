/** The page: a model file, a text, its labels and the words that decided. */
import { CapsuletError, load } from '../src/index.js';

const FEW_LABELS = 8, MOST_WORDS = 8;
const FAINTEST = 0.15; // of the strongest word: what is weaker is not marked
const PAUSE = 120; // milliseconds without a key before the text is read

const element = (id) => document.getElementById(id);
const [drop, prompt, file, status, error] = ['drop', 'prompt', 'file', 'model-status', 'error'].map(element);
const [text, answer, labels, more, verdict] = ['text', 'answer', 'labels', 'more', 'verdict'].map(element);
const [said, words, strongest] = ['said', 'words', 'strongest'].map(element);

/** @type {import('../src/index.js').Classifier | null} */
let model = null;
let chosen = null; // the label that is explained; null: the best one
let all = false; // every label is shown
let turn = 0, opening = 0; // an answer to an older text, or from an older file, comes too late

/** A new element with this text, class and properties. */
function make(kind, content = '', properties = {}) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(content);
  return made;
}

function say(problem) {
  if (!(problem instanceof CapsuletError)) console.error(problem);
  error.textContent = problem.message;
  error.hidden = false;
}

/** Load a model; the one that is there stays if that fails. */
async function open(source, name) {
  const own = ++opening;
  error.hidden = true;
  status.textContent = `Loading ${name} …`;
  document.body.setAttribute('aria-busy', 'true');
  try {
    const loaded = await load(source);
    if (own !== opening) return await loaded.close();
    const old = model;
    [model, chosen, all] = [loaded, null, false];
    element('text-section').hidden = false;
    element('meaning').textContent = meaning(model);
    prompt.replaceChildren(make('strong', name.split('/').at(-1)));
    await show();
    await old?.close();
  } catch (problem) {
    if (own === opening) say(problem);
  } finally {
    if (own === opening) {
      status.textContent = model ? describe(model) : 'No model is loaded.';
      document.body.removeAttribute('aria-busy');
    }
  }
}

/** What scores are, for people. */
function meaning({ calibration, multiLabel }) {
  const words = calibration ? 'Scores are calibrated probabilities.' : 'Scores are the lengths of the class capsules, 0 to 1.';
  return multiLabel ? `${words} A text is given each label whose score reaches the line in its bar, or none.` : words;
}

function describe({ size, labels, session }) {
  const bytes = size < 1e6 ? `${Math.round(size / 1e3)} KB` : `${(size / 1e6).toFixed(1)} MB`;
  const known = [...session.tokenizer.vocabulary.keys()].filter((word) => !/^\[[A-Z]+\]$/.test(word)); // [UNK], [PAD]
  return `${bytes}, ${labels.length} labels, ${known.length.toLocaleString('en')} words`;
}

/** Read the text and show labels and words. */
async function show() {
  const own = ++turn, read = text.value;
  answer.hidden = !model || !read.trim();
  if (answer.hidden) return;
  try {
    const [{ top, labels: given }] = await model.predict([read], { topK: model.labels.length });
    const explanation = await model.explain(read, { label: chosen ?? top[0].label });
    if (own !== turn) return;
    error.hidden = true;
    showLabels(top, given, explanation.label);
    showWords(read, explanation);
  } catch (problem) {
    if (own !== turn) return;
    answer.hidden = true;
    say(problem);
  }
}

function showLabels(top, given, explained) {
  const names = new Set(given?.map(({ label }) => label));
  const shown = all ? top : top.filter(({ label }, place) => place < FEW_LABELS || label === explained || names.has(label));
  const focused = labels.contains(document.activeElement) ? document.activeElement.value : null;
  labels.replaceChildren(...shown.map(({ label, score }) => {
    const button = make('button', '', { type: 'button', value: label });
    button.setAttribute('aria-pressed', String(label === explained));
    const bar = make('span', make('span'), { className: 'bar' });
    bar.setAttribute('aria-hidden', 'true');
    bar.style.setProperty('--score', String(Math.min(Math.max(score, 0), 1)));
    if (given) {
      button.classList.toggle('given', names.has(label));
      bar.append(make('i'));
      bar.style.setProperty('--threshold', String(model.scoreThresholds[model.labels.indexOf(label)]));
    }
    button.append(make('span', label, { className: 'name' }), make('span', score.toFixed(3), { className: 'score' }), bar);
    return make('li', button);
  }));
  // the list is new, the keyboard stays where it was
  [...labels.querySelectorAll('button')].find((button) => button.value === focused)?.focus();
  more.hidden = top.length <= FEW_LABELS;
  more.textContent = all ? 'Show fewer labels' : `Show all ${top.length} labels`;
  more.setAttribute('aria-expanded', String(all));
  verdict.hidden = !given;
  verdict.textContent = names.size ? `Given: ${[...names].join(', ')}` : 'No label reaches its line.';
  said.textContent = given ? verdict.textContent : `${top[0].label}, score ${top[0].score.toFixed(2)}`;
}

function showWords(read, { label, lengthBeforeSquash, tokens }) {
  element('words-heading').textContent = `Words for “${label}”`;
  const largest = Math.max(...tokens.map(({ contribution }) => Math.abs(contribution))) || 1;
  const pieces = [];
  let at = 0;
  for (const { start, end, contribution } of tokens) {
    const strength = Math.abs(contribution) / largest;
    if (strength < FAINTEST || end <= at) continue; // one character may be two tokens: it is shown once
    const mark = make('mark', read.slice(start, end), {
      className: contribution > 0 ? 'for' : 'against', title: signed(contribution),
    });
    mark.style.setProperty('--strength', strength.toFixed(3));
    pieces.push(read.slice(at, start), mark);
    at = end;
  }
  words.replaceChildren(...pieces, read.slice(at));

  const ranked = tokens.toSorted((one, other) => Math.abs(other.contribution) - Math.abs(one.contribution));
  const rows = ranked.slice(0, MOST_WORDS).map((token) => row(token.text || '(no word)', signed(token.contribution)));
  const rest = ranked.slice(MOST_WORDS);
  if (rest.length) rows.push(row(`${rest.length} more`, signed(rest.reduce((sum, token) => sum + token.contribution, 0))));
  strongest.tBodies[0].replaceChildren(...rows);
  strongest.tFoot.replaceChildren(row('all together', signed(lengthBeforeSquash)));
}

const signed = (number) => `${number < 0 ? '−' : '+'}${Math.abs(number).toFixed(3)}`;

function row(word, number) {
  const made = make('tr', make('th', word, { scope: 'row' }));
  made.append(make('td', number));
  return made;
}

file.addEventListener('change', () => {
  const [picked] = file.files;
  file.value = ''; // the same file may be picked again, when it has changed
  if (picked) open(picked, picked.name);
});

for (const kind of ['dragenter', 'dragover', 'dragleave', 'drop']) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes('Files')) return; // a piece of text that moves is none of ours
    event.preventDefault(); // the browser would leave the page for the file
    drop.classList.toggle('over', kind === 'dragenter' || kind === 'dragover');
    const dropped = kind === 'drop' && event.dataTransfer.files[0];
    if (dropped) open(dropped, dropped.name);
  });
}

let pause;
text.addEventListener('input', () => {
  clearTimeout(pause);
  pause = setTimeout(show, PAUSE);
});

labels.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  chosen = button.getAttribute('aria-pressed') === 'true' ? null : button.value; // once more: back to the best one
  show();
});

more.addEventListener('click', () => {
  all = !all;
  show();
});

// index.html?model=FILE.onnx opens a file that lies beside the page
const beside = new URLSearchParams(location.search).get('model');
if (beside) open(new URL(beside, location.href), beside);
