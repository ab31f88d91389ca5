/* Text to tokens by the rule `unicode`: words of any script, numbers, addresses, emoji. docs/reference/tokens.md has the rule. */
#include "characters.h"

enum { MOST_MARKS = 30, MOST_REPEATS = 3, LONGEST_LOCAL = 64, LONGEST_DOMAIN = 255 };
enum { ZWJ = 0x200D, EMOJI_STYLE = 0xFE0F, KEYCAP = 0x20E3, DOT_ABOVE = 0x307, FIRST_TAG = 0xE0020, LAST_TAG = 0xE007F };
enum { COENG = 0x17D2, STACKER = 0x1039 }; /* Khmer, Myanmar: the next consonant is written below */

#define L LETTER
#define S SYMBOL
static const uint8_t ascii_class[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* SPACE */
    0, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT,
    S, S, S, S, S, S, S, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, S, S, S, S, S,
    S, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, S, S, S, S, 0,
};
#undef L
#undef S

struct character {
  uint32_t code, value; /* of a digit */
  uint8_t class, combining, flags;
  uint8_t bytes; /* 0: the end of the text */
};

/* A token that is being read; its spelling is in the word. */
struct token {
  const uint8_t *text;
  size_t size, at;
  struct word *word;
  uint32_t marks;    /* in a row */
  uint32_t last;     /* character of the spelling */
  uint8_t combining; /* class of the last character */
  bool disturbed;    /* marks of the spelling must be sorted or composed */
};

static struct character look(const struct token *token, size_t at) {
  struct character c = {0};
  if (at >= token->size) return c;
  c.code = token->text[at];
  if (c.code < 0x80) {
    c.class = ascii_class[c.code], c.bytes = 1, c.value = c.code - '0';
    return c;
  }
  c.bytes = (uint8_t)read_character(token->text + at, token->size - at, &c.code);
  struct property property = property_of(c.code, &c.value);
  c.class = property.class, c.combining = property.combining, c.flags = property.flags;
  return c;
}

/* ---- spelling ---- */

static void put(struct token *token, uint32_t code) {
  struct word *word = token->word;
  token->last = code;
  if (word->size <= LONGEST_WORD) word->size += write_character(code, word->letters + word->size);
}

/* Appends the spelling of a character. */
static void spell(struct token *token, const struct character *c) {
  if (c->class == IGNORED) return;
  token->marks = c->class == MARK ? token->marks + 1 : 0;
  if (token->marks > MOST_MARKS || (c->code == DOT_ABOVE && token->last == 'i')) return;
  if (c->flags & COMPOSES || (c->combining && c->combining < token->combining)) token->disturbed = true;
  token->combining = c->combining;
  if (c->class == DIGIT) {
    put(token, '0' + c->value);
  } else if (c->code < 0x80) {
    put(token, c->code - 'A' < 26 ? c->code | 0x20 : c->code);
  } else if (c->flags & MAPPED) {
    uint32_t spelling[LONGEST_SPELLING], count = spelling_of(c->code, spelling);
    for (uint32_t i = 0; i < count; i++) put(token, spelling[i]);
  } else {
    put(token, c->code);
  }
}

/* Appends a character and goes on behind it. */
static void take(struct token *token, const struct character *c) {
  spell(token, c);
  token->at += c->bytes;
}

/* What an apostrophe or another sign inside a word is spelled as, 0 if the character is not one. */
static uint32_t joiner(uint32_t code) {
  switch (code) {
    case '\'': case 0x2019: case 0xFF07: case 0x5F3: return '\'';
    case 0xB7: case 0x387: return 0xB7;
    case '"': case 0x5F4: return '"';
    default: return 0;
  }
}

/* What a sign between two digits of a number is spelled as, 0 if the character is not one. */
static uint32_t separator(uint32_t code) {
  switch (code) {
    case '.': case ',': case ':': case '/': return code;
    case 0xFF0E: case 0xFF0C: case 0xFF1A: case 0xFF0F: return code - 0xFEE0; /* of full width */
    case 0x66B: return '.';
    case 0x66C: return ',';
    default: return joiner(code) == '\'' ? '\'' : 0;
  }
}

static bool is_hebrew(uint32_t code) { return code >= 0x591 && code <= 0x5F2; }

