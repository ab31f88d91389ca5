/** The words of a text, coloured by their contributions, and the strongest ones as a table. */
import { isolated, make, signed, visible } from './element.js';

const FAINT = 0.15; // relative to the strongest word: weaker words are not marked
const MOST_WORDS = 8;

/** The text with its words marked: for the label, or against it. */
export function markedText(text, tokens) {
  const largest = tokens.reduce((most, { contribution }) => Math.max(most, Math.abs(contribution)), 0) || 1;
  const pieces = [];
  let at = 0;
  for (const { start, end, contribution } of tokens) {
    const strength = Math.abs(contribution) / largest;
    if (strength < FAINT || end <= at) continue; // one character may be two tokens: show it once
    const mark = make('mark', { className: contribution > 0 ? 'for' : 'against', title: signed(contribution) }, visible(text.slice(start, end)));
    mark.style.setProperty('--strength', strength.toFixed(3));
    pieces.push(visible(text.slice(at, start)), mark);
    at = end;
  }
  return [...pieces, visible(text.slice(at))];
}

/** A table of the strongest words, of the others together, and of their sum. */
export function strongestWords(tokens, sum, caption) {
  const row = (word, number) => make('tr', {}, make('th', { scope: 'row' }, word), make('td', { className: 'number' }, signed(number)));
  const ranked = tokens.toSorted((one, other) => Math.abs(other.contribution) - Math.abs(one.contribution));
  const rows = ranked.slice(0, MOST_WORDS).map((token) => row(token.text ? isolated(token.text) : '(no word)', token.contribution));
  const rest = ranked.slice(MOST_WORDS);
  if (rest.length) rows.push(row(`${rest.length} more`, rest.reduce((total, token) => total + token.contribution, 0)));
  return make(
    'table', {}, make('caption', { className: 'unseen' }, caption),
    make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'word'), make('th', { scope: 'col', className: 'number' }, 'contribution'))),
    make('tbody', {}, rows), make('tfoot', {}, row('sum', sum)));
}
