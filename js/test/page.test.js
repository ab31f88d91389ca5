/** The page and the package in Chromium. $CAPSULET_PICTURES: folder for screenshots of the page. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from './chromium.js';
import { folder, names, skip } from './expected.js';
import { serve } from './server.js';

const pictures = process.env.CAPSULET_PICTURES;
const TEXT = 'The home team won the match after extra time 👍🏽\nand the bank raised interest rates.';
let server, browser;
const requests = [], problems = [];

before(async () => {
  if (skip) return;
  const root = join(import.meta.dirname, '..');
  server = await serve({ '': join(root, 'dist'), expected: folder, test: join(root, 'test') });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Open a page; its requests and errors are recorded. */
async function open(path = '', options = {}) {
  const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
  page.setDefaultTimeout(100_000); // for busy machines
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await page.goto(server.address + path);
  return page;
}

async function write(page, text) {
  await page.fill('#text', text);
  await page.waitForSelector('#labels button');
}

const picture = (page, name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
const wrong = (name, content) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
const best = (page) => page.textContent('#labels button .name');
const marked = (page) => page.$$eval('#words mark', (marks) => marks.map((mark) => mark.textContent));

test('answers as in Python', { skip }, async () => {
  const page = await open();
  const found = await page.evaluate(async (models) => {
    const { load } = await import('/src/index.js');
    const { compareAnswers, compareTokens } = await import('/test/parity.js');
    const read = async (name) => (await fetch(`/expected/${name}`)).json();
    const results = [];
    for (const name of models) {
      for (const precision of ['int8', 'float32']) {
        const model = await load(`/expected/${name}.safetensors`, { precision });
        results.push(await compareAnswers(model, await read(`${name}-${precision}.json`)));
        if (name === 'model') results.push(await compareTokens(model, (await read('tokens.json')).cases));
        await model.close();
      }
    }
    return results.map(({ differences, compared }) => ({ differences, compared }));
  }, names);
  assert.equal(found.length, 2 * names.length + 2);
  for (const { differences, compared } of found) {
    assert.deepEqual(differences, []);
    assert.ok(compared > 2000);
  }
  await page.close();
});

test('a file is picked, a text typed, a label chosen', { skip }, async () => {
  const page = await open('', { viewport: { width: 1100, height: 900 } });
  await picture(page, 'empty');
  assert.ok(await page.isHidden('#text-section'));
  await page.setInputFiles('#file', join(folder, 'compressed.safetensors'));
  await page.waitForSelector('#text-section:visible');
  assert.match(await page.textContent('#model-status'), /^[\d.]+ [KM]B, \d+ labels, [\d,]+ words$/);
  await write(page, TEXT);
  assert.equal(await page.textContent('#words'), TEXT);
  assert.equal(await page.getAttribute('#labels button >> nth=0', 'aria-pressed'), 'true');
  const [first, second] = await page.$$eval('#labels .bar span', (bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  assert.ok(first > second && second > 0);
  assert.ok((await marked(page)).length > 3);
  await picture(page, 'wide');

  const before = await page.$$eval('#words mark', (marks) => marks.map((mark) => mark.title));
  await page.click('#labels button >> nth=1');
  await page.waitForSelector('#labels li:nth-child(2) button[aria-pressed=true]');
  assert.notDeepEqual(await page.$$eval('#words mark', (marks) => marks.map((mark) => mark.title)), before);
  const name = await page.textContent('#labels button >> nth=1 >> .name');
  assert.ok((await page.textContent('#words-heading')).includes(name));

  await page.fill('#text', '');
  await page.waitForSelector('#answer', { state: 'hidden' });
  await page.close();
});

test('predicted labels are marked, also if there are none', { skip }, async () => {
  const page = await open('?model=expected/sets.safetensors', { viewport: { width: 500, height: 800 } });
  await page.waitForSelector('#text-section:visible');
  const predicted = () => page.$$eval('#labels .predicted .name', (names) => names.map((name) => name.textContent).sort());
  await write(page, 'The home team won the match and its shares rose');
  assert.deepEqual(await predicted(), ['money', 'sport']);
  assert.match(await page.textContent('#verdict'), /^Labels: (money, sport|sport, money)$/);
  assert.equal(await page.textContent('#announcement'), await page.textContent('#verdict'));
  const lines = await page.$$eval('#labels .bar i', (all) => all.map((line) => line.getBoundingClientRect().left));
  assert.equal(lines.length, 3);
  await picture(page, 'sets');
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, 'sets-dark');
  await page.fill('#text', 'Nobody was there to see it');
  await page.waitForFunction(() => document.querySelector('#verdict').textContent === 'No label reaches its threshold.');
  assert.deepEqual(await predicted(), []);
  await page.setInputFiles('#file', join(folder, 'model.safetensors')); // a single-label model shows no thresholds
  await page.waitForSelector('#verdict', { state: 'hidden' });
  assert.equal(await page.$('#labels .predicted, #labels i'), null);
  await page.close();
});

test('right-to-left text has its own direction, and controls of direction are shown', { skip }, async () => {
  const page = await open('?model=expected/model.safetensors');
  await page.waitForSelector('#text-section:visible');
  await write(page, 'فاز الفريق match\n\u202ematch\u202c');
  assert.equal(await page.textContent('#words'), 'فاز الفريق match\n\\u202ematch\\u202c');
  const directions = await page.$$eval('#text, #words', (all) => all.map((one) => getComputedStyle(one).direction));
  assert.deepEqual(directions, ['rtl', 'rtl']);
  assert.equal(await page.$eval('#words', (one) => getComputedStyle(one).unicodeBidi), 'plaintext');
  for (const place of ['#labels .name', '#words-heading', '#strongest th[scope=row]']) assert.ok(await page.$(`${place} > bdi`), place);
  await page.close();
});

test('the keyboard is enough', { skip }, async () => {
  const page = await open('?model=expected/model.safetensors');
  await page.waitForSelector('#text-section:visible');
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.value);
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'file');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'text');
  await page.keyboard.type('fry the onions');
  await page.waitForSelector('#labels button');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const label = await focused();
  await page.keyboard.press('Enter');
  await page.waitForSelector('#labels li:nth-child(2) button[aria-pressed=true]');
  assert.equal(await focused(), label); // the list is redrawn and keeps the focus
  await page.close();
});

