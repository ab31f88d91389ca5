/**
 * Words that a model does not know, read as words that it knows and that begin alike.
 *
 * The same rule as in Python: of the known words the one whose beginning is the same for the most letters, at least four
 * and half of either word; of several the shortest, then the first in the order of their letters.
 */

const LEAST = 4; // letters that must be the same
const AFTER = '{'; // sorts behind every letter and digit

export class Likeness {
  /** @param {Map<string, number>} vocabulary */
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
    /** @type {string[] | undefined} those that are long enough, in order; sorted when the first unknown word comes */
    this.words = undefined;
  }

  /**
   * The id of the known word that an unknown one is read as, if there is one.
   * @param {string} word
   * @returns {number | undefined}
   */
  number(word) {
    this.words ??= [...this.vocabulary.keys()].filter((known) => known.length >= LEAST).sort(byLetters);
    const place = firstFrom(this.words, word);
    const shared = Math.max(...[place - 1, place].map((near) => sameLetters(word, this.words[near] ?? '')));
    if (shared < LEAST) return undefined;
    const beginning = word.slice(0, shared);
    const alike = this.words.slice(firstFrom(this.words, beginning), firstFrom(this.words, beginning + AFTER));
    const found = alike.reduce((best, other) => (other.length < best.length ? other : best));
    return 2 * shared >= Math.max(word.length, found.length) ? this.vocabulary.get(found) : undefined;
  }
}

const byLetters = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** How many letters two words have in common from their beginnings on. */
function sameLetters(one, other) {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count++;
  return count;
}

/** The place of the first of these sorted words that is not before another one. */
function firstFrom(words, word) {
  let low = 0, high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (words[middle] < word) low = middle + 1;
    else high = middle;
  }
  return low;
}
