/** What a screen reader is told: the last message, once, after the page has been quiet for a moment. */
import { byId } from './element.js';

const QUIET = 900; // milliseconds
let timer;

/** Announce a message politely. A newer message replaces one that has not been read yet. */
export function announce(message, quiet = QUIET) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const place = byId('announcement');
    if (place.textContent !== message) place.textContent = message;
  }, quiet);
}