test('a file is dropped', { skip }, async () => {
  const page = await open();
  const dropped = await page.evaluateHandle(async () => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([await (await fetch('/expected/model.safetensors')).blob()], 'dropped.safetensors'));
    return transfer;
  });
  await page.dispatchEvent('#drop', 'dragover', { dataTransfer: dropped });
  assert.ok(await page.$eval('#drop', (drop) => drop.classList.contains('over')));
  await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
  await page.waitForSelector('#text-section:visible');
  assert.equal(await page.textContent('#prompt'), 'dropped.safetensors');
  assert.ok(!await page.$eval('#drop', (drop) => drop.classList.contains('over')));
  await page.close();
});

test('a bad file is refused and the good one stays', { skip }, async () => {
  const page = await open('', { viewport: { width: 360, height: 740 } });
  await page.setInputFiles('#file', wrong('text.safetensors', 'text,label\nnice,good\n'));
  await page.waitForSelector('#error:visible');
  assert.match(await page.textContent('#error'), /^text\.safetensors is not a model, or is damaged: /);
  assert.equal(await page.textContent('#model-status'), 'No model is loaded.');
  await picture(page, 'bad');
  await page.setInputFiles('#file', join(folder, 'model.safetensors'));
  await page.waitForSelector('#text-section:visible');
  assert.ok(await page.isHidden('#error'));
  await write(page, TEXT);
  const answer = await best(page);
  await page.setInputFiles('#file', wrong('empty.safetensors', ''));
  await page.waitForSelector('#error:visible');
  assert.match(await page.textContent('#error'), /empty\.safetensors is not a model, or is damaged: it is empty/);
  assert.equal(await best(page), answer);
  await page.$eval('#text', (text) => { // Playwright would repair it
    text.value = 'half \ud83d';
    text.dispatchEvent(new Event('input'));
  });
  await page.waitForFunction(() => document.querySelector('#error').textContent.includes('unpaired'));
  await write(page, 'fry the onions');
  assert.ok(await page.isHidden('#error'));
  await page.close();
});

test('every width and colour scheme, no markup from texts, accessible names', { skip }, async () => {
  const page = await open('?model=expected/model.safetensors');
  await page.waitForSelector('#text-section:visible');
  const text = `<img src=x onerror=alert(1)> <b>match</b> İ ${TEXT} ${'donaudampfschifffahrt'.repeat(8)}`;
  await write(page, text);
  assert.equal(await page.textContent('#words'), text);
  assert.equal(await page.$('#words img, #words b'), null);
  const grounds = [];
  for (const [colorScheme, width] of [['light', 320], ['dark', 320], ['dark', 1300]]) {
    await page.setViewportSize({ width, height: 700 });
    await page.emulateMedia({ colorScheme });
    const [inner, ground] = await page.evaluate(
      () => [document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]);
    assert.ok(inner <= width, `${inner} wide in ${width}`);
    grounds.push(ground);
    await picture(page, `${colorScheme}-${width}`);
  }
  assert.ok(grounds[0] !== grounds[1] && grounds[1] === grounds[2]);
  const nameless = await page.$$eval('button, input, textarea, [role=region], table', (parts) => parts.filter((part) => {
    const named = part.getAttribute('aria-labelledby');
    return !(part.labels?.length || (named && document.getElementById(named)?.textContent) || part.textContent.trim());
  }).map((part) => part.outerHTML));
  assert.deepEqual(nameless, []);
  await page.close();
});

test('no requests to other servers and no errors', { skip }, () => {
  assert.ok(requests.some((address) => address.endsWith('.wasm')));
  assert.deepEqual(requests.filter((address) => !address.startsWith(server.address) && !/^(data|blob):/.test(address)), []);
  assert.deepEqual(problems, []);
});
