/** Labels for many texts, with progress. */
import { make, whole, wellFormed } from './element.js';

/** Yield parts of a list of texts that are not larger than a batch of the engine, and the index of their first text. */
function* batches(texts, { texts: most, units }) {
  let first = 0, size = 0;
  for (let index = 0; index < texts.length; index++) {
    if (index > first && (index - first === most || size + texts[index].length > units)) {
      yield { first, batch: texts.slice(first, index) };
      [first, size] = [index, 0];
    }
    size += texts[index].length;
  }
  if (first < texts.length) yield { first, batch: texts.slice(first) };
}

/** Predictions of texts, null for blank ones. `onProgress` gets the number of finished texts. */
export async function classifyAll(engine, model, texts, { signal, onProgress, topK } = {}) {
  const answers = Array(texts.length).fill(null);
  const places = [...texts.keys()].filter((place) => texts[place].trim());
  const written = places.map((place) => wellFormed(texts[place].slice(0, engine.longest)));
  for (const { first, batch } of batches(written, engine.batch)) {
    const found = await engine.classify(model, batch, { signal, topK });
    found.forEach((answer, index) => { answers[places[first + index]] = answer; });
    onProgress?.(first + batch.length);
  }
  return answers;
}

/** A progress bar with the time that is left and a button that stops the work. */
export class Progress {
  #bar; #words; #start = performance.now(); #drawn = 0; #stop = new AbortController(); #place;

  constructor(place, label, total) {
    this.#place = place;
    this.#bar = make('progress', { max: total || 1, value: 0, 'aria-label': label });
    this.#words = make('span', { className: 'hint' }, label);
    const stop = make('button', { type: 'button' }, 'Stop');
    stop.addEventListener('click', () => this.#stop.abort());
    place.replaceChildren(this.#bar, this.#words, stop);
    place.hidden = false;
  }

  get signal() {
    return this.#stop.signal;
  }

  /** Show how many of the texts are finished. */
  show(finished) {
    const now = performance.now();
    if (now - this.#drawn < 100 && finished < this.#bar.max) return;
    this.#drawn = now;
    this.#bar.value = finished;
    const left = ((now - this.#start) / Math.max(finished, 1)) * (this.#bar.max - finished) / 1000;
    this.#words.textContent = `${whole(finished)} of ${whole(this.#bar.max)}${left >= 2 ? `, about ${Math.ceil(left)} s left` : ''}`;
  }

  /** Remove the bar. */
  end() {
    this.#place.hidden = true;
    this.#place.replaceChildren();
  }
}
