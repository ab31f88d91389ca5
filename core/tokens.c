/* Text to tokens by the paper's rule: lower case; [a-z][a-z0-9]* is a token, and so is every other digit or visible character. */
#include "core.h"

#include "casing.h"

enum { DOTTED_I = 0x130, DOT_ABOVE = 0x307 }; /* the lower case of U+0130 is i and a combining dot, a token of its own */

static bool is_letter(uint32_t c) { return (c | 0x20) - 'a' < 26 && c < 0x80; }
static bool is_digit(uint32_t c) { return c - '0' < 10; }

size_t read_character(const uint8_t *from, size_t left, uint32_t *character) {
  uint32_t c = from[0];
  if (c < 0x80) {
    *character = c;
    return 1;
  }
  size_t size = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  uint32_t smallest = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  *character = 0xFFFD;
  if (c < 0xC2 || c > 0xF4 || left < size) return 1;
  uint32_t value = c & (0x7Fu >> size);
  for (size_t i = 1; i < size; i++) {
    if ((from[i] & 0xC0) != 0x80) return 1;
    value = value << 6 | (from[i] & 0x3F);
  }
  if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 1;
  *character = value;
  return size;
}

uint32_t write_character(uint32_t c, char *to) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    to[0] = (char)(0xE0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3F)), to[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  to[0] = (char)(0xF0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 0x3F));
  to[2] = (char)(0x80 | (c >> 6 & 0x3F)), to[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

static uint32_t lower(uint32_t c) {
  if (c < 0x80) return c - 'A' < 26 ? c | 0x20 : c;
  if (c == DOTTED_I) return 'i';
  size_t low = 0, high = sizeof lower_case / sizeof *lower_case;
  while (high - low > 1) { /* the last run that does not begin after c */
    size_t middle = (low + high) / 2;
    if (lower_case[middle].first <= c) low = middle;
    else high = middle;
  }
  const struct run *run = &lower_case[low];
  uint32_t distance = c - run->first;
  bool inside = c >= run->first && distance < (uint32_t)run->count * run->step && distance % run->step == 0;
  return inside ? (uint32_t)((int32_t)c + run->difference) : c;
}

static bool is_space(uint32_t c) {
  if (c < 0x80) return c == 32 || c - 9 < 5;
  for (size_t i = 0; i < sizeof white_space / sizeof *white_space; i++)
    if (white_space[i] == c) return true;
  return false;
}

void finish_word(struct word *word) {
  uint32_t hash = HASH_START;
  uint32_t size = word->size < LONGEST_WORD ? word->size : LONGEST_WORD;
  for (uint32_t i = 0; i < size; i++) hash = HASH_NEXT(hash, word->letters[i]);
  word->hash = HASH_END(hash);
}

/* Appends a letter or digit; letters beyond the longest word are counted only. */
static void append(struct word *word, uint32_t c) {
  if (word->size < LONGEST_WORD) word->letters[word->size] = (char)c;
  if (word->size <= LONGEST_WORD) word->size++;
}

/* The next token of a text of spelled tokens. */
static bool next_spelled(struct reader *reader, struct word *word) {
  while (reader->at < reader->size && reader->text[reader->at] == ' ') reader->at++;
  if (reader->at >= reader->size) return false;
  word->kind = KIND_WORD;
  word->start = reader->at;
  while (reader->at < reader->size && reader->text[reader->at] != ' ') reader->at++;
  word->end = reader->at;
  size_t size = word->end - word->start;
  word->size = size > LONGEST_WORD ? LONGEST_WORD + 1 : (uint32_t)size;
  memcpy(word->letters, reader->text + word->start, word->size < LONGEST_WORD ? word->size : LONGEST_WORD);
  finish_word(word);
  return true;
}

bool next_word(struct reader *reader, struct word *word) {
  if (reader->rule == RULE_UNICODE) return next_unicode_word(reader, word);
  if (reader->rule == RULE_SPELLED) return next_spelled(reader, word);
  word->kind = KIND_WORD;
  if (reader->dot) {
    word->start = reader->at - 2, word->end = reader->at;
    word->size = write_character(DOT_ABOVE, word->letters);
    reader->dot = 0;
    finish_word(word);
    return true;
  }
  const uint8_t *text = reader->text;
  size_t at = reader->at, size = reader->size;
  uint32_t c = 0;
  for (;; ) {
    if (at >= size) {
      reader->at = at;
      return false;
    }
    word->start = at;
    uint32_t original;
    at += read_character(text + at, size - at, &original);
    c = lower(original);
    if (is_space(c)) continue;
    reader->dot = original == DOTTED_I;
    break;
  }
  word->size = write_character(c, word->letters);
  if (is_letter(c) && !reader->dot) {
    while (at < size) {
      uint32_t next = text[at];
      if (next < 0x80) {
        if (is_letter(next)) next |= 0x20;
        else if (!is_digit(next)) break;
        append(word, next);
        at++;
        continue;
      }
      size_t bytes = read_character(text + at, size - at, &next);
      c = lower(next);
      if (!is_letter(c) && !is_digit(c)) break;
      append(word, c);
      at += bytes;
      if (next == DOTTED_I) {
        reader->dot = 1;
        break;
      }
    }
  }
  word->end = reader->at = at;
  finish_word(word);
  return true;
}

struct reader text_reader(const capsulet_model *model, const char *text, size_t size, int form) {
  return (struct reader){.text = (const uint8_t *)text, .size = size < UINT32_MAX ? size : UINT32_MAX,
                         .rule = form == CAPSULET_SPELLED ? RULE_SPELLED : model->rule};
}

int32_t word_id(const capsulet_model *model, const struct word *word) {
  int64_t number = words_find(&model->words, word), shape = -2;
  if (number < 0 && model->rule == RULE_UNICODE) number = shape = words_shape(&model->words, word);
  if (number >= 0) return (int32_t)number + model->first_word;
  if (shape == -2) number = words_similar(&model->words, word); /* another link or number is not similar */
  return number < 0 ? model->unknown : model->vocabulary + (int32_t)number + model->first_word;
}

bool is_known(const capsulet_model *model, const struct word *word) {
  return words_find(&model->words, word) >= 0 || (model->rule == RULE_UNICODE && words_shape(&model->words, word) >= 0);
}

size_t capsulet_tokenize(const capsulet_model *model, const char *text, size_t size, int form, struct capsulet_token *tokens, size_t room) {
  struct reader reader = text_reader(model, text, size, form);
  struct word word;
  size_t count = 0;
  while (count < (size_t)model->max_tokens && next_word(&reader, &word)) {
    if (count < room) tokens[count] = (struct capsulet_token){word_id(model, &word), (uint32_t)word.start, (uint32_t)word.end};
    count++;
  }
  if (!count && room) tokens[0] = (struct capsulet_token){model->unknown, 0, 0};
  return count ? count : 1;
}

#define CUT_OFF "…"

size_t capsulet_spell(const capsulet_model *model, const char *text, size_t size, char *spelled, size_t room) {
  struct reader reader = text_reader(model, text, size, CAPSULET_TEXT);
  struct word word;
  size_t used = 0;
  for (int32_t count = 0; count < model->max_tokens && next_word(&reader, &word); count++) {
    bool cut = word.size > LONGEST_WORD; /* its spelling is also longer than that of any word */
    size_t own = cut ? LONGEST_WORD : word.size, end = own + (cut ? strlen(CUT_OFF) : 0);
    if (used + end < room) {
      memcpy(spelled + used, word.letters, own);
      memcpy(spelled + used + own, CUT_OFF, end - own);
      spelled[used + end] = ' ';
    }
    used += end + 1;
  }
  return used;
}
