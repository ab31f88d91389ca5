/** The static page and the package in Chromium. $CAPSULET_PICTURES: folder for screenshots of the page. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { findings } from './axe.js';
import { launch } from './chromium.js';
import { folder, names, skip } from './expected.js';
import { serve } from './server.js';

const pictures = process.env.CAPSULET_PICTURES;
const TEXT = 'The home team won the match after extra time 👍🏽\nand the bank raised interest rates.';
const ROWS = [
  'id,text,label', '1,The coach praised the players,sport', '2,"Shares fell, and the bank lost",money', '3,,', '4,=Stir the soup,food',
  '5,xqzt wkjh,', ...Array.from({ length: 40 }, (_, row) => `${row + 6},The team of village ${row} ate bread number ${row},`),
].join('\n');
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
async function open(path = '', options = {}, address = server.address) {
  const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
  page.setDefaultTimeout(100_000); // for busy machines
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await page.goto(address + path);
  return page;
}

/** Open the page with a model. */
async function openModel(name = 'model', options = {}) {
  const page = await open(`?model=expected/${name}.safetensors`, options);
  await page.waitForSelector('#views:visible');
  return page;
}

async function write(page, text) {
  await page.fill('#text', text);
  await page.waitForFunction((wanted) => document.querySelector('.answer:not([hidden]):not(.waiting) .words')?.textContent === wanted, text);
}

