/** The page: choose a model, type a text, see its labels and the contributions of its words. */
import { CapsuletError, load } from '../src/index.js';

const MAX_LABELS = 8, MAX_WORDS = 8; // shown at first
const MIN_STRENGTH = 0.15; // relative to the strongest word: weaker words are not marked
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const PAUSE = 120; // milliseconds after the last key before the text is read

const element = (id) => document.getElementById(id);
const [drop, prompt, file, status, error] = ['drop', 'prompt', 'file', 'model-status', 'error'].map(element);
const [text, answer, labels, more, verdict] = ['text', 'answer', 'labels', 'more', 'verdict'].map(element);
const [announcement, words, strongest] = ['announcement', 'words', 'strongest'].map(element);

/** @type {import('../src/index.js').Classifier | null} */
let model = null;
let chosen = null; // explained label; null: the best one
let all = false; // show every label
let turn = 0, opening = 0; // counters: answers for an older text or file are dropped

/** Create an element with this content and these properties. */
function make(kind, content = '', properties = {}) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(content);
  return made;
}

/** A text with controls of direction and other control characters as escapes, so that they cannot reorder the page. */
const visible = (shown) => shown.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A label or a word in its own direction, from left to right or from right to left. */
const isolated = (shown) => make('bdi', visible(shown));

function showError(problem) {
  if (!(problem instanceof CapsuletError)) console.error(problem);
  error.textContent = visible(problem.message);
  error.hidden = false;
}

/** Load a model; keep the current one if that fails. */
async function open(source, name) {
  const own = ++opening;
  error.hidden = true;
  status.replaceChildren('Loading ', isolated(name), ' …');
  document.body.setAttribute('aria-busy', 'true');
  try {
    const loaded = await load(source);
    if (own !== opening) return await loaded.close();
    const old = model;
    [model, chosen, all] = [loaded, null, false];
    element('text-section').hidden = false;
    element('meaning').textContent = meaning(model);
    prompt.replaceChildren(make('strong', isolated(name.split('/').at(-1))));
    await show();
    await old?.close();
  } catch (problem) {
    if (own === opening) showError(problem);
  } finally {
    if (own === opening) {
      status.textContent = model ? describe(model) : 'No model is loaded.';
      document.body.removeAttribute('aria-busy');
    }
  }
}

/** Explanation of the numbers. */
function meaning({ calibrated, multiLabel }) {
  const words = calibrated ? 'The numbers are calibrated probabilities.' : 'The numbers are probabilities that are not calibrated.';
  return multiLabel ? `${words} A text gets every label whose probability reaches its threshold, the line in its bar.` : words;
}

function describe({ size, labels, wordCount, hasNetwork }) {
  const bytes = size < 1e6 ? `${Math.round(size / 1e3)} KB` : `${(size / 1e6).toFixed(1)} MB`;
  const network = hasNetwork ? '' : ', n-gram features only, no network';
  return `${bytes}, ${labels.length} labels, ${wordCount.toLocaleString('en')} words${network}`;
}

/** Predict the text and show labels and words. */
async function show() {
  const own = ++turn, read = text.value;
  answer.hidden = !model || !read.trim();
  if (answer.hidden) return;
  try {
    const [{ top, labels: predicted }] = await model.predict([read], { topK: model.labels.length });
    const explanation = await model.explain(read, { label: chosen ?? top[0].label });
    if (own !== turn) return;
    error.hidden = true;
    showLabels(top, predicted, explanation.label);
    showWords(read, explanation);
  } catch (problem) {
    if (own !== turn) return;
    answer.hidden = true;
    showError(problem);
  }
}