/* Sorts and composes the marks of a spelling. */
static void compose_spelling(struct word *word) {
  uint32_t decomposed[2 * LONGEST_WORD + 2], count = 0, code; /* two bytes or more become four characters or fewer */
  const uint8_t *letters = (const uint8_t *)word->letters;
  if (word->size > LONGEST_WORD) return;
  for (uint32_t at = 0; at < word->size; count += decompose(code, decomposed + count))
    at += (uint32_t)read_character(letters + at, word->size - at, &code);
  count = compose(decomposed, count);
  word->size = 0;
  for (uint32_t i = 0; i < count && word->size <= LONGEST_WORD; i++)
    word->size += write_character(decomposed[i], word->letters + word->size);
}

/* ---- kinds of tokens ---- */

static bool is_part(uint8_t class) { return class == MARK || class == IGNORED; }

/* Marks and ignored characters that follow. */
static void take_marks(struct token *token) {
  for (struct character c = look(token, token->at); c.bytes && is_part(c.class); c = look(token, token->at)) take(token, &c);
}

/* A run of characters of a class with their marks. */
static void take_run(struct token *token, uint8_t class) {
  for (struct character c = look(token, token->at); c.bytes && (c.class == class || is_part(c.class)); c = look(token, token->at))
    take(token, &c);
}

/* One character of a script without spaces, with its marks. */
static void take_cluster(struct token *token, struct character c) {
  bool below = false;
  do {
    take(token, &c);
    below = c.code == COENG || c.code == STACKER || (below && c.class == IGNORED);
    c = look(token, token->at);
  } while (c.bytes && (is_part(c.class) || (below && c.class == LONE) || (c.class == HANGUL && c.flags & COMPOSES)));
}

static bool is_keycap(const struct token *token, size_t at) {
  struct character c = look(token, at);
  if (c.code == EMOJI_STYLE) c = look(token, at + c.bytes);
  return c.code == KEYCAP;
}

/* A digit, # or * in a key: the sign and U+20E3. */
static bool take_keycap(struct token *token, const struct character *c) {
  if (c->bytes != 1 || !is_keycap(token, token->at + 1)) return false;
  take(token, c);
  take_marks(token);
  token->word->kind = KIND_EMOJI;
  return true;
}

/* An emoji with what is joined to it: colours of skin, other emoji after U+200D, letters of a flag. */
static void take_emoji(struct token *token, struct character c) {
  token->word->kind = KIND_EMOJI;
  take(token, &c);
  for (;;) {
    c = look(token, token->at);
    struct character next = {0};
    if (c.code == ZWJ) next = look(token, token->at + c.bytes);
    if (next.class == PICTOGRAPH) {
      put(token, ZWJ);
      token->at += c.bytes;
      take(token, &next);
    } else if (c.code >= FIRST_TAG && c.code <= LAST_TAG) {
      put(token, c.code);
      token->at += c.bytes;
    } else if (c.bytes && (c.class == MODIFIER || is_part(c.class))) {
      take(token, &c);
    } else {
      return;
    }
  }
}

static void take_flag(struct token *token, const struct character *c) {
  take(token, c);
  struct character second = look(token, token->at);
  if (second.class == REGIONAL) take(token, &second);
  take_marks(token);
}

/* A symbol, or a run of one and the same symbol, of which at most three are spelled. */
static void take_symbols(struct token *token, struct character c) {
  uint32_t code = c.code, repeats = 1, spelling[LONGEST_SPELLING];
  bool single = !(c.flags & MAPPED) || spelling_of(code, spelling) == 1; /* the spelling of U+2026 is three points */
  take(token, &c);
  for (;;) {
    c = look(token, token->at);
    if (c.bytes && is_part(c.class)) {
      take(token, &c);
      if (c.class == MARK) break;
    } else if (c.bytes && c.code == code) {
      if (single && repeats++ < MOST_REPEATS) take(token, &c);
      else token->at += c.bytes;
    } else {
      return;
    }
  }
  take_marks(token);
}

/* @name: letters, digits and _ of scripts with spaces. */
static bool take_name(struct token *token, const struct character *at_sign) {
  struct character c = look(token, token->at + at_sign->bytes);
  if (!c.bytes || (c.class != LETTER && c.class != DIGIT && c.code != '_')) return false;
  token->word->kind = KIND_NAME;
  take(token, at_sign);
  for (; c.bytes && (c.class == LETTER || c.class == DIGIT || is_part(c.class) || c.code == '_'); c = look(token, token->at))
    take(token, &c);
  return true;
}