const picture = (page, name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
const wrong = (name, content) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
const titles = (page) => page.$$eval('.words mark', (marks) => marks.map((mark) => mark.title));
const shown = (page, label) => page.waitForFunction((wanted) => document.querySelector('.why h3').textContent === `Why “${wanted}”`, label);
const nameOf = (page, place) => page.textContent(`.labels li:nth-child(${place}) .name`);

/** The content of the file that a press on a button downloads. */
async function downloaded(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

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

test('a model is opened, a text typed, a label pointed at and pressed', { skip }, async () => {
  const page = await open('', { viewport: { width: 1100, height: 900 } });
  assert.ok(await page.isHidden('#views'));
  await page.setInputFiles('#first-file', join(folder, 'model.safetensors'));
  await page.waitForSelector('#views:visible');
  await write(page, 'A late goal decided the final of the cup');
  const [first, second] = [await nameOf(page, 1), await nameOf(page, 2)];
  assert.equal(await page.textContent('.verdict strong'), first);
  assert.match(await page.textContent('.labels .share'), /^([<>] )?\d+(\.\d)? %$/);
  const widths = await page.$$eval('.labels .probability-bar span', (bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  assert.ok(widths[0] > widths[1] && widths[1] > 0);
  const before = await titles(page);
  assert.ok(before.length > 3);
  await picture(page, 'wide');

  await page.hover('.labels li:nth-child(2) button'); // pointing is enough
  await shown(page, second);
  assert.notDeepEqual(await titles(page), before);
  await page.hover('#text');
  await shown(page, first);
  assert.deepEqual(await titles(page), before);
  await page.click('.labels li:nth-child(2) button'); // a press keeps the label
  await page.hover('#text');
  await shown(page, second);
  assert.equal(await page.getAttribute('.labels li:nth-child(2) button', 'aria-pressed'), 'true');
  await page.fill('#text', '');
  await page.waitForSelector('.answer', { state: 'hidden' });
  await page.close();
});

test('why A and not B', { skip }, async () => {
  const page = await openModel();
  await write(page, 'The team ate soup after the match');
  const [first, second] = [await nameOf(page, 1), await nameOf(page, 2)];
  const plain = await titles(page);
  assert.deepEqual(await page.$$eval('.and-not option', (all) => all.map((option) => option.value)), ['', second, await nameOf(page, 3)]);
  await page.selectOption('.and-not select', second);
  await page.waitForFunction((label) => document.querySelector('mark.against:last-child').textContent === `for ${label}`, second);
  assert.notDeepEqual(await titles(page), plain);
  assert.equal(await page.textContent('.legend mark.for'), `for ${first}`);
  await page.click('summary');
  const numbers = await page.$$eval('.why tbody td', (cells) => cells.map((cell) => Number(cell.textContent.replace('−', '-'))));
  const sum = Number((await page.textContent('.why tfoot td')).replace('−', '-'));
  assert.ok(Math.abs(numbers.reduce((total, number) => total + number, 0) - sum) < 0.01);
  await page.fill('#text', 'The team ate bread after the match'); // the question stays for the next text
  await page.waitForFunction(() => document.querySelector('.words').textContent.includes('bread'));
  assert.equal(await page.inputValue('.and-not select'), second);
  await page.selectOption('.and-not select', '');
  await page.waitForFunction(() => document.querySelector('mark.against:last-child').textContent === 'against it');
  await page.close();
});

test('a text of unknown words gets no label', { skip }, async () => {
  const page = await openModel('model');
  await write(page, 'xqzt wkjh qqqq');
  assert.equal(await page.textContent('.verdict'), 'Don’t know');
  assert.match(await page.textContent('.note'), /^The model does not know the words of this text\. Best guess: \w+, [\d.]+ %\.$/);
  assert.equal(await page.textContent('.judgement button'), 'Give the label');
  await page.waitForFunction(() => document.querySelector('#announcement').textContent.startsWith("Don't know."));
  await picture(page, 'unknown');
  await page.close();
});

test('given labels of a multi-label model are marked, also if there are none', { skip }, async () => {
  const page = await openModel('sets', { viewport: { width: 500, height: 800 } });
  const given = () => page.$$eval('.labels .given .name bdi', (all) => all.map((name) => name.textContent).sort());
  await write(page, 'The home team won the match and its shares rose');
  assert.deepEqual(await given(), ['money', 'sport']);
  assert.match(await page.textContent('.verdict'), /^(money, sport|sport, money)$/);
  assert.equal((await page.$$('.probability-bar i')).length, 3); // the thresholds
  await picture(page, 'sets');
  await page.click('button:text-is("Wrong")');
  await page.click('.choice[value=money]');
  await page.fill('.other input', 'weather');
  await page.keyboard.press('Enter');
  assert.equal(await page.textContent('.saved'), '✓ Saved as sport, weather');
  await write(page, 'Nobody was there to see it');
  assert.equal(await page.textContent('.verdict'), 'No label reaches its threshold');
  assert.deepEqual(await given(), []);
  await page.click('button:text-is("Right")');
  await page.click('#tab-label');
  const lines = (await downloaded(page, '#save-feedback')).content.toString().trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ labels }) => labels), [['sport', 'weather'], []]);
  await page.close();
});

