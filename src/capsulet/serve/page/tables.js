/** Files of texts: CSV, TSV, JSONL, XLSX and lines as one kind of table, and the same tables with labels. */
import { delimitedLine, delimitedRows, findDelimiter } from './delimited.js';
import { PageError } from './element.js';
import { addColumns, readXlsx, writeXlsx, XLSX_TYPE } from './xlsx.js';

const MOST_BYTES = 100 << 20;
const TYPES = { csv: 'text/csv', tsv: 'text/tab-separated-values', jsonl: 'application/x-ndjson', xlsx: XLSX_TYPE };
const KINDS = { tsv: 'tsv', tab: 'tsv', jsonl: 'jsonl', ndjson: 'jsonl', json: 'jsonl', xlsx: 'xlsx', xlsm: 'xlsx', txt: 'lines' };
const WRITTEN = ['csv', 'xlsx']; // formats that any table can be written in

/** Names of files that hold texts. */
export const isTable = (name) => /\.(csv|tsv|tab|txt|jsonl|ndjson|json|xlsx|xlsm)$/i.test(name);

/** Read a file: { name, kind, rows, hasHeader }. The rows are lists of cells; those of JSONL follow `keys`. */
export async function readTable(file) {
  if (file.size > MOST_BYTES) {
    throw new PageError(`${file.name} has ${Math.round(file.size / 1e6)} MB, expected at most ${MOST_BYTES >> 20}: split it, or use capsulet predict`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const ending = file.name.toLowerCase().split('.').at(-1);
  try {
    const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b, isOld = bytes[0] === 0xd0 && bytes[1] === 0xcf;
    const table = isZip || isOld ? await workbook(bytes) : textTable(decoded(bytes), KINDS[ending] ?? 'csv');
    if (!table.rows.length) throw new PageError('no rows: expected one text per row');
    return { name: file.name, ...table };
  } catch (error) {
    throw error instanceof PageError ? new PageError(`${file.name}: ${error.message}`) : error;
  }
}

/** Text of bytes in UTF-8, or in UTF-16 with its mark. */
function decoded(bytes) {
  const marks = { '255,254': 'utf-16le', '254,255': 'utf-16be' };
  try {
    return new TextDecoder(marks[bytes.slice(0, 2).join()] ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new PageError('not UTF-8: save it as “CSV UTF-8”, or as XLSX');
  }
}

async function workbook(bytes) {
  const book = await readXlsx(bytes);
  return { kind: 'xlsx', rows: book.rows, hasHeader: looksLikeHeader(book.rows), book };
}

function textTable(text, kind) {
  if (kind === 'lines') return { kind, rows: text.split(/\r?\n/).filter((line) => line.trim()).map((line) => [line]), hasHeader: false };
  if (kind === 'jsonl' || text.trimStart().startsWith('{')) return objects(text);
  const delimiter = kind === 'tsv' ? '\t' : findDelimiter(text);
  const rows = [...delimitedRows(text, delimiter)];
  return { kind: delimiter === '\t' ? 'tsv' : 'csv', delimiter, rows, hasHeader: looksLikeHeader(rows) };
}

/** Rows of JSON lines; the first row is that of the keys. */
function objects(text) {
  if (text.trimStart().startsWith('[')) throw new PageError('a JSON array: expected one object per line');
  const records = [];
  text.split('\n').forEach((line, index) => {
    if (!line.trim()) return;
    let record;
    try {
      record = JSON.parse(line);
    } catch { /* the same error as for other values */ }
    if (typeof record !== 'object' || record === null || Array.isArray(record)) {
      throw new PageError(`line ${index + 1} is no JSON object: expected one per line`);
    }
    records.push(record);
  });
  const keys = [...new Set(records.slice(0, 1000).flatMap((record) => Object.keys(record)))];
  const cell = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value));
  return { kind: 'jsonl', hasHeader: true, records, rows: [keys, ...records.map((record) => keys.map((key) => cell(record[key])))] };
}

/** Whether the first row has names: one is "text", or all differ, are short, and none is a number. */
function looksLikeHeader(rows) {
  const first = (rows[0] ?? []).map((cell) => cell.trim());
  if (first.some((cell) => /^(text|texts|label|labels)$/i.test(cell))) return true;
  return rows.length > 1 && first.length > 1 && new Set(first).size === first.length
    && first.every((cell) => cell && cell.length <= 40 && Number.isNaN(Number(cell)));
}

/** Names of the columns. */
export function columnNames({ rows, hasHeader }) {
  const width = Math.min(rows.reduce((most, row) => Math.max(most, row.length), 0), 1000);
  return Array.from({ length: width }, (_, place) => (hasHeader && rows[0][place]?.trim()) || `column ${place + 1}`);
}

/**
 * Places of the columns that hold the texts: the one called "text"; without a header and after a first column of numbers,
 * which are labels, all others; else the one with the longest cells.
 */
export function textColumns(table) {
  const names = columnNames(table);
  const named = names.findIndex((name) => /^texts?$/i.test(name));
  if (named >= 0) return [named];
  const sample = body(table).slice(0, 200);
  if (!table.hasHeader && names.length > 1 && sample.every(([first]) => /^\s*\d+\s*$/.test(first))) return [...names.keys()].slice(1);
  const sizes = names.map((_, place) => sample.reduce((sum, row) => sum + (row[place]?.length ?? 0), 0));
  return [sizes.indexOf(Math.max(...sizes))];
}

/** Rows without the header. */
export const body = ({ rows, hasHeader }) => (hasHeader ? rows.slice(1) : rows);

/** Formats in which a table can be written, its own first. */
export const formats = ({ kind }) => [...new Set([...(kind in TYPES ? [kind] : []), ...WRITTEN])];

/**
 * Write a table with more columns: { parts, type, name }. `names` are their names, `added` their cells for each row: texts
 * and numbers. `guarded`: no cell of CSV or TSV is a formula.
 */
export async function writeTable(table, names, added, format, guarded) {
  return {
    parts: await written(table, names, added, format, guarded), type: TYPES[format],
    name: `${table.name.replace(/\.[^.]*$/, '')}-labels.${format}`,
  };
}

async function written(table, names, added, format, guarded) {
  if (format === 'jsonl') {
    const value = (cell) => (cell === '' ? null : cell);
    return table.records.map((record, row) =>
      `${JSON.stringify({ ...record, ...Object.fromEntries(names.map((name, place) => [name, value(added[row][place])])) })}\n`);
  }
  const first = table.hasHeader ? 1 : 0;
  if (format === 'xlsx' && table.book) {
    const cells = new Map(table.book.numbers.map((number, index) => [number, index < first ? names : added[index - first]]));
    return addColumns(table.book, cells);
  }
  const width = columnNames(table).length;
  const head = [[...columnNames(table), ...names]];
  const rows = body(table).map((row, index) => [...Array.from({ length: width }, (_, place) => row[place] ?? ''), ...added[index]]);
  if (format === 'xlsx') return writeXlsx([...head, ...rows]);
  const delimiter = format === 'tsv' ? '\t' : table.delimiter ?? ',';
  return ['\ufeff', ...[...head, ...rows].map((row) => delimitedLine(row.map(String), delimiter, guarded))];
}
