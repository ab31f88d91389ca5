/** The choice of the model, of a second one to compare with, and of a file to open. */
import { byId, make } from './element.js';

/** The controls in the header. */
export class ModelPicker {
  #engine; #onChange; #onOpen;
  #names = ['', '']; // of the model and of the one to compare with; empty: none

  /** `onChange` gets the chosen models, `onOpen` a model file. */
  constructor(engine, onChange, onOpen) {
    [this.#engine, this.#onChange, this.#onOpen] = [engine, onChange, onOpen];
  }

  /** Choose a model, and keep the other one where it can stay. */
  choose(name, compared = this.#names[1]) {
    this.#names = [name, compared === name ? '' : compared];
    this.#draw();
    const models = this.#names.filter(Boolean).map((chosen) => this.#engine.models.find((model) => model.name === chosen));
    this.#onChange(models);
  }

  #draw() {
    const { models, canOpen } = this.#engine, [name, compared] = this.#names;
    const select = (id, label, value, options, onPick) => {
      const made = make('select', { id }, options.map(([option, shown]) => make('option', { value: option }, shown)));
      made.value = value;
      made.addEventListener('change', () => {
        onPick(made.value);
        byId(id).focus();
      });
      return make('label', {}, make('span', {}, label), made);
    };
    const names = models.map((model) => [model.name, model.name]);
    const parts = [select('model', 'Model', name, names, (picked) => this.choose(picked))];
    if (models.length > 1) {
      const others = [['', 'none'], ...names.filter(([other]) => other !== name)];
      parts.push(select('compare', 'Compare with', compared, others, (picked) => this.choose(this.#names[0], picked)));
    }
    if (canOpen) parts.push(this.#opener());
    byId('models').replaceChildren(...parts);
    byId('models').hidden = false;
  }

  #opener() {
    const file = make('input', { type: 'file', id: 'model-file', className: 'unseen', accept: '.safetensors' });
    file.addEventListener('change', () => {
      const [picked] = file.files;
      file.value = '';
      if (picked) this.#onOpen(picked);
    });
    return make('label', { className: 'button open' }, 'Open another', file);
  }
}
