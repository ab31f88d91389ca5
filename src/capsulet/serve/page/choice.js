/** The choice of the right label of a text: the likely ones as buttons, all others by name. */
import { isolated, make, visible } from './element.js';

const MOST_BUTTONS = 6;
let count = 0; // for ids

/** Suggestions with all labels of a model. */
function suggestions(model) {
  return make('datalist', { id: `labels-${++count}` }, model.labels.map((label) => make('option', { value: label })));
}

/**
 * Make the choice for a text with this prediction; `onGive` gets the label, or the list of labels of a multi-label model.
 * `numbered`: the buttons show the digits that press them. `without`: a label that is known to be wrong.
 */
export function labelChoice(model, prediction, onGive, { numbered = false, without = null } = {}) {
  const likely = prediction.top.map(({ label }) => label).filter((label) => label !== without).slice(0, MOST_BUTTONS);
  const chosen = new Set(model.multiLabel ? prediction.labels?.map(({ label }) => label) : []);
  const buttons = make('span', { className: 'choices', role: 'group', 'aria-label': model.multiLabel ? 'Right labels' : 'Right label' });
  const list = suggestions(model);
  const hint = model.multiLabel ? 'Add a label' : 'Another label';
  const other = make('input', { type: 'text', dir: 'auto', autocomplete: 'off', maxLength: 200, placeholder: hint, 'aria-label': hint });
  other.setAttribute('list', list.id);

  const draw = () => {
    const labels = [...new Set([...likely, ...chosen])];
    const focused = buttons.contains(document.activeElement) ? document.activeElement.value : null;
    buttons.replaceChildren(...labels.map((label, place) => {
      const digit = numbered && place < 9 ? make('kbd', { 'aria-hidden': 'true' }, String(place + 1)) : null;
      const button = make('button', { type: 'button', value: label, className: 'choice' }, digit, isolated(label));
      if (model.multiLabel) button.setAttribute('aria-pressed', String(chosen.has(label)));
      return button;
    }));
    if (focused !== null) [...buttons.children].find(({ value }) => value === focused)?.focus();
  };
  buttons.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if (!model.multiLabel) return void onGive(button.value);
    if (!chosen.delete(button.value)) chosen.add(button.value);
    draw();
  });
  const save = make('button', { className: model.multiLabel ? 'primary' : '' }, 'Save');
  const form = make('form', { className: 'choice-form' }, buttons, make('span', { className: 'other' }, other, list, save));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const typed = visible(other.value.trim());
    if (!model.multiLabel) return void (typed ? onGive(typed) : other.focus());
    if (typed) chosen.add(typed);
    onGive([...chosen]);
  });
  draw();
  return form;
}
