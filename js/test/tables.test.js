/** The files of texts that the page reads and writes. $CAPSULET_EXPECTED has a workbook that Python made. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, skip as missing } from './expected.js';

const built = existsSync(new URL('../dist/page/tables.js', import.meta.url));
const skip = missing || (!built && 'dist/ is missing: run `npm run build`');
const load = async (name) => (skip ? {} : import(`../dist/page/${name}.js`));
const { delimitedLine, delimitedRows, safeCell } = await load('delimited');
const { nextTexts, uncertainty } = await load('next_texts');
const { agreement, labelCounts, newCells, newColumns } = await load('labelled');
const tables = await load('tables'), zip = await load('zip');

const file = (name, content) => new File([content], name);
const read = (name, content) => tables.readTable(file(name, content));
const bytesOf = async (parts) => new Uint8Array(await new Blob(parts).arrayBuffer());
const textOf = async (parts) => new Blob(parts).text();
const refused = (name, content, expected) => assert.rejects(read(name, content), (error) => error.name === 'PageError' && expected.test(error.message));

test('cells of CSV', { skip }, () => {
  const rows = (text, delimiter = ',') => [...delimitedRows(text, delimiter)];
  assert.deepEqual(rows('a,b\r\n1,2\n\n3,\n'), [['a', 'b'], ['1', '2'], ['3', '']]);
  assert.deepEqual(rows('"a ""b"", c","d\r\ne"\n"",x'), [['a "b", c', 'd\r\ne'], ['', 'x']]);
  assert.deepEqual(rows('a\tb "c"', '\t'), [['a', 'b "c"']]);
  assert.deepEqual(rows(''), []);
  assert.throws(() => rows('a\n"b\nc'), /line 2: a quote is not closed/);
  const odd = ['plain', 'a,b', 'a "b"', 'two\nlines', '', ' x '];
  assert.deepEqual(rows(delimitedLine(odd, ',', false)), [odd]);
});

test('no cell of CSV is a formula', { skip }, () => {
  for (const cell of ['=1+1', '+cmd', '-cmd', '@x', '\tx', '\r=x', '＝1', '-1+1', '- item']) assert.equal(safeCell(cell), `'${cell}`);
  for (const cell of ['-1', '+2.5e3', '-.5', 'a=b', '', '5']) assert.equal(safeCell(cell), cell);
  assert.equal(delimitedLine(['=HYPERLINK("x")', 'y'], ',', true), '"\'=HYPERLINK(""x"")",y\r\n');
});

test('headers, delimiters and text columns', { skip }, async () => {
  const places = (table) => [table.kind, table.hasHeader, tables.textColumns(table)];
  assert.deepEqual(places(await read('a.csv', 'id;Text\n1;a, b and c\n')), ['csv', true, [1]]);
  assert.deepEqual(places(await read('a.csv', '\ufefflabel,text\nx,y\n')), ['csv', true, [1]]);
  assert.deepEqual(places(await read('a.csv', '"3","title","a long text"\n"4","t","x"\n')), ['csv', false, [1, 2]]);
  assert.deepEqual(places(await read('a.csv', 'date,message\n2020,hello there\n')), ['csv', true, [1]]);
  assert.deepEqual(places(await read('a.tsv', 'x\ty, z\n1\t2 3\n')), ['tsv', true, [1]]);
  assert.deepEqual(places(await read('a.txt', 'one, two\n\nthree\n')), ['lines', false, [0]]);
  assert.deepEqual(places(await read('a.jsonl', '{"id": 1, "text": "a"}\n\n{"text": "b", "more": [1]}\n')), ['jsonl', true, [1]]);
  const wide = new Uint8Array([255, 254, ...Buffer.from('text\nä\n', 'utf16le')]);
  assert.deepEqual((await read('a.csv', wide)).rows, [['text'], ['ä']]);
});

test('unusable files are refused', { skip }, async () => {
  await refused('a.csv', new Uint8Array([0x74, 0xe4, 0x0a]), /^a\.csv: not UTF-8: save it as/);
  await refused('a.csv', '\n\n', /^a\.csv: no rows/);
  await refused('a.jsonl', '{"text": 1}\n[1]\n', /line 2 is no JSON object/);
  await refused('a.json', '[{"text": "a"}]', /a JSON array: expected one object per line/);
  await refused('a.xls', new Uint8Array([0xd0, 0xcf, 0x11, 0xe0]), /an old \.xls file, or a file with a password/);
  await refused('a.xlsx', 'PK\u0003\u0004 and nothing else', /the archive is damaged/);
  const book = readFileSync(join(folder, 'book.xlsx'));
  for (let size = 4; size < book.length; size += 97) await assert.rejects(read('a.xlsx', book.subarray(0, size)), { name: 'PageError' });
  for (let place = 0; place < book.length; place += 13) { // a changed byte is found, or does no harm
    const changed = Uint8Array.from(book);
    changed[place] ^= 0x55;
    await read('a.xlsx', changed).catch((error) => assert.equal(error.name, 'PageError', `${place}: ${error.stack}`));
  }
  const cells = Array.from({ length: 2000 }, (_, row) => `<row r="${row + 1}"><c r="XFD${row + 1}"><v>1</v></c></row>`).join('');
  const wide = [...zip.readZip(Uint8Array.from(book)).values()].filter(({ name }) => !name.endsWith('first.xml'));
  const sheet = await zip.pack('xl/worksheets/first.xml', `<worksheet><sheetData>${cells}</sheetData></worksheet>`);
  await refused('wide.xlsx', new Blob(zip.writeZip([...wide, sheet])), /more than 20000000 cells/);
  const bomb = await zip.pack('xl/workbook.xml', 'x'.repeat(1 << 20));
  await assert.rejects(zip.unpack(bomb, 1000), /more than/);
});

test('cells of a workbook that another program wrote', { skip }, async () => {
  const table = await read('book.xlsx', readFileSync(join(folder, 'book.xlsx')));
  assert.equal(table.book.sheet, 'Data & more');
  assert.deepEqual(table.rows, [
    ['id', 'text', '', 'done'],
    ['1', 'The home team <won> & "rose"', '', 'TRUE'],
    ['2.5', 'rich text', '', 'FALSE'],
    ['', 'two\nlines', ' inline '],
    ['4', '東京 soup'],
  ]);
  assert.deepEqual(table.book.numbers, [1, 2, 3, 5, 7]);
  assert.deepEqual(tables.textColumns(table), [1]);
});

test('a workbook gets columns and keeps the rest', { skip }, async () => {
  const book = readFileSync(join(folder, 'book.xlsx'));
  const table = await read('book.xlsx', book);
  const added = [['sport', 0.5], ['=1+1', 0.25], ['a < b\u0001', 1], ['', '']];
  const { parts, name } = await tables.writeTable(table, ['label', 'probability'], added, 'xlsx', true);
  assert.equal(name, 'book-labels.xlsx');
  const bytes = await bytesOf(parts);
  writeFileSync(join(folder, 'book-labels.xlsx'), bytes); // Python reads it, too
  const again = await read(name, bytes);
  assert.deepEqual(again.rows.map((row) => row.slice(5)), [['label', 'probability'], ['sport', '0.5'], ['=1+1', '0.25'], ['a < b\u0001', '1'], []]);
  assert.deepEqual(again.rows.map((row) => row.slice(0, 2)), table.rows.map((row) => row.slice(0, 2)));
  const [before, after] = [zip.readZip(Uint8Array.from(book)), zip.readZip(bytes)];
  assert.deepEqual([...after.keys()], [...before.keys()]);
  for (const [part, entry] of before) if (!part.endsWith('first.xml')) assert.deepEqual(after.get(part).packed, entry.packed, part);
  const csv = await textOf((await tables.writeTable(table, ['label', 'probability'], added, 'csv', true)).parts);
  assert.match(csv, /^id,text,column 3,done,label,probability\r\n1,"The home team <won> & ""rose""",,TRUE,sport,0\.5\r\n/);
  assert.deepEqual((await bytesOf((await tables.writeTable(table, ['label'], added, 'csv', true)).parts)).slice(0, 3), new Uint8Array([0xef, 0xbb, 0xbf]));
  assert.match(csv, /,'=1\+1,0\.25\r\n/);
});

test('tables in other formats', { skip }, async () => {
  const table = await read('x.jsonl', '{"text": "=a", "n": 1}\n{"text": "b", "extra": {"k": [2]}}\n');
  assert.deepEqual(tables.formats(table), ['jsonl', 'csv', 'xlsx']);
  const added = [['sport', 0.5], ['', 0.25]];
  const write = async (format, guarded = true) => tables.writeTable(table, ['label', 'probability'], added, format, guarded);
  assert.deepEqual((await textOf((await write('jsonl')).parts)).trim().split('\n').map((line) => JSON.parse(line)), [
    { text: '=a', n: 1, label: 'sport', probability: 0.5 }, { text: 'b', extra: { k: [2] }, label: null, probability: 0.25 },
  ]);
  assert.equal(await textOf((await write('csv')).parts), 'text,n,extra,label,probability\r\n\'=a,1,,sport,0.5\r\nb,,"{""k"":[2]}",,0.25\r\n');
  assert.match(await textOf((await write('csv', false)).parts), /\n=a,1/);
  const bytes = await bytesOf((await write('xlsx')).parts);
  writeFileSync(join(folder, 'new-labels.xlsx'), bytes); // Python reads it, too
  assert.deepEqual((await read('new.xlsx', bytes)).rows, [
    ['text', 'n', 'extra', 'label', 'probability'], ['=a', '1', '', 'sport', '0.5'], ['b', '', '{"k":[2]}', '', '0.25'],
  ]);
  const long = await read('long.txt', 'x'.repeat(40_000));
  await assert.rejects(tables.writeTable(long, ['label'], [['a']], 'xlsx', true), /row 2 has a text of 40000 characters, a cell of XLSX holds 32767: choose CSV/);
});

test('columns and counts of labels', { skip }, () => {
  const one = { name: 'one', calibrated: true, multiLabel: false }, sets = { name: 'sets', calibrated: true, multiLabel: true };
  assert.deepEqual(newColumns([one, sets], ['text']), [['label', 'probability', 'reason'], ['labels (sets)', 'probabilities (sets)']]);
  assert.deepEqual(newColumns([one], ['text', 'Label']), [['predicted label', 'predicted probability', 'predicted reason']]);
  const sport = { label: 'sport', probability: 0.1234567, reason: '', labels: null };
  const unknown = { label: null, probability: 0.5, reason: 'low confidence', guess: 'sport', labels: null };
  const both = { labels: [{ label: 'a', probability: 0.9 }, { label: 'b', probability: 0.6 }] };
  assert.deepEqual(newCells(one, sport), ['sport', 0.123457, '']);
  assert.deepEqual(newCells(one, unknown), ['', 0.5, 'low confidence']);
  assert.deepEqual(newCells(one, null), ['', '', '']);
  assert.deepEqual(newCells(sets, both), ['a|b', '0.9|0.6']);
  assert.deepEqual(labelCounts([sport, unknown, sport, null, both, { labels: [] }]), [
    ['sport', 2], ['Don’t know', 1], ['No text', 1], ['a', 1], ['b', 1], ['No label', 1]]);
  assert.equal(agreement([sport, unknown, both], [sport, sport, { labels: both.labels.toReversed() }]), 2 / 3);
});

test('what to label next: uncertain, and not the same again', { skip }, () => {
  const answer = (probability) => ({ top: [{ probability }, { probability: 1 - probability }], labels: null });
  assert.ok(Math.abs(uncertainty(answer(0.5)) - 1) < 1e-12 && Math.abs(uncertainty(answer(0.9)) - 0.2) < 1e-12);
  const texts = ['the match was close today', 'the match was close today', 'the match was close again', 'oil prices rose in Asia', 'certain and clear text', ' '];
  const answers = [0.5, 0.5, 0.51, 0.6, 0.999, 0.5].map(answer);
  assert.deepEqual(nextTexts(texts, answers, 3), [0, 3, 2]); // not 2 before 3: it has almost the words of 0
  assert.deepEqual(nextTexts(texts, answers, 10), [0, 3, 2, 4]); // no text twice, no blank text
  assert.deepEqual(nextTexts([], [], 5), []);
});
