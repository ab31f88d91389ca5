/** `node bench/chromium.js MODEL.safetensors TEXTS.json OUT.json COUNT`: run measure.js in a headless Chromium. */
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { launch } from '../test/chromium.js';
import { serve } from '../test/server.js';

const [model, texts, out, alone] = process.argv.slice(2).map((word, place) => (place < 3 ? resolve(word) : word));
const root = join(import.meta.dirname, '..');
const server = await serve({
  '': join(root, 'dist'), bench: join(root, 'bench'), model: dirname(model), texts: dirname(texts),
});
const browser = await launch();
try {
  const page = await browser.newPage();
  await page.goto(server.address);
  const found = await page.evaluate(async ([modelName, textsName, count]) => {
    const { load } = await import('/src/index.js');
    const { measure } = await import('/bench/measure.js');
    return measure(load, `/model/${modelName}`, await (await fetch(`/texts/${textsName}`)).json(), count);
  }, [encodeURIComponent(model.split('/').at(-1)), texts.split('/').at(-1), Number(alone)]);
  writeFileSync(out, JSON.stringify({ ...found, version: browser.version() }));
} finally {
  await browser.close();
  server.close();
}
