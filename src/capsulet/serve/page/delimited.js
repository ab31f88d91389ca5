/** CSV and TSV: cells of delimited text. */
import { PageError } from './element.js';

const DELIMITERS = [',', ';', '\t'];
// a spreadsheet runs a cell that begins like a formula; some also read the wide forms of = + - @
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The delimiter that splits the first row into the most cells. */
export function findDelimiter(text) {
  const counts = DELIMITERS.map((delimiter) => {
    const { done, value } = delimitedRows(text, delimiter).next();
    return done ? 0 : value.length;
  });
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}

/** Yield the rows of delimited text as lists of cells, without blank lines. */
export function* delimitedRows(text, delimiter) {
  let at = 0, line = 1;
  while (at < text.length) {
    const row = [];
    for (let more = true; more;) {
      let cell = '';
      if (text[at] === '"') [cell, at] = quoted(text, at, line);
      for (const letter of cell) if (letter === '\n') line++;
      const from = at;
      while (at < text.length && text[at] !== delimiter && text[at] !== '\n' && text[at] !== '\r') at++;
      row.push(cell + text.slice(from, at));
      more = text[at] === delimiter;
      if (more) at++;
    }
    at += text.startsWith('\r\n', at) ? 2 : 1;
    line++;
    if (row.length > 1 || row[0].trim()) yield row;
  }
}

/** The content of a quoted cell, and the place after it. */
function quoted(text, start, line) {
  let cell = '', from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) throw new PageError(`line ${line}: a quote is not closed. Close it, or write it twice inside a quoted cell`);
    cell += text.slice(from, quote);
    if (text[quote + 1] !== '"') return [cell, quote + 1];
    cell += '"';
    from = quote + 2;
  }
}

/** A cell, with an apostrophe before it if a spreadsheet would read it as a formula. Numbers stay. */
export const safeCell = (cell) => (FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell);

/** Write one row; `guarded`: no cell can be read as a formula. */
export function delimitedLine(cells, delimiter, guarded) {
  return `${cells.map((value) => {
    const cell = guarded ? safeCell(value) : value;
    return cell.includes('"') || cell.includes(delimiter) || /[\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }).join(delimiter)}\r\n`;
}
