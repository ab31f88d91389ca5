/** A small reader of XML: tags and texts in order. It expands no entities but those of characters. */
import { PageError } from './element.js';

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{1,8}));/g;

/** A text with its entities as characters. */
export function unescaped(text) {
  if (!text.includes('&')) return text;
  return text.replace(ENTITY, (whole, decimal, hexadecimal, name) => {
    const code = decimal ? Number(decimal) : hexadecimal ? parseInt(hexadecimal, 16) : null;
    if (code === null) return ENTITIES[name] ?? whole;
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** A text for XML. Characters that XML cannot have become spreadsheet escapes, such as _x0001_. */
export function escaped(text) {
  const code = (letter) => letter.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase();
  return text.replace(/[&<>"]/g, (letter) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[letter])
    .replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/g, (letter) => `_x${code(letter)}_`);
}

const patterns = new Map(); // by the name of the attribute

/** The value of an attribute in the inside of a tag, or undefined. */
export function attribute(inside, name) {
  if (!patterns.has(name)) patterns.set(name, new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`));
  const found = patterns.get(name).exec(inside);
  return found ? unescaped(found[1] ?? found[2]) : undefined;
}

/**
 * Call `onTag` with every tag: { name, prefix, inside, opens, closes, start, end }, and `onText` with every text. An empty
 * tag opens and closes. Names have no prefix. Comments and processing instructions are left out.
 */
export function scan(xml, onTag, onText = () => {}) {
  let at = 0;
  const upTo = (mark, from) => {
    const found = xml.indexOf(mark, from);
    if (found < 0) throw new PageError('the XML in the file is damaged: a tag is not closed. Save the file again');
    return found + mark.length;
  };
  for (;;) {
    const start = xml.indexOf('<', at);
    if (start < 0) return;
    if (start > at) onText(xml.slice(at, start));
    if (xml.startsWith('<!--', start)) at = upTo('-->', start);
    else if (xml.startsWith('<![CDATA[', start)) {
      at = upTo(']]>', start);
      onText(xml.slice(start + 9, at - 3).replaceAll('&', '&amp;'));
    } else if (xml[start + 1] === '?' || xml[start + 1] === '!') at = upTo('>', start);
    else {
      at = tagEnd(xml, start + 1, upTo);
      onTag(tag(xml, start, at));
    }
  }
}

/** The place after a tag; a quoted value may contain >. */
function tagEnd(xml, from, upTo) {
  for (let at = from; at < xml.length; at++) {
    const letter = xml[at];
    if (letter === '>') return at + 1;
    if (letter === '"' || letter === "'") at = upTo(letter, at + 1) - 1;
  }
  return upTo('>', from);
}

function tag(xml, start, end) {
  const isEnd = xml[start + 1] === '/', isEmpty = xml[end - 2] === '/';
  const inside = xml.slice(start + (isEnd ? 2 : 1), end - (isEmpty ? 2 : 1));
  let size = inside.search(/\s/);
  if (size < 0) size = inside.length;
  const whole = inside.slice(0, size), colon = whole.indexOf(':') + 1;
  return {
    name: whole.slice(colon), prefix: whole.slice(0, colon), inside: inside.slice(size),
    opens: !isEnd, closes: isEnd || isEmpty, start, end,
  };
}
