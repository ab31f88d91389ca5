/** XLSX workbooks: the cells of the first sheet, new columns in it, and new workbooks. */
import { PageError } from './element.js';
import { attribute, escaped, scan, unescaped } from './xml.js';
import { pack, readZip, unpack, writeZip } from './zip.js';

const MOST_BYTES = 256 << 20; // of one part of a workbook, unpacked
const MOST_ROWS = 1_048_576, MOST_COLUMNS = 16_384, MOST_LETTERS = 32_767; // of a sheet and of a cell
const MOST_CELLS = 20_000_000; // of a sheet that is read
const ESCAPE = /_x([0-9a-fA-F]{4})_/g;
export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Read a workbook: { rows, numbers, sheet } and what `addColumns` needs. `numbers` are the numbers of the rows. */
export async function readXlsx(bytes) {
  if (bytes[0] === 0xd0 && bytes[1] === 0xcf) {
    throw new PageError('an old .xls file, or a file with a password: save it as .xlsx without a password');
  }
  const entries = readZip(bytes);
  const read = async (name) => {
    if (!entries.has(name)) throw new PageError(`no ${name} in the file: expected a workbook. Save it as XLSX again`);
    return new TextDecoder().decode(await unpack(entries.get(name), MOST_BYTES));
  };
  const { name: sheet, path } = await firstSheet(read);
  const strings = entries.has('xl/sharedStrings.xml') ? sharedStrings(await read('xl/sharedStrings.xml')) : [];
  const xml = await read(path);
  return { ...sheetRows(xml, strings), sheet, entries, path, xml };
}

/** Name and path of the first sheet. */
async function firstSheet(read) {
  const sheets = [], targets = new Map();
  scan(await read('xl/workbook.xml'), ({ name, inside, opens }) => {
    if (name !== 'sheet' || !opens) return;
    sheets.push({ name: attribute(inside, 'name') ?? '', id: attribute(inside, '[\\w.-]+:id') });
  });
  scan(await read('xl/_rels/workbook.xml.rels'), ({ name, inside, opens }) => {
    if (name === 'Relationship' && opens) targets.set(attribute(inside, 'Id'), attribute(inside, 'Target'));
  });
  const target = targets.get(sheets[0]?.id);
  if (!target) throw new PageError('the workbook has no sheet: expected one with texts');
  return { name: sheets[0].name, path: target.startsWith('/') ? target.slice(1) : `xl/${target}` };
}

/** Strings that cells refer to by number; readings of characters (rPh) are no part of them. */
function sharedStrings(xml) {
  const strings = [];
  let current = null, inText = false, reading = 0;
  scan(xml, ({ name, opens, closes }) => {
    if (name === 'si') {
      if (opens) current = '';
      if (closes) strings.push(cellText(current ?? ''));
    } else if (name === 'rPh') reading += Number(opens) - Number(closes);
    else if (name === 't') inText = opens && !closes;
  }, (text) => {
    if (inText && !reading) current += unescaped(text);
  });
  return strings;
}

const cellText = (text) => text.replace(ESCAPE, (_, code) => String.fromCharCode(parseInt(code, 16)));

/** 0 for A, 27 for AB; -1 without letters. */
function columnIndex(reference) {
  let index = 0;
  for (const letter of reference) {
    const value = letter.charCodeAt(0) - 64;
    if (value < 1 || value > 26) break;
    index = index * 26 + value;
  }
  return index - 1;
}

/** A for 0, AB for 27. */
export function columnName(index) {
  let name = '';
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}

/** Follows the rows of a sheet: returns the number of the row that a tag opens. */
function rowCounter() {
  let number = 0;
  return ({ inside }) => {
    number = Number(attribute(inside, 'r') ?? number + 1);
    if (!(number >= 1 && number <= MOST_ROWS)) throw new PageError(`the sheet has a row ${number}: expected 1 to ${MOST_ROWS}`);
    return number;
  };
}

