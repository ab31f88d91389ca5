/** The view of the models: their sizes, their cards and their reports. */
import { byId, bytesShown, isolated, make, whole } from './element.js';
import { markdown } from './markdown.js';

/** Cards of one or two models. */
export class ModelView {
  #engine; #report;
  #models = [];
  #turn = 0;

  /** `tabs` tells when the view is opened: cards are read then. */
  constructor(engine, report, tabs) {
    [this.#engine, this.#report] = [engine, report];
    tabs.addEventListener('view', () => this.#draw());
  }

  /** Show these models. */
  use(models) {
    this.#models = models;
    this.#draw();
  }

  async #draw() {
    if (byId('view-model').hidden) return;
    const own = ++this.#turn;
    try {
      const articles = await Promise.all(this.#models.map((model) => this.#article(model)));
      if (own === this.#turn) byId('cards-of-models').replaceChildren(...articles);
    } catch (error) {
      if (own === this.#turn) this.#report(error);
    }
  }

  async #article(model) {
    const [card, report] = await Promise.all([this.#engine.card(model), this.#engine.report(model)]);
    const fact = (name, value) => make('div', {}, make('dt', {}, name), make('dd', {}, value));
    const link = report && make('p', {}, make('a', {
      href: report, target: '_blank', rel: 'noopener', ...(report.startsWith('blob:') ? { download: `${model.name}-report.html` } : {}),
    }, 'Report of the training'));
    return make('article', { className: 'model-card', 'aria-label': model.name },
      make('h3', {}, isolated(model.name)),
      make('dl', { className: 'tiles' }, fact('size', bytesShown(model.bytes)), fact('labels', whole(model.labels.length)),
        fact('labels per text', model.multiLabel ? 'any number' : 'one'), fact('calibrated', model.calibrated ? 'yes' : 'no')),
      link, card ? markdown(card, 4) : make('p', { className: 'hint' }, 'This model has no card.'));
  }
}
