/** Small text classifiers in the browser: `const model = await load(source); await model.predict(texts)`. */
export { Classifier, load } from './classifier.js';
export { CapsuletError, InputError, ModelError } from './errors.js';
