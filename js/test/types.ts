/** Calls with the types of index.d.ts: `npm run types` checks them. */
import { Classifier, InputError, load, ModelError, type Prediction } from '../src/index.js';

const model: Classifier = await load(new Uint8Array(3), { precision: 'float32' });
const [first]: Prediction[] = await model.predict(['a'], { topK: 3, abstain: true, coverage: 0.9, sets: 0.8 });
const label: string | null = first.label;
const { tokens, contrast } = await model.explain('a', { label: model.labels[0], contrast: model.labels[1] });
const sums: number = tokens[0].contribution + (contrast?.tokens[0].contribution ?? 0);
for await (const { probability, reason } of model.predictStream(['a', 'b'])) console.log(label, sums, probability, reason);
const [{ length, top }] = await model.predict(['a'], { lengths: true });
console.log(length + top[0].length);
// @ts-expect-error: class lengths instead of probabilities
console.log(top[0].probability);
await load(fetch('model.safetensors')).catch((error) => error instanceof ModelError || error instanceof InputError);
// @ts-expect-error: one text is not a list of texts
await model.predict(3);
// @ts-expect-error: unknown precision
await load('model.safetensors', { precision: 'int4' });
