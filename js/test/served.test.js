/**
 * The page on `capsulet serve` in Chromium. tests/browser starts the servers: $CAPSULET_SERVED has the models `news` and
 * `sets`, takes at most 20 texts per request and keeps feedback; $CAPSULET_LOCKED wants the token `secret`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findings } from './axe.js';
import { launch } from './chromium.js';

const { CAPSULET_SERVED: address, CAPSULET_LOCKED: locked, CAPSULET_FEEDBACK: kept, CAPSULET_PICTURES: pictures } = process.env;
const skip = !address && 'needs a server: run `pytest tests/browser`';
const WORDS = ['team', 'soup', 'bank', 'match', 'bread', 'profit', 'salt', 'goal', 'shares', 'cake'];
const ROWS = ['text', ...Array.from({ length: 70 }, (_, row) => [1, 3, 7].map((step) => WORDS[(step * row + (row >> 3)) % 10]).join(' ') + ` 👍 ${row}`)].join('\n');
let browser;
const requests = [], problems = [];

before(async () => {
  if (!skip) browser = await launch();
});

after(() => browser?.close());

/** Open the page; its requests and errors are recorded. */
async function open(from = address, options = {}) {
  const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
  page.setDefaultTimeout(100_000); // for busy machines
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await page.goto(from);
  return page;
}

async function write(page, text) {
  await page.fill('#text', text);
  await page.waitForFunction((wanted) => document.querySelector('.answer:not([hidden]):not(.waiting) .words')?.textContent === wanted, text);
}

const lines = () => readFileSync(kept, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const upload = (page, name, content) => page.setInputFiles('#file', { name, mimeType: '', buffer: Buffer.from(content) });

test('answers of the server while typing', { skip }, async () => {
  const page = await open();
  await page.waitForSelector('#views:visible');
  assert.equal(await page.inputValue('#model'), 'news');
  await write(page, '👍🏽 Stir the soup and add a pinch of salt');
  assert.equal(await page.textContent('.verdict strong'), 'food');
  const marks = await page.$$eval('.words mark', (all) => all.map((mark) => mark.textContent));
  assert.ok(marks.includes('soup'), String(marks)); // places count UTF-16 units after an emoji, too
  const second = await page.textContent('.labels li:nth-child(2) .name');
  await page.hover('.labels li:nth-child(2) button');
  await page.waitForFunction((label) => document.querySelector('.why h3').textContent === `Why “${label}”`, second);
  await page.hover('#text');
  await page.selectOption('.and-not select', second);
  await page.waitForFunction((label) => document.querySelector('mark.against:last-child').textContent === `for ${label}`, second);
  await write(page, 'xqzt wkjh qqqq');
  assert.equal(await page.textContent('.verdict'), 'Don’t know');
  assert.deepEqual(await findings(page), []);
  if (pictures) await page.screenshot({ path: join(pictures, 'served.png'), fullPage: true });
  await page.close();
});

test('a file, in several requests', { skip }, async () => {
  const page = await open();
  await page.click('#tab-file');
  await upload(page, 'rows.csv', ROWS);
  await page.selectOption('#compare', 'sets');
  await page.click('#run');
  await page.waitForSelector('#save');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
  const written = readFileSync(await download.path(), 'utf8').replace('\ufeff', '').split('\r\n');
  assert.equal(written[0], 'text,label,probability,reason,labels (sets),probabilities (sets)');
  assert.equal(written.length, 72);
  await page.close();
});

test('feedback is kept by the server', { skip }, async () => {
  const page = await open();
  await page.waitForSelector('#views:visible');
  await write(page, 'Serve the cake with cream');
  await page.click('button:text-is("Right")');
  await page.waitForSelector('.saved');
  assert.deepEqual(lines().at(-1), { text: 'Serve the cake with cream', label: 'food', predicted: 'food', model: 'news' });
  await page.selectOption('#model', 'sets');
  await write(page, 'The bank won the match');
  await page.click('button:text-is("Wrong")');
  await page.fill('.other input', 'weather');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.saved');
  assert.ok(lines().at(-1).labels.includes('weather'));
  await page.selectOption('#model', 'news');
  await page.click('#tab-file');
  await upload(page, 'rows.csv', ROWS); // more texts than one request may have
  await page.click('#ask-next');
  await page.waitForSelector('.card');
  const texts = await page.$$eval('.card-text', (all) => all.map((one) => one.textContent));
  assert.ok(texts.length > 5 && new Set(texts).size === texts.length, String(texts));
  await page.focus('.card .choice');
  await page.keyboard.press('1');
  await page.waitForSelector('.card.done');
  assert.equal(lines().at(-1).text, texts[0]);
  assert.ok(await page.isHidden('#save-feedback')); // nothing to download
  assert.deepEqual(await findings(page), []);
  await page.close();
});

test('a busy server is asked again, a missing one is named', { skip }, async () => {
  const page = await open();
  await page.waitForSelector('#views:visible');
  const classify = '**/v1/classify';
  let refused = 0;
  await page.route(classify, (route) => (refused++ ? route.continue() : route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: '{"error": "full"}' })));
  await write(page, 'Stir the soup and add a pinch of salt');
  assert.ok(refused > 1);
  assert.ok(await page.isHidden('#error'));
  await page.unroute(classify);
  await page.route(classify, (route) => route.fulfill({ status: 503, headers: { 'retry-after': '3600' }, body: '{"error": "full for long"}' }));
  await page.fill('#text', 'Stir');
  await page.waitForSelector('#error:visible');
  assert.equal(await page.textContent('#error'), 'full for long');
  await page.unroute(classify);
  await page.route(classify, (route) => route.abort());
  await page.fill('#text', 'Stir the');
  await page.waitForFunction(() => document.querySelector('#error').textContent.startsWith('The server does not answer.'));
  await page.unroute(classify);
  await write(page, 'Stir the soup'); // it is back
  assert.ok(await page.isHidden('#error'));
  await page.close();
});

test('card and report', { skip }, async () => {
  const page = await open();
  await page.click('#tab-model');
  await page.waitForSelector('.model-card table');
  assert.match(await page.textContent('.model-card'), /A text classifier with 3 labels/);
  const [report] = await Promise.all([page.waitForEvent('popup'), page.click('text=Report of the training')]);
  await report.waitForSelector('h1');
  assert.match(await report.textContent('body'), /accuracy/i);
  await report.close();
  await page.close();
});

test('a server with a token', { skip }, async () => {
  const page = await open(locked);
  await page.fill('#token', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#error').textContent.includes('token'));
  assert.deepEqual(await findings(page), []);
  await page.fill('#token', 'secret');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#views:visible');
  await write(page, 'Stir the soup and add a pinch of salt');
  assert.equal(await page.textContent('.verdict strong'), 'food');
  await page.click('button:text-is("Right")'); // this server keeps no feedback
  await page.click('#tab-label');
  await page.waitForSelector('#save-feedback:visible');
  await page.close();
});

test('no requests to other servers and no errors', { skip }, () => {
  assert.deepEqual(requests.filter((url) => !url.startsWith(address) && !url.startsWith(locked) && !/^(data|blob):/.test(url)), []);
  assert.deepEqual(problems.filter((problem) => !/401|503|ERR_FAILED/.test(problem)), []); // Chromium reports refused requests
});
