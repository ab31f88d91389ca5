/**
 * Unknown words that are read as a similar known word.
 *
 * The rule is that of Python's text/vocabulary.py: take the known word that shares the longest beginning with the unknown
 * word. The beginning must have at least four letters and be at least half of either word. If several known words
 * qualify, take the shortest, then the first in alphabetical order.
 */

const MIN_SHARED = 4; // letters
const AFTER_LETTERS = '{'; // sorts after every letter and digit

/** Finds the known word that is most similar to an unknown one. */
export class SimilarWords {
  /** @param {Map<string, number>} vocabulary */
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
    /** @type {string[] | undefined} known words that are long enough, sorted; built at the first unknown word */
    this.words = undefined;
  }

  /**
   * Return the id of the known word that an unknown word is read as, or undefined if no word is similar enough.
   * @param {string} word
   * @returns {number | undefined}
   */
  idOf(word) {
    this.words ??= [...this.vocabulary.keys()].filter((known) => known.length >= MIN_SHARED).sort(byLetters);
    const place = lowerBound(this.words, word);
    const shared = Math.max(...[place - 1, place].map((near) => sharedLetters(word, this.words[near] ?? '')));
    if (shared < MIN_SHARED) return undefined;
    const beginning = word.slice(0, shared);
    const candidates = this.words.slice(lowerBound(this.words, beginning), lowerBound(this.words, beginning + AFTER_LETTERS));
    const nearest = candidates.reduce((best, other) => (other.length < best.length ? other : best));
    return 2 * shared >= Math.max(word.length, nearest.length) ? this.vocabulary.get(nearest) : undefined;
  }
}

const byLetters = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** Number of equal letters at the beginning of two words. */
function sharedLetters(one, other) {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count++;
  return count;
}

/** Index of the first of these sorted words that is not smaller than `word`. */
function lowerBound(words, word) {
  let low = 0, high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (words[middle] < word) low = middle + 1;
    else high = middle;
  }
  return low;
}