/* #tag: letters, digits and _ of any script; at least one letter. */
static bool take_tag(struct token *token, const struct character *hash) {
  struct token begun = *token;
  bool letters = false;
  take(token, hash);
  for (;;) {
    struct character c = look(token, token->at);
    bool letter = c.class == LETTER || c.class == HANGUL || c.class == KATAKANA || c.class == LONE;
    bool part = letter || c.class == DIGIT || c.code == '_' || (is_part(c.class) && token->at > begun.at + hash->bytes);
    if (!c.bytes || !part) break;
    letters |= letter;
    take(token, &c);
  }
  if (letters) {
    token->word->kind = KIND_TAG;
    return true;
  }
  *token = begun, token->word->size = 0;
  return false;
}

/* ---- addresses ---- */

static bool begins(const struct token *token, size_t at, const char *name) {
  size_t size = strlen(name);
  if (token->size - at < size) return false;
  for (size_t i = 0; i < size; i++) {
    uint32_t byte = token->text[at + i];
    if ((byte - 'A' < 26 ? byte | 0x20 : byte) != (uint8_t)name[i]) return false;
  }
  return true;
}

static bool in_url(const struct character *c) {
  if (!c->bytes) return false;
  if (c->code >= 0x80) return c->class == LETTER || c->class == MARK || c->class == DIGIT;
  return c->code > ' ' && c->code < 0x7F && !strchr("<>\"{}|\\^`", (int)c->code);
}

/* http://…, https://… or www.…, spelled http:// and the host without www. */
static bool take_url(struct token *token) {
  size_t start = token->at, host = start, end;
  if (begins(token, start, "http://")) host += 7;
  else if (begins(token, start, "https://")) host += 8;
  else if (!begins(token, start, "www.")) return false;
  struct character c = look(token, host);
  if (begins(token, host, "www.")) {
    struct character next = look(token, host + 4);
    if (next.class == LETTER || next.class == DIGIT) host += 4, c = next;
    else if (host == start) return false;
  }
  size_t open = 0, closed = 0; /* a bracket at the end belongs to the link if it was opened there */
  for (end = host; in_url(&c); c = look(token, end)) open += c.code == '(', closed += c.code == ')', end += c.bytes;
  for (uint8_t last; end > host; end--) {
    last = token->text[end - 1];
    if (last == ')' ? closed-- <= open : !strchr(".,;:!?'*~]", last)) break;
  }
  if (end == host) return false;
  token->word->kind = KIND_URL;
  for (const char *letter = "http://"; *letter; letter++) put(token, (uint8_t)*letter);
  for (token->at = host; token->at < end;) {
    c = look(token, token->at);
    if (c.code < 0x80 && strchr("/?#:", (int)c.code)) break;
    take(token, &c);
  }
  token->at = end;
  return true;
}

static bool is_plain(uint8_t byte) { return byte < 0x80 && (ascii_class[byte] == LETTER || ascii_class[byte] == DIGIT); }

/* An e-mail address of ASCII that begins where the word begins. Its parts are bounded, so the time is linear. */
static bool take_address(struct token *token) {
  const uint8_t *text = token->text;
  size_t start = token->word->start, at = start, size = token->size, end = 0;
  while (at < size && at - start <= LONGEST_LOCAL && (is_plain(text[at]) || (text[at] < 0x80 && text[at] && strchr("._%+-", text[at])))) at++;
  if (at >= size || text[at] != '@' || at - start > LONGEST_LOCAL) return false;
  size_t domain = ++at;
  bool dots = false;
  while (at < size && at - domain < LONGEST_DOMAIN && is_plain(text[at])) {
    while (at < size && at - domain < LONGEST_DOMAIN && (is_plain(text[at]) || text[at] == '-')) at++;
    size_t label = at;
    while (text[label - 1] == '-') label--;
    if (dots) end = label;
    if (label < at || at >= size || text[at] != '.') break;
    dots = true, at++;
  }
  if (!end) return false;
  token->word->kind = KIND_ADDRESS, token->word->size = 0, token->disturbed = false;
  for (token->at = start; token->at < end;) {
    struct character c = look(token, token->at);
    take(token, &c);
  }
  return true;
}

