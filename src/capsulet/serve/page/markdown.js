/** The Markdown of model cards as elements: headings, tables, lists, code and paragraphs. HTML stays text. */
import { make, visible } from './element.js';

const INLINE = /\\([!-/:-@[-`{-~])|(`+)([\s\S]*?[^`])\2(?!`)|\*\*([^*]+)\*\*|\[([^\]]*)\]\((https?:\/\/[^)\s]+)\)|&(amp|lt|gt);/g;
const LETTERS = { amp: '&', lt: '<', gt: '>' };

/** Text with code, bold words, links and escapes. */
function inline(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, letter, , code, bold, words, address, entity] = found;
    parts.push(visible(text.slice(at, found.index)));
    if (letter) parts.push(letter);
    else if (code !== undefined) parts.push(make('code', {}, visible(code.trim() ? code.replace(/^ (.*) $/, '$1') : code)));
    else if (bold) parts.push(make('strong', {}, inline(bold)));
    else if (address) parts.push(make('a', { href: address, rel: 'noreferrer noopener', target: '_blank' }, visible(words)));
    else parts.push(LETTERS[entity]);
    at = found.index + whole.length;
  }
  parts.push(visible(text.slice(at)));
  return parts;
}

/** Cells of a row of a table; \| is no border. */
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim());

function table(lines) {
  const [head, rules, ...rows] = lines.map(cells);
  const numeric = rules.map((rule) => rule.endsWith(':'));
  const cell = (value, place, isHead) => {
    const made = make(isHead || place === 0 ? 'th' : 'td', { className: numeric[place] ? 'number' : '' }, make('bdi', {}, inline(value)));
    if (made.localName === 'th') made.scope = isHead ? 'col' : 'row';
    return made;
  };
  const row = (values, isHead) => make('tr', {}, values.map((value, place) => cell(value, place, isHead)));
  const named = head.some((name) => name);
  return make('div', { className: 'scroll', tabIndex: 0, role: 'group', 'aria-label': 'Table' }, make(
    'table', {}, named ? make('thead', {}, row(head, true)) : null, make('tbody', {}, rows.map((values) => row(values, false)))));
}

/** Elements of a Markdown text. Headings begin at level `level`. */
export function markdown(text, level = 3) {
  const lines = text.replace(/\r\n?/g, '\n').replace(/^---\n[\s\S]*?\n---\n/, '').split('\n'), parts = []; // without front matter
  const take = (test) => {
    const taken = [];
    while (lines.length && test(lines[0])) taken.push(lines.shift());
    return taken;
  };
  while (lines.length) {
    const line = lines[0];
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (!line.trim()) lines.shift();
    else if (heading) {
      parts.push(make(`h${Math.min(6, level + heading[1].length - 1)}`, {}, inline(heading[2])));
      lines.shift();
    } else if (/^ {4}/.test(line)) {
      const code = take((next) => /^ {4}/.test(next) || !next.trim()).map((next) => next.slice(4)).join('\n').trim();
      parts.push(make('pre', { tabIndex: 0 }, visible(code)));
    } else if (/^```/.test(line)) {
      lines.shift();
      const code = take((next) => !/^```/.test(next)).join('\n');
      lines.shift();
      parts.push(make('pre', { tabIndex: 0 }, visible(code)));
    } else if (line.startsWith('|') && /^[|\s:-]+$/.test(lines[1] ?? '') && lines[1].includes('-')) parts.push(table(take((next) => next.startsWith('|'))));
    else if (/^[-*] /.test(line)) parts.push(make('ul', {}, take((next) => /^[-*] /.test(next)).map((next) => make('li', {}, inline(next.slice(2))))));
    else {
      const words = [lines.shift(), ...take((next) => next.trim() && !/^(#|\||```|[-*] )/.test(next))];
      parts.push(make('p', { dir: 'auto' }, inline(words.join('\n'))));
    }
  }
  return parts;
}
