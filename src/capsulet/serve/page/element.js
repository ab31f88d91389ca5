/** Elements of the page, and texts that are safe to show. */

const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** An error whose message is written for the user. */
export class PageError extends Error {
  name = 'PageError';
}

/** The element of the document with this id. */
export const byId = (id) => document.getElementById(id);

/**
 * Make an element. Keys of `properties` with a dash, and `role`, are attributes; the others are properties. Content may be
 * text, elements, and lists of them; null is left out.
 */
export function make(kind, properties = {}, ...content) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes('-') || name === 'role' || name === 'for') made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...content.flat().filter((part) => part !== null && part !== undefined));
  return made;
}

/** A text with controls of direction and other control characters as escapes, so that they cannot reorder the page. */
export const visible = (text) => text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A text without unpaired surrogates, which no engine reads. Places stay the same. */
export const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** A label, a word or a name with its own direction. */
export const isolated = (text) => make('bdi', {}, visible(text));

/** Labels with commas between them; `none` if there are none. */
export const labelList = (labels, none) => (labels.length ? labels.flatMap((label, place) => [place ? ', ' : '', isolated(label)]) : [none]);

/** 0.982 as 98.2 %; what is almost 0 or 1 is not written as 0 or 100 %. */
export function percent(share) {
  if (share <= 0 || share >= 1) return share <= 0 ? '0 %' : '100 %';
  return share < 0.0005 ? '< 0.1 %' : share >= 0.9995 ? '> 99.9 %' : `${(100 * share).toFixed(1)} %`;
}

/** A number with its sign. */
export const signed = (number) => `${number < 0 ? '−' : '+'}${Math.abs(number).toFixed(3)}`;

/** 1234567 as 1,234,567. */
export const whole = (number) => number.toLocaleString('en');

/** "1 text", "2 texts". */
export const counted = (number, noun) => `${whole(number)} ${noun}${number === 1 ? '' : 's'}`;

/** A size in bytes for people. */
export const bytesShown = (size) => (size < 1e6 ? `${Math.max(1, Math.round(size / 1e3))} KB` : `${(size / 1e6).toFixed(1)} MB`);

/** Offer bytes or text as a download. */
export function download(content, name, type) {
  const address = URL.createObjectURL(new Blob([content].flat(), { type }));
  const link = make('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