/* ---- words and numbers ---- */

/* Whether a sign stays inside a word or number: an apostrophe between letters, a point between digits. */
static uint32_t joined(const struct token *token, const struct character *c, bool number, bool separated) {
  struct character next = look(token, token->at + c->bytes);
  if (number && next.class == DIGIT) return separator(c->code);
  uint32_t spelling = joiner(c->code);
  if (!spelling || separated || next.class != LETTER) return 0;
  return spelling == '"' && !(is_hebrew(token->last) && is_hebrew(next.code)) ? 0 : spelling;
}

static void take_word(struct token *token) {
  bool letters = false, separated = false;
  for (;;) {
    struct character c = look(token, token->at);
    uint32_t sign;
    if (!c.bytes) break;
    if (c.class == LETTER || c.class == MARK) {
      if (separated && c.class == LETTER) break;
      letters |= !separated;
      take(token, &c);
    } else if (c.class == DIGIT || c.class == IGNORED) {
      take(token, &c);
    } else if ((sign = joined(token, &c, !letters, separated))) {
      put(token, sign);
      token->combining = 0, token->marks = 0;
      token->at += c.bytes;
      separated |= !letters && look(token, token->at).class == DIGIT;
    } else {
      break;
    }
  }
  token->word->kind = letters ? KIND_WORD : KIND_NUMBER;
  if (token->at < token->size) {
    uint8_t next = token->text[token->at];
    if (next == '@' || next == '.' || next == '-' || next == '_' || next == '+' || next == '%') take_address(token);
  }
}

/* ---- the fast way ---- */

/* Whether a word of letters and digits ends before place `at`. False is also given if the whole rule must decide. */
static bool ends_word(const uint8_t *text, size_t size, size_t at) {
  if (at >= size || text[at] <= ' ') return true;
  if (text[at] >= 0x80) {
    struct token token = {.text = text, .size = size};
    struct character c = look(&token, at);
    return c.class != LETTER && c.class != DIGIT && !is_part(c.class) && !joiner(c.code);
  }
  switch (text[at]) {
    case '.': return at + 1 >= size || text[at + 1] <= ' ';
    case '"': return text[at - 1] < 0x80; /* not Hebrew */
    case '\'': case '@': case '-': case '_': case '+': case '%': return false;
    default: return true;
  }
}

static bool finish_quick(struct reader *reader, struct word *word, size_t end, uint32_t size, uint32_t hash, enum kind kind) {
  word->start = reader->at, word->end = reader->at = end;
  word->size = size, word->hash = HASH_END(hash), word->kind = kind;
  return true;
}

/* Eight bytes of a text are read as one number, the first byte low. These are eight equal bytes and four equal pairs of bytes. */
#define EIGHT(byte) ((uint64_t)(byte) * 0x0101010101010101u)
#define FOUR(pair) ((uint64_t)(pair) * 0x0001000100010001u)
enum { BLOCK = 8 };

/* The next bytes of a text, with zeros behind its end. */
static uint64_t load_block(const uint8_t *text, size_t left) {
  uint64_t block = 0;
  if (left >= BLOCK) memcpy(&block, text, BLOCK);
  else
    for (size_t i = 0; i < left; i++) block |= (uint64_t)text[i] << 8 * i;
  return block;
}

/* Spells the letters and digits of ASCII in a block. Returns the highest bit of each byte that is neither. */
static uint64_t spell_bytes(uint64_t *block) {
  uint64_t low = *block & EIGHT(0x7F), small = low | EIGHT(0x20), high = EIGHT(0x80);
  uint64_t letters = (small + EIGHT(0x80 - 'a')) & ~(small + EIGHT(0x7F - 'z')) & high; /* a byte's sum stays below 256 */
  uint64_t digits = (low + EIGHT(0x80 - '0')) & ~(low + EIGHT(0x7F - '9')) & high;
  uint64_t others = ((letters | digits) & ~*block & high) ^ high;
  *block |= letters >> 2; /* 0x20 */
  return others;
}

