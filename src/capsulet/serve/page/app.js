/** The page: starts the engine, and connects the views. */
import { announce } from './announcement.js';
import { byId, PageError, visible } from './element.js';
import { makeEngine } from './engine.js';
import { Feedback } from './feedback.js';
import { FileView } from './file_view.js';
import { LabelView } from './label_view.js';
import { ModelPicker } from './model_picker.js';
import { ModelView } from './model_view.js';
import { TokenError } from './server_engine.js';
import { isTable } from './tables.js';
import { wireTabs } from './tabs.js';
import { TextView } from './text_view.js';

const LONGEST_MESSAGE = 600;
const EXPECTED = new Set(['PageError', 'CapsuletError', 'InputError', 'ModelError']); // their messages are for the user
const engine = makeEngine(), feedback = new Feedback(engine);
const tabs = document.querySelector('[role=tablist]'), select = wireTabs(tabs);

/** Show an error; null removes it. */
function report(problem) {
  const place = byId('error');
  place.hidden = !problem;
  if (!problem) return;
  if (!EXPECTED.has(problem.name)) console.error(problem);
  place.textContent = visible(String(problem.message)).slice(0, LONGEST_MESSAGE);
}

let texts, files, labels, models, picker; // the views, after the engine has started

function makeViews() {
  texts = new TextView(engine, feedback, report);
  labels = new LabelView(engine, feedback, report, () => {
    select('view-file');
    byId('file').focus();
  });
  files = new FileView(engine, report, (found) => {
    select('view-label');
    labels.ask(found);
  });
  models = new ModelView(engine, report, tabs);
  picker = new ModelPicker(engine, (chosen) => {
    [texts, files, models].forEach((view) => view.use(chosen));
    labels.use(chosen[0]);
  }, openModel);
  byId('where').textContent = engine.where;
}

/** Show the views with this model. */
function showModel(name) {
  byId('start').hidden = true;
  byId('views').hidden = false;
  picker.choose(name);
}

/** Open a model file; the models that are open stay. */
async function openModel(file) {
  report(null);
  document.body.setAttribute('aria-busy', 'true');
  try {
    const { name } = await engine.open(file);
    showModel(name);
    announce(`${name} is open`, 100);
  } catch (error) {
    report(error);
  } finally {
    document.body.removeAttribute('aria-busy');
  }
}

/** Start the engine; a server may ask for a token first. */
async function start() {
  try {
    await engine.start();
    byId('token-form').hidden = true;
    report(null);
  } catch (error) {
    report(error);
    if (error instanceof TokenError) {
      byId('token-form').hidden = false;
      byId('token').focus();
      return;
    }
  }
  if (!picker) makeViews();
  if (engine.models.length) showModel(engine.models[0].name);
  else byId('start').hidden = !engine.canOpen;
}

byId('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  engine.setToken(byId('token').value);
  start();
});

byId('first-file').addEventListener('change', () => {
  const [picked] = byId('first-file').files;
  byId('first-file').value = '';
  if (picked) openModel(picked);
});

// a model or a file of texts can be dropped anywhere
for (const kind of ['dragenter', 'dragover', 'dragleave', 'drop']) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes('Files')) return; // ignore dragged text
    event.preventDefault(); // otherwise the browser opens the file
    document.body.classList.toggle('dragged', kind === 'dragenter' || kind === 'dragover');
    const dropped = kind === 'drop' && event.dataTransfer.files[0];
    if (!dropped) return;
    if (files && byId('start').hidden && isTable(dropped.name)) {
      select('view-file');
      files.open(dropped);
    } else if (engine.canOpen) openModel(dropped);
    else report(new PageError(`${dropped.name} is not a file of texts: expected CSV, TSV, XLSX, JSONL or TXT`));
  });
}

// labels that nobody has saved would be lost
addEventListener('beforeunload', (event) => !feedback.isSaved && event.preventDefault());

start();