function showLabels(top, predicted, explained) {
  const names = new Set(predicted?.map(({ label }) => label));
  const shown = all ? top : top.filter(({ label }, place) => place < MAX_LABELS || label === explained || names.has(label));
  const focused = labels.contains(document.activeElement) ? document.activeElement.value : null;
  labels.replaceChildren(...shown.map(({ label, probability }) => {
    const button = make('button', '', { type: 'button', value: label });
    button.setAttribute('aria-pressed', String(label === explained));
    const bar = make('span', make('span'), { className: 'bar' });
    bar.setAttribute('aria-hidden', 'true');
    bar.style.setProperty('--probability', String(Math.min(Math.max(probability, 0), 1)));
    if (predicted) {
      button.classList.toggle('predicted', names.has(label));
      bar.append(make('i'));
      bar.style.setProperty('--threshold', String(model.probabilityThresholds[model.labels.indexOf(label)]));
    }
    button.append(make('span', isolated(label), { className: 'name' }), make('span', probability.toFixed(3), { className: 'probability' }), bar);
    return make('li', button);
  }));
  // keep the keyboard focus in the new list
  [...labels.querySelectorAll('button')].find((button) => button.value === focused)?.focus();
  more.hidden = top.length <= MAX_LABELS;
  more.textContent = all ? 'Show fewer labels' : `Show all ${top.length} labels`;
  more.setAttribute('aria-expanded', String(all));
  verdict.hidden = !predicted;
  const given = [...names].flatMap((label, place) => [place ? ', ' : 'Labels: ', isolated(label)]);
  verdict.replaceChildren(...(names.size ? given : ['No label reaches its threshold.']));
  announcement.textContent = predicted ? verdict.textContent : `${top[0].label}, probability ${top[0].probability.toFixed(2)}`;
}

function showWords(read, { label, lengthBeforeSquash, tokens }) {
  element('words-heading').replaceChildren('Words for “', isolated(label), '”');
  const largest = Math.max(...tokens.map(({ contribution }) => Math.abs(contribution))) || 1;
  const pieces = [];
  let at = 0;
  for (const { start, end, contribution } of tokens) {
    const strength = Math.abs(contribution) / largest;
    if (strength < MIN_STRENGTH || end <= at) continue; // one character may be two tokens: show it once
    const mark = make('mark', visible(read.slice(start, end)), {
      className: contribution > 0 ? 'for' : 'against', title: signed(contribution),
    });
    mark.style.setProperty('--strength', strength.toFixed(3));
    pieces.push(visible(read.slice(at, start)), mark);
    at = end;
  }
  words.replaceChildren(...pieces, visible(read.slice(at)));

  const ranked = tokens.toSorted((one, other) => Math.abs(other.contribution) - Math.abs(one.contribution));
  const rows = ranked.slice(0, MAX_WORDS).map((token) => row(token.text || '(no word)', signed(token.contribution)));
  const rest = ranked.slice(MAX_WORDS);
  if (rest.length) rows.push(row(`${rest.length} more`, signed(rest.reduce((sum, token) => sum + token.contribution, 0))));
  strongest.tBodies[0].replaceChildren(...rows);
  strongest.tFoot.replaceChildren(row('sum', signed(lengthBeforeSquash)));
}

const signed = (number) => `${number < 0 ? '−' : '+'}${Math.abs(number).toFixed(3)}`;

function row(word, number) {
  const made = make('tr', make('th', isolated(word), { scope: 'row' }));
  made.append(make('td', number));
  return made;
}

file.addEventListener('change', () => {
  const [picked] = file.files;
  file.value = ''; // so that the same file can be chosen again after a change
  if (picked) open(picked, picked.name);
});

for (const kind of ['dragenter', 'dragover', 'dragleave', 'drop']) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes('Files')) return; // ignore dragged text
    event.preventDefault(); // otherwise the browser opens the file
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
  chosen = button.getAttribute('aria-pressed') === 'true' ? null : button.value; // a second click returns to the best label
  show();
});

more.addEventListener('click', () => {
  all = !all;
  show();
});

// index.html?model=FILE.safetensors opens a file in the same folder
const beside = new URLSearchParams(location.search).get('model');
if (beside) open(new URL(beside, location.href), beside);