test('a file is labelled and given back', { skip }, async () => {
  const page = await openModel();
  await page.click('#tab-file');
  await page.setInputFiles('#file', wrong('rows.csv', ROWS));
  await page.waitForSelector('#run');
  assert.ok(await page.isChecked('#column-1') && !await page.isChecked('#column-0') && await page.isChecked('#header'));
  assert.equal(await page.textContent('#run'), 'Label 45 texts');
  await page.click('#run');
  await page.waitForSelector('#save');
  const counts = await page.$$eval('.counts li', (all) => all.map((item) => [item.querySelector('.name').textContent, Number(item.querySelector('.share').textContent)]));
  assert.equal(counts.reduce((sum, [, count]) => sum + count, 0), 45);
  assert.ok(counts.some(([name]) => name === 'Don’t know') && counts.some(([name, count]) => name === 'No text' && count === 1));
  const { name, content } = await downloaded(page, '#save');
  assert.equal(name, 'rows-labels.csv');
  const lines = content.toString().replace('\ufeff', '').split('\r\n');
  assert.equal(lines[0], 'id,text,label,predicted label,predicted probability,predicted reason');
  assert.match(lines[1], /^1,The coach praised the players,sport,sport,0\.\d+,$/);
  assert.match(lines[2], /^2,"Shares fell, and the bank lost",money,money,0\.\d+,$/);
  assert.equal(lines[3], '3,,,,,');
  assert.match(lines[4], /^4,'=Stir the soup,food,food,/);
  assert.match(lines[5], /^5,xqzt wkjh,,,0\.\d+,unknown words$/);
  assert.equal(lines.length, 47);
  await picture(page, 'file');
  await page.uncheck('#guard');
  assert.match((await downloaded(page, '#save')).content.toString(), /\n4,=Stir/);
  await page.selectOption('#format', 'xlsx');
  const book = await downloaded(page, '#save');
  await page.setInputFiles('#file', { name: book.name, mimeType: '', buffer: book.content }); // its own workbook can be read again
  await page.waitForFunction(() => document.querySelector('#file-prompt').textContent === 'rows-labels.xlsx');
  assert.equal(await page.textContent('#run'), 'Label 45 texts');
  await page.setInputFiles('#file', wrong('bad.csv', 'text\n"open'));
  await page.waitForSelector('#error:visible');
  assert.match(await page.textContent('#error'), /^bad\.csv: line 2: a quote is not closed/);
  assert.equal(await page.textContent('#file-prompt'), 'rows-labels.xlsx'); // the good file stays
  await page.close();
});

test('texts that are worth a label come first, and their labels are downloaded', { skip }, async () => {
  const page = await openModel();
  await page.click('#tab-file');
  await page.setInputFiles('#file', wrong('rows.csv', ROWS));
  await page.click('#ask-next');
  await page.waitForSelector('.card');
  assert.equal((await page.$$('.card')).length, 20);
  const texts = await page.$$eval('.card-text', (all) => all.map((one) => one.textContent));
  assert.equal(new Set(texts).size, 20);
  await picture(page, 'improve');
  const label = await page.getAttribute('.card:nth-child(1) .choice >> nth=1', 'value');
  await page.focus('.card:nth-child(1) .choice');
  await page.keyboard.press('2'); // the second label
  await page.waitForSelector('.card:nth-child(1).done');
  assert.ok(await page.$eval('.card:nth-child(2)', (card) => card.contains(document.activeElement))); // ready for the next text
  await page.fill('.card:nth-child(2) input', 'weather 2'); // a digit in a field is a digit
  await page.keyboard.press('Enter');
  await page.waitForSelector('.card:nth-child(2).done');
  await page.click('#ask-again');
  await page.waitForFunction((text) => document.querySelector('.card-text') && document.querySelector('.card-text').textContent !== text, texts[0]);
  const again = await page.$$eval('.card-text', (all) => all.map((one) => one.textContent));
  assert.ok(!again.includes(texts[0]) && !again.includes(texts[1]));
  const { name, content } = await downloaded(page, '#save-feedback');
  assert.equal(name, 'feedback.jsonl');
  const lines = content.toString().trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => [line.text, line.label, line.model]), [
    [texts[0], label, 'model.safetensors'], [texts[1], 'weather 2', 'model.safetensors']]);
  writeFileSync(join(folder, 'feedback.jsonl'), content); // Python reads it, too
  await page.click('#given button');
  assert.equal((await page.$$('#given li')).length, 1);
  await page.close();
});

