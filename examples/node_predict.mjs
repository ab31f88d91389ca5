// Label texts in Node with the package of js/ and nothing else.
//
//     make wasm && node examples/node_predict.mjs MODEL TEXT...

import { load } from '../js/src/index.js'; // after `npm install` of the package: from 'capsulet'

const [path, ...texts] = process.argv.slice(2);
try {
  const model = await load(path);
  const predictions = await model.predict(texts, { lengths: true });
  predictions.forEach(({ label, length }, row) => console.log(`${label}\t${length.toFixed(6)}\t${texts[row]}`));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
