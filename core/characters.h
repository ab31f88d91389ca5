/* Characters of the token rule `unicode`: class and spelling of each, and composition of several (NFC). Only unicode_tokens.c
 * includes this file and its tables. */
#ifndef CAPSULET_CHARACTERS_H
#define CAPSULET_CHARACTERS_H

#include "core.h"

#include "unicode_tables.h"

enum { LAST_PAGE = 0x200, LONGEST_SPELLING = 24 }; /* pages of 256 characters; characters of one spelling */
enum { LEAD = 0x1100, VOWEL = 0x1161, TAIL = 0x11A7, SYLLABLE = 0xAC00, VOWELS = 21, TAILS = 28, SYLLABLES = 11172 };

/* The property of a character; of a digit also its value. */
static struct property property_of(uint32_t c, uint32_t *value) {
  uint32_t page = c >> 8;
  if (page >= LAST_PAGE) { /* Han, then tags and variation selectors, then private characters */
    uint8_t class = c < 0x40000 ? LONE : c >= 0xE0000 && c < 0xE1000 ? IGNORED : SYMBOL;
    return (struct property){class, 0, 0};
  }
  uint32_t place = pages[page], end = place + page_runs[page];
  while (end - place > 1) { /* the last run that does not begin after c */
    uint32_t middle = (place + end) / 2;
    if (runs[2 * middle] <= (c & 255)) place = middle;
    else end = middle;
  }
  *value = ((c & 255) - runs[2 * place]) % 10; /* runs of digits begin with a zero */
  return properties[runs[2 * place + 1]];
}

static uint32_t read_string(const uint8_t *from, uint32_t *to) {
  uint32_t count = 0;
  for (size_t at = 1; at <= from[0]; count++) at += read_character(from + at, 4, to + count);
  return count;
}

/* Writes the spelling of a character with the flag MAPPED; returns how many characters it has. */
static uint32_t spelling_of(uint32_t c, uint32_t *to) {
  bool high = c >= 0x10000;
  to[0] = c;
  if (c - 0xF900 < sizeof han_spelling / sizeof *han_spelling) {
    to[0] = han_spelling[c - 0xF900];
    return 1;
  }
  uint32_t first = high ? MAPPED_LOW : 0, end = high ? MAPPED_RUNS : MAPPED_LOW, key = c & 0xFFFF;
  if (key < mapped_first[first]) return 1;
  while (end - first > 1) { /* the last run that does not begin after c */
    uint32_t middle = (first + end) / 2;
    if (mapped_first[middle] <= key) first = middle;
    else end = middle;
  }
  uint32_t form = mapped_form[first], place = key - mapped_first[first], step = form & RUN_STEP_TWO && !(form & RUN_STRINGS) ? 2 : 1;
  if (place >= (form & RUN_LENGTH) * step || place % step) return 1;
  if (!(form & RUN_STRINGS)) {
    to[0] = mapped_value[first] + place + (high && !(form & RUN_LOW_PLANE) ? 0x10000 : 0);
    return 1;
  }
  const uint8_t *string = mapped_strings + mapped_value[first];
  while (place--) string += 1 + string[0];
  return read_string(string, to);
}

/* ---- composition ---- */

/* Writes the canonical decomposition of a character, at most four. */
static uint32_t decompose(uint32_t c, uint32_t *to) {
  if (c - SYLLABLE < SYLLABLES) {
    uint32_t number = c - SYLLABLE;
    to[0] = LEAD + number / (VOWELS * TAILS), to[1] = VOWEL + number / TAILS % VOWELS, to[2] = TAIL + number % TAILS;
    return number % TAILS ? 3 : 2;
  }
  uint32_t plane = c & 0x10000, first = plane ? PAIRS_LOW : 0, end = plane ? PAIRS : PAIRS_LOW;
  to[0] = c;
  if (c < 0xC0 || (c >= 0x3100 && c < 0xFB00) || c >= 0x20000) return 1;
  while (first < end && pair_whole[first] != (c & 0xFFFF)) first++; /* rare: only spellings that marks changed come here */
  if (first == end) return 1;
  uint32_t count = decompose(pair_first[first] | plane, to); /* twice at most */
  to[count] = pair_second[first] | plane;
  return count + 1;
}

/* The character that two are composed to, 0 if there is none. */
static uint32_t composed(uint32_t left, uint32_t right) {
  if (left - LEAD < 19 && right - VOWEL < VOWELS) return SYLLABLE + ((left - LEAD) * VOWELS + right - VOWEL) * TAILS;
  if (left - SYLLABLE < SYLLABLES && !((left - SYLLABLE) % TAILS) && right - TAIL - 1 < TAILS - 1) return left + right - TAIL;
  uint32_t plane = left & 0x10000, first = plane ? PAIRS_LOW : 0, end = plane ? PAIRS : PAIRS_LOW;
  uint32_t key = left << 16 | (right & 0xFFFF);
  if (left >= 0x20000 || plane != (right & ~0xFFFFu)) return 0;
  while (end - first > 1) {
    uint32_t middle = (first + end) / 2;
    if (((uint32_t)pair_first[middle] << 16 | pair_second[middle]) <= key) first = middle;
    else end = middle;
  }
  return ((uint32_t)pair_first[first] << 16 | pair_second[first]) == key ? pair_whole[first] | plane : 0;
}

static uint8_t combining(uint32_t c) {
  uint32_t value;
  return c < 0x300 ? 0 : property_of(c, &value).combining;
}

/* Sorts the marks after each letter and composes, in place (NFC); returns how many characters are left. The time is linear
 * because a caller puts at most MOST_MARKS after a letter. */
static uint32_t compose(uint32_t *text, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) { /* stable insertion */
    uint32_t c = text[i], place = i;
    uint8_t class = combining(c);
    while (class && place && combining(text[place - 1]) > class) text[place] = text[place - 1], place--;
    text[place] = c;
  }
  uint32_t kept = 0, starter = UINT32_MAX;
  int last = 0; /* class of the last character that was kept after the starter; -1: none was kept */
  for (uint32_t i = 0; i < count; i++) {
    uint8_t class = combining(text[i]);
    uint32_t whole = starter != UINT32_MAX && last < class ? composed(text[starter], text[i]) : 0;
    if (whole) {
      text[starter] = whole;
      continue;
    }
    if (!class) starter = kept, last = -1;
    else last = class;
    text[kept++] = text[i];
  }
  return kept;
}

#endif