test('two models are compared', { skip }, async () => {
  const page = await openModel('model', { viewport: { width: 1200, height: 900 } });
  assert.equal(await page.$('#compare'), null);
  await page.setInputFiles('#model-file', join(folder, 'sets.safetensors'));
  await page.waitForSelector('#compare');
  assert.equal(await page.inputValue('#model'), 'sets.safetensors');
  await page.selectOption('#compare', 'model.safetensors');
  await write(page, 'The bank won the match');
  assert.deepEqual(await page.$$eval('.answer:not([hidden]) .of-model', (all) => all.map((one) => one.textContent)), ['sets.safetensors', 'model.safetensors']);
  const places = await page.$$eval('.answer', (all) => all.map((one) => one.getBoundingClientRect()).map(({ left, top }) => [left, top]));
  assert.ok(places[0][0] < places[1][0] && places[0][1] === places[1][1]); // side by side
  await page.hover('.answer >> nth=1 >> button[value=food]');
  await page.waitForFunction(() => [...document.querySelectorAll('.why h3')].every((one) => one.textContent === 'Why “food”')); // in both answers
  await picture(page, 'compared');
  await page.click('#tab-file');
  await page.setInputFiles('#file', wrong('lines.txt', 'The team won\nShares fell\n'));
  await page.click('#run');
  await page.waitForSelector('#save');
  assert.match(await page.textContent('#file-result'), /The two models give the same answer to [\d.]+ % of the texts\./);
  const lines = (await downloaded(page, '#save')).content.toString().replace('\ufeff', '').split('\r\n');
  assert.equal(lines[0], 'column 1,labels,probabilities,label (model.safetensors),probability (model.safetensors),reason (model.safetensors)');
  assert.equal(lines.length, 4);
  await page.click('#tab-model');
  await page.waitForSelector('.model-card');
  assert.deepEqual(await page.$$eval('.model-card > h3', (all) => all.map((one) => one.textContent)), ['sets.safetensors', 'model.safetensors']);
  await page.close();
});

test('the card of the model', { skip }, async () => {
  const page = await openModel();
  await page.click('#tab-model');
  await page.waitForSelector('.model-card table');
  const words = await page.textContent('.model-card');
  assert.match(words, /A text classifier with 3 labels/);
  assert.match(words, /training texts12/);
  assert.doesNotMatch(words, /\| ---|##/);
  const shownCard = await page.evaluate(async () => {
    const { markdown } = await import('/page/markdown.js');
    const place = document.createElement('div');
    place.append(...markdown('# A <b>\n\n| a | b |\n| --- | ---: |\n| x\\|y | `1 \\| 2` |\n\n[in](javascript:alert(1)) **bold** &lt;i&gt; \\*\n\n- one\n- two\n\n    code <x>\n'));
    return place.innerHTML;
  });
  assert.match(shownCard, /^<h3>A &lt;b&gt;<\/h3>/);
  assert.match(shownCard, /<bdi>x\|y<\/bdi>/);
  assert.doesNotMatch(shownCard, /<b>|<i>|href/);
  assert.match(shownCard, /<strong>bold<\/strong> &lt;i&gt; \*/);
  assert.match(shownCard, /<pre tabindex="0">code &lt;x&gt;<\/pre>/);
  await page.close();
});

test('right-to-left text has its own direction, and controls of direction are shown', { skip }, async () => {
  const page = await openModel();
  await page.fill('#text', 'فاز الفريق match\n\u202ematch\u202c');
  await page.waitForSelector('.words mark');
  assert.equal(await page.textContent('.words'), 'فاز الفريق match\n\\u202ematch\\u202c');
  const directions = await page.$$eval('#text, .words', (all) => all.map((one) => getComputedStyle(one).direction));
  assert.deepEqual(directions, ['rtl', 'rtl']);
  assert.equal(await page.$eval('.words', (one) => getComputedStyle(one).unicodeBidi), 'plaintext');
  for (const place of ['.labels .name', '.why h3', '.why tbody th']) assert.ok(await page.$(`${place} > bdi`), place);
  await picture(page, 'arabic');
  await page.close();
});

test('the keyboard is enough', { skip }, async () => {
  const page = await openModel();
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.value);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press('Tab', 'Tab');
  assert.equal(await focused(), 'model-file');
  await press('Tab');
  assert.equal(await focused(), 'tab-text');
  await press('ArrowRight', 'End', 'ArrowRight'); // round to the first tab
  assert.equal(await focused(), 'tab-text');
  await press('Tab');
  assert.equal(await focused(), 'text');
  await page.keyboard.type('fry the onions');
  await page.waitForSelector('.labels button');
  await press('Tab', 'Tab');
  const label = await focused();
  await shown(page, label); // the focus points, too
  await press('Enter');
  await page.waitForSelector('.labels li:nth-child(2) button[aria-pressed=true]');
  assert.equal(await focused(), label);
  await press('Tab', 'Tab', 'Tab', 'Enter'); // the other label, Right, Wrong
  await page.waitForSelector('.choice-form');
  await press('Enter');
  await page.waitForSelector('.saved');
  assert.ok(await page.$eval('.saved', (saved) => saved === document.activeElement));
  await page.close();
});