/* Spells the simple letters of two bytes in a block. Returns the highest bit of each pair of bytes that is none. */
static uint64_t spell_pairs(uint64_t *block) {
  uint64_t high = FOUR(0x8000), others = (*block ^ FOUR(0x80C0)) & FOUR(0xC0E0); /* not 110xxxxx 10xxxxxx */
  others = (others | ((others & ~high) + FOUR(0x7FFF))) & high; /* the sum has the highest bit if any below it was set */
  uint64_t code = (*block & FOUR(0x1F)) << 6 | (*block >> 8 & FOUR(0x3F));
  uint64_t cyrillic = (code + FOUR(0x8000 - 0x410)) & ~(code + FOUR(0x8000 - 0x460)) & high;
  if ((cyrillic | others) == high) { /* without the table: only Cyrillic and what is no pair */
    code += (cyrillic & ~(code + FOUR(0x8000 - 0x430))) >> 10; /* capitals + 0x20 */
    *block = FOUR(0x80C0) | (code >> 6 & FOUR(0x1F)) | (code & FOUR(0x3F)) << 8;
    return others;
  }
  uint64_t spelled = 0;
  for (uint32_t shift = 0; shift < 64; shift += 16)
    spelled |= (uint64_t)quick_letters[(*block >> shift & 0x1F) << 6 | (*block >> shift >> 8 & 0x3F)] << shift;
  *block = spelled;
  return (~spelled & high) | others; /* the second byte of a spelling has the highest bit */
}

/* Hash of the first bytes of a block, fewer than all. Words differ in length, so a loop to the last byte would often be
 * predicted wrongly. */
static uint32_t hash_part(uint32_t hash, uint64_t block, uint32_t taken) {
  uint32_t hashes[BLOCK];
  hashes[0] = hash;
  for (uint32_t i = 1; i < BLOCK; i++, block >>= 8) hashes[i] = HASH_NEXT(hashes[i - 1], block);
  return hashes[taken];
}

/* Hash of all bytes of a block. */
static uint32_t hash_block(uint32_t hash, uint64_t block) {
  for (uint32_t i = 0; i < BLOCK; i++) hash = HASH_NEXT(hash, block >> 8 * i);
  return hash;
}

/* Words of simple letters (ASCII, and those of two bytes that have one such letter as their spelling), and single symbols of
 * ASCII: most tokens of most texts. False: the whole rule must read the token. */
static bool next_quick_word(struct reader *reader, struct word *word) {
  const uint8_t *text = reader->text;
  size_t at = reader->at, size = reader->size;
  while (at < size && text[at] <= ' ') at++;
  reader->at = at;
  if (at + 1 >= size || text[at] == 0x7F) return false;
  uint32_t byte = text[at], used = 0, hash = HASH_START;
  if (byte < 0x80 && ascii_class[byte] == SYMBOL) {
    if (byte == '@' || byte == '#') return false;
    for (; at < size && text[at] == byte; at++)
      if (used < MOST_REPEATS) word->letters[used++] = (char)byte, hash = HASH_NEXT(hash, byte);
    return at < size && text[at] < 0x80 && finish_quick(reader, word, at, used, hash, KIND_SYMBOL);
  }
  if ((byte | 0x20) == 'h' && (text[at + 1] | 0x20) == 't') return false; /* links */
  if ((byte | 0x20) == 'w' && (text[at + 1] | 0x20) == 'w') return false;
  char *letters = word->letters;
  while (at < size) {
    uint64_t block = load_block(text + at, size - at), others;
    bool pairs = text[at] >= 0x80;
    uint32_t taken = BLOCK;
    if (used > LONGEST_WORD - BLOCK) return false;
    if (pairs) {
      if ((others = spell_pairs(&block))) taken = (uint32_t)__builtin_ctzll(others) / 16 * 2;
    } else {
      if ((others = spell_bytes(&block))) taken = (uint32_t)__builtin_ctzll(others) / 8;
    }
    memcpy(letters + used, &block, BLOCK);
    at += taken, used += taken;
    if (!others) {
      hash = hash_block(hash, block);
      continue;
    }
    hash = hash_part(hash, block, taken);
    if (at >= size || (pairs ? !is_plain(text[at]) : text[at] < 0x80)) break; /* else letters of the other kind may follow */
  }
  if (!used || !ends_word(text, size, at)) return false;
  bool number = true; /* of digits alone */
  for (uint32_t i = 0; number && i < used; i++) number = (uint8_t)letters[i] <= '9';
  if (number && at < size && (text[at] >= 0x80 || strchr(",:/", text[at]))) return false;
  return finish_quick(reader, word, at, used, hash, number ? KIND_NUMBER : KIND_WORD);
}