/** Rows with cells, their numbers, and the number of columns, also of empty ones that have a format. */
function sheetRows(xml, strings) {
  const rows = [], numbers = [], count = rowCounter();
  let row = null, column = -1, kind = '', value = '', inValue = false, reading = 0, width = 0, total = 0;
  const finish = () => {
    if (value === '') return;
    total += column + 1 - row.length;
    if (total > MOST_CELLS) throw new PageError(`the sheet has more than ${MOST_CELLS} cells: save it as CSV`);
    row[column] = kind === 's' ? strings[Number(value)] ?? '' : kind === 'b' ? (value === '1' ? 'TRUE' : 'FALSE') : cellText(value);
  };
  scan(xml, (tag) => {
    const { name, opens, closes, inside } = tag;
    if (name === 'row') {
      if (opens) {
        [row, column] = [[], -1];
        numbers.push(count(tag));
        rows.push(row);
      }
      if (closes) row = null;
    } else if (name === 'c' && row) {
      if (opens) {
        const place = columnIndex(attribute(inside, 'r') ?? '');
        column = place >= 0 ? place : column + 1;
        if (column >= MOST_COLUMNS) throw new PageError(`the sheet has more than ${MOST_COLUMNS} columns`);
        [kind, value, width] = [attribute(inside, 't') ?? 'n', '', Math.max(width, column + 1)];
      }
      if (closes) finish();
    } else if (name === 'rPh') reading += Number(opens) - Number(closes);
    else if (name === 'v' || name === 't') inValue = opens && !closes;
  }, (text) => {
    if (inValue && !reading && row) value += unescaped(text);
  });
  const kept = [...rows.keys()].filter((index) => rows[index].some((cell) => cell !== '')); // rows with cells
  return { rows: kept.map((index) => Array.from(rows[index], (cell) => cell ?? '')), numbers: kept.map((index) => numbers[index]), width };
}

/** A cell of text or of a number; nothing for an empty text. */
function cellXml(prefix, reference, value) {
  if (value === '') return '';
  if (typeof value === 'number') return `<${prefix}c r="${reference}"><${prefix}v>${value}</${prefix}v></${prefix}c>`;
  if (value.length > MOST_LETTERS) {
    throw new PageError(`row ${/\d+$/.exec(reference)[0]} has a text of ${value.length} characters, a cell of XLSX holds ${MOST_LETTERS}: choose CSV`);
  }
  const text = escaped(value.replace(ESCAPE, (found) => `_x005F${found}`));
  return `<${prefix}c r="${reference}" t="inlineStr"><${prefix}is><${prefix}t xml:space="preserve">${text}</${prefix}t></${prefix}is></${prefix}c>`;
}

/** Parts of the same workbook with more cells at the end of its rows: `added` has lists of cells by number of row. */
export async function addColumns({ entries, path, xml, width }, added) {
  const most = Math.max(0, ...[...added.values()].slice(0, 1).map((cells) => cells.length));
  if (width + most > MOST_COLUMNS) throw new PageError('the sheet has no free column: choose CSV');
  const pieces = [], count = rowCounter();
  let at = 0, number = 0, prefix = '';
  const cells = () => (added.get(number) ?? []).map((value, place) => cellXml(prefix, columnName(width + place) + number, value)).join('');
  const replace = (start, end, text) => {
    pieces.push(xml.slice(at, start), text);
    at = end;
  };
  scan(xml, (tag) => {
    const { name, opens, closes, inside, start, end } = tag;
    if (name === 'dimension') replace(start, end, '');
    if (name !== 'row') return;
    if (opens) {
      [number, prefix] = [count(tag), tag.prefix];
      const own = inside.replace(/\sspans\s*=\s*(?:"[^"]*"|'[^']*')/, ''); // a hint that would be wrong now
      replace(start, end, closes ? `<${prefix}row${own}>${cells()}</${prefix}row>` : `<${prefix}row${own}>`);
    } else replace(start, start, cells());
  });
  pieces.push(xml.slice(at));
  const changed = await pack(path, pieces.join(''));
  return writeZip([...entries.values()].map((entry) => (entry.name === path ? changed : entry)));
}

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const relationships = (kind, target) =>
  `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/${kind}" Target="${target}"/></Relationships>`;

/** Parts of a workbook with one sheet of these rows of texts and numbers. */
export async function writeXlsx(rows) {
  if (rows.length > MOST_ROWS) throw new PageError(`${rows.length} rows, a sheet holds ${MOST_ROWS}: choose CSV`);
  const lines = rows.map((row, index) =>
    `<row r="${index + 1}">${row.map((value, place) => cellXml('', columnName(place) + (index + 1), value)).join('')}</row>`);
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  const parts = {
    '[Content_Types].xml': `${HEAD}<Types xmlns="${PACKAGE}/content-types">${[
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
      '<Default Extension="xml" ContentType="application/xml"/>',
      `<Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>`,
      `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${type}.worksheet+xml"/>`,
    ].join('')}</Types>`,
    '_rels/.rels': relationships('officeDocument', 'xl/workbook.xml'),
    'xl/workbook.xml': `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="labels" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships('worksheet', 'worksheets/sheet1.xml'),
    'xl/worksheets/sheet1.xml': `${HEAD}<worksheet xmlns="${MAIN}"><sheetData>${lines.join('')}</sheetData></worksheet>`,
  };
  return writeZip(await Promise.all(Object.entries(parts).map(([name, text]) => pack(name, text))));
}