test('a screen reader hears the last answer once', { skip }, async () => {
  const page = await openModel();
  await page.evaluate(() => {
    window.heard = [];
    new MutationObserver(() => window.heard.push(document.querySelector('#announcement').textContent))
      .observe(document.querySelector('#announcement'), { childList: true });
  });
  await page.clock.install(); // so that a busy machine does not change the pauses
  for (const text of ['Shares', 'Shares fell', 'Stir the soup', 'Stir the soup and add salt']) {
    await page.fill('#text', text);
    await page.clock.runFor(300); // an answer, but no announcement yet
    assert.equal(await page.textContent('.words'), text);
  }
  await page.clock.runFor(3000);
  const heard = await page.evaluate(() => window.heard);
  assert.equal(heard.length, 1);
  assert.match(heard[0], /^food, (> )?[\d.]+ %$/);
  await page.close();
});

test('files are dropped', { skip }, async () => {
  const page = await open();
  const drop = async (name, content) => {
    const dropped = await page.evaluateHandle(async ([called, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text ?? await (await fetch('/expected/model.safetensors')).blob()], called));
      return transfer;
    }, [name, content]);
    await page.dispatchEvent('body', 'dragover', { dataTransfer: dropped });
    assert.ok(await page.$eval('body', (body) => body.classList.contains('dragged')));
    await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
    assert.ok(!await page.$eval('body', (body) => body.classList.contains('dragged')));
  };
  await drop('dropped.safetensors');
  await page.waitForSelector('#views:visible');
  assert.equal(await page.inputValue('#model'), 'dropped.safetensors');
  await drop('rows.csv', 'text\nThe team won\n');
  await page.waitForSelector('#view-file:visible #run');
  assert.equal(await page.textContent('#file-prompt'), 'rows.csv');
  await page.close();
});

test('a bad model is refused and the good one stays', { skip }, async () => {
  const page = await open('', { viewport: { width: 360, height: 740 } });
  await page.setInputFiles('#first-file', wrong('text.safetensors', 'text,label\nnice,good\n'));
  await page.waitForSelector('#error:visible');
  assert.match(await page.textContent('#error'), /^text\.safetensors is not a model, or is damaged: /);
  await page.setInputFiles('#first-file', join(folder, 'model.safetensors'));
  await page.waitForSelector('#views:visible');
  assert.ok(await page.isHidden('#error'));
  await write(page, TEXT);
  const answer = await nameOf(page, 1);
  await page.setInputFiles('#model-file', wrong('empty.safetensors', ''));
  await page.waitForSelector('#error:visible');
  assert.match(await page.textContent('#error'), /empty\.safetensors is not a model, or is damaged: it is empty/);
  assert.equal(await nameOf(page, 1), answer);
  await page.$eval('#text', (text) => { // Playwright would repair it
    text.value = 'half \ud83d match';
    text.dispatchEvent(new Event('input'));
  });
  await page.waitForFunction(() => document.querySelector('.words').textContent === 'half \ufffd match');
  assert.ok(await page.isHidden('#error'));
  await page.close();
  const elsewhere = await open('?model=https://example.org/model.safetensors');
  await elsewhere.waitForSelector('#error:visible');
  assert.match(await elsewhere.textContent('#error'), /is on another server: expected a path relative to this page/);
  await elsewhere.close();
});

