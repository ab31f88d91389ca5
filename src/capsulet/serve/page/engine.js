/**
 * The engine that answers: the server that sent the page, or WebAssembly in the browser. `data-engine` of the document
 * selects it. Both have the same functions:
 *
 * - `models`: a list of { name, labels, multiLabel, calibrated, bytes, thresholds, report }; `start()` fills it
 * - `answer(model, text, { label, contrast })`: the prediction of a text and the explanation of a label
 * - `classify(model, texts, { topK, signal })`: predictions { label, probability, reason, guess, top, labels }; at most
 *   `batch.texts` texts with `batch.units` UTF-16 units
 * - `longest`: UTF-16 units of a text that `classify` and `answer` read
 * - `next(model, texts, count, options)`: indices of the texts to label next
 * - `card(model)`: Markdown; `report(model)`: the address of a page, or null
 * - `keeps`: whether the engine stores feedback; `give(record)` does
 * - `open(file)`: adds a model (`canOpen`)
 *
 * Places of tokens count UTF-16 units.
 */
import { ServerEngine } from './server_engine.js';
import { WasmEngine } from './wasm_engine.js';

/** The engine for this document. */
export const makeEngine = () => (document.documentElement.dataset.engine === 'wasm' ? new WasmEngine() : new ServerEngine());
