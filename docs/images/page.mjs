/** Take a picture of the page with a model and a text: node page.mjs MODEL TEXT PICTURE. */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch } from '../../js/test/chromium.js';

const [model, text, picture] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1000, height: 700 }, deviceScaleFactor: 2, reducedMotion: 'reduce' });
await page.goto(pathToFileURL(fileURLToPath(new URL('../../js/dist/capsulet.html', import.meta.url))).href);
await page.setInputFiles('#first-file', model);
await page.waitForSelector('#views:visible');
await page.fill('#text', text);
await page.waitForSelector('.words mark');
await page.$eval('#text', (area) => area.blur());
await page.screenshot({ path: picture });
await browser.close();