test('every width and colour scheme, and no markup from texts', { skip }, async () => {
  const page = await openModel();
  const text = `<img src=x onerror=alert(1)> <b>match</b> İ ${TEXT} ${'donaudampfschifffahrt'.repeat(8)}`;
  await write(page, text);
  assert.equal(await page.$('.words img, .words b'), null);
  await page.setInputFiles('#file', wrong('rows.csv', ROWS));
  await page.click('#tab-file');
  await page.click('#run');
  await page.waitForSelector('#save');
  await page.click('#ask-next');
  await page.waitForSelector('.card');
  const grounds = [];
  for (const [colorScheme, width] of [['light', 320], ['dark', 320], ['dark', 1300]]) {
    await page.setViewportSize({ width, height: 700 });
    await page.emulateMedia({ colorScheme });
    for (const view of ['text', 'file', 'label', 'model']) {
      await page.click(`#tab-${view}`);
      const inner = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(inner <= width, `${view} is ${inner} wide in ${width}`);
      await picture(page, `${view}-${colorScheme}-${width}`);
    }
    grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
  }
  assert.ok(grounds[0] !== grounds[1] && grounds[1] === grounds[2]);
  await page.close();
});

test('axe finds nothing', { skip }, async () => {
  const page = await open('', { viewport: { width: 1000, height: 800 } });
  assert.deepEqual(await findings(page), []);
  await page.setInputFiles('#first-file', join(folder, 'model.safetensors'));
  await page.waitForSelector('#model-file', { state: 'attached' });
  await page.setInputFiles('#model-file', join(folder, 'sets.safetensors'));
  await page.waitForSelector('#compare');
  await write(page, TEXT);
  await page.click('summary >> nth=0');
  await page.click('button:text-is("Wrong") >> nth=0');
  assert.deepEqual(await findings(page), []);
  await page.selectOption('#compare', 'model.safetensors');
  await write(page, 'xqzt wkjh qqqq');
  assert.deepEqual(await findings(page), []);
  await page.click('#tab-model');
  await page.waitForSelector('.model-card table');
  assert.deepEqual(await findings(page), []);
  await page.click('#tab-file');
  await page.setInputFiles('#file', wrong('rows.csv', ROWS));
  await page.click('#run');
  await page.waitForSelector('#save');
  assert.deepEqual(await findings(page), []);
  await page.click('#ask-next');
  await page.waitForSelector('.card');
  await page.click('.card .choice-form button:not(.choice) >> nth=0');
  await page.setInputFiles('#file', wrong('bad.csv', ''));
  await page.waitForSelector('#error:visible');
  assert.deepEqual(await findings(page), []);
  await page.close();
});

test('the page in one file works from a disk', { skip }, async () => {
  const page = await open('', {}, pathToFileURL(join(import.meta.dirname, '..', 'dist', 'capsulet.html')).href);
  await page.setInputFiles('#first-file', join(folder, 'model.safetensors'));
  await page.waitForSelector('#views:visible');
  await write(page, 'Stir the soup and add a pinch of salt');
  assert.equal(await page.textContent('.verdict strong'), 'food');
  await page.setInputFiles('#file', join(folder, 'book.xlsx'));
  await page.click('#tab-file');
  await page.click('#run');
  await page.waitForSelector('#save');
  assert.equal((await downloaded(page, '#save')).name, 'book-labels.xlsx');
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).maxWidth), 'none'); // its style is allowed
  await page.close();
});

test('no requests to other servers and no errors', { skip }, () => {
  assert.ok(requests.some((address) => address.endsWith('.wasm')));
  assert.deepEqual(requests.filter((address) => !address.startsWith(server.address) && !/^(data|blob|file):/.test(address)), []);
  assert.deepEqual(problems, []);
});