/* ---- the whole rule ---- */

static bool next_whole_word(struct reader *reader, struct word *word) {
  struct token token = {.text = reader->text, .size = reader->size, .at = reader->at, .word = word};
  struct character c;
  for (;; token.at += c.bytes) { /* what separates tokens; marks are tokens of their own if they follow nothing else */
    c = look(&token, token.at);
    if (!c.bytes) {
      reader->at = token.at;
      return false;
    }
    if (c.class != SPACE && c.class != IGNORED) break;
  }
  word->start = token.at, word->size = 0, word->kind = KIND_SYMBOL;
  switch (c.class) {
    case LETTER:
      if (!((c.code | 0x20) == 'h' || (c.code | 0x20) == 'w') || !take_url(&token)) take_word(&token);
      break;
    case DIGIT:
      if (!take_keycap(&token, &c)) take_word(&token);
      break;
    case KATAKANA:
      word->kind = KIND_WORD;
      take_run(&token, KATAKANA);
      break;
    case LONE: case HANGUL:
      word->kind = KIND_CHARACTER;
      take_cluster(&token, c);
      break;
    case PICTOGRAPH: case MODIFIER:
      take_emoji(&token, c);
      break;
    case REGIONAL:
      word->kind = KIND_EMOJI;
      take_flag(&token, &c);
      break;
    case MARK:
      take_marks(&token);
      break;
    default:
      if ((c.code == '@' || c.code == 0xFF20) && take_name(&token, &c)) break;
      if ((c.code == '#' || c.code == '*') && take_keycap(&token, &c)) break;
      if ((c.code == '#' || c.code == 0xFF03) && take_tag(&token, &c)) break;
      take_symbols(&token, c);
  }
  if (token.disturbed) compose_spelling(word);
  finish_word(word);
  word->end = reader->at = token.at;
  return true;
}

bool next_unicode_word(struct reader *reader, struct word *word) {
  return next_quick_word(reader, word) || next_whole_word(reader, word);
}

/* ---- shapes ---- */

/* Writes the word that stands for all unknown words of a kind: numbers with as many digits, links, names, tags, addresses, and
 * emoji that begin alike. Returns its size, at most LONGEST_SHAPE, or 0 if a word has no such kind. The kind follows from the
 * spelling, so that a dictionary does not store it. */
uint32_t word_shape(const char *letters, uint32_t size, char *shape) {
  const uint8_t *bytes = (const uint8_t *)letters;
  const char *name = NULL;
  if (size < 1 || size > LONGEST_WORD) return 0;
  if (size > 7 && !memcmp(letters, "http://", 7)) name = "http://…";
  else if (size > 1 && letters[0] == '@' && letters[1] != '@') name = "@…";
  else if (size > 1 && letters[0] == '#' && letters[1] != '#') name = memcmp(letters + 1, "⃣", size < 4 ? 1 : 3) ? "#…" : NULL;
  else if (letters[0] != '@' && letters[0] != '#' && memchr(letters, '@', size)) name = "…@…";
  if (name) {
    uint32_t own = (uint32_t)strlen(name);
    if (own == size && !memcmp(name, letters, size)) return 0;
    memcpy(shape, name, own);
    return own;
  }
  if (bytes[0] < 0x80) {
    uint32_t used = 0;
    bool same = size <= LONGEST_SHAPE;
    for (uint32_t i = 0; i < size; i++) {
      bool digit = (uint32_t)bytes[i] - '0' < 10;
      if (!digit && (!i || !letters[i] || !strchr(".,':/", letters[i]))) return 0;
      same = same && (!digit || letters[i] == '0');
      if (used < LONGEST_SHAPE) shape[used++] = digit ? '0' : letters[i];
    }
    return same ? 0 : used;
  }
  uint32_t code, value, own = (uint32_t)read_character(bytes, size, &code);
  if (own == size || property_of(code, &value).class != PICTOGRAPH) return 0;
  memcpy(shape, letters, own);
  return own;
}

bool is_lone_character(const char *letters, uint32_t size) {
  uint32_t code, value;
  if (!size || (uint8_t)letters[0] < 0x80) return false;
  read_character((const uint8_t *)letters, size, &code);
  uint8_t class = property_of(code, &value).class;
  return class == LONE || class == HANGUL;
}
