/* The n-gram features of a text: words, pairs of neighbouring words, and pieces of words, each a hash of 64 bits.
 *
 * Pieces are the character n-grams of a word between a begin and an end sign. Characters of a script without spaces are tokens;
 * a run of them is read like one word, so its pieces cover several tokens. Prediction (features.c) and training
 * (src/capsulet/native/ngrams.c) both read texts with these functions. */
#ifndef CAPSULET_NGRAMS_H
#define CAPSULET_NGRAMS_H

#include "core.h"

enum {
  LONGEST_PIECE = 8,  /* characters */
  MOST_LETTERS = 64,  /* of a word that pieces are made of; bounds the work per token */
  MOST_TIMES = 255,   /* occurrences of a feature in a text that are counted */
  WHOLE = 0, PIECE = 1, /* blocks of features: words and pairs; pieces. The lowest bit of a hash is its block */
};

typedef void ngram_emitter(void *to, uint64_t hash, uint32_t first, uint32_t tokens); /* a feature, and the tokens it covers */

struct ngrams { /* reads the words of a text one by one */
  int32_t pieces; /* characters of the longest piece; 0: no pieces */
  void *to;
  uint32_t token;  /* number of the next word */
  uint64_t before; /* hash of the word before it */
  bool paired;     /* there is a word before it that has features */
  bool running;    /* the word before it is part of a run of characters */
  uint64_t units[LONGEST_PIECE]; /* the last characters, newest at (filled - 1) % LONGEST_PIECE */
  uint32_t owners[LONGEST_PIECE]; /* their tokens */
  uint32_t filled;
};

/* The functions below take the emitter as an argument and are inlined, so that a known emitter is inlined, too. */
#define NGRAM_INLINE static inline __attribute__((always_inline))

static inline uint64_t ngram_step(uint64_t hash, uint64_t unit) {
  hash = (hash ^ unit) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

/* What a feature counts that a text has `times` times, in sixteenths, where occurrences count: 1 + log2(times), with straight lines
 * between the powers of two. At most 8.94. */
static inline uint32_t ngram_factor(uint32_t times) {
  uint32_t power = 31 - (uint32_t)__builtin_clz(times < MOST_TIMES ? times : MOST_TIMES);
  return 16 * power + ((times < MOST_TIMES ? times : MOST_TIMES) << 4 >> power);
}

/* The rows of a table of `rows` rows where a feature may be, and its check, 1 to 255. */
struct ngram_place {
  uint32_t rows[2];
  uint8_t check;
};

static inline struct ngram_place ngram_place(uint64_t hash, uint32_t rows) {
  hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCDu;
  hash = (hash ^ hash >> 33) * 0xC4CEB9FE1A85EC53u;
  hash ^= hash >> 33;
  uint8_t check = (uint8_t)((hash * 0xD6E8FEB86659FD93u) >> 56);
  return (struct ngram_place){{(uint32_t)((hash >> 32) * rows >> 32), (uint32_t)((hash & 0xFFFFFFFFu) * rows >> 32)},
                              check ? check : 1};
}

enum { BEGIN_SIGN = 0x110000, END_SIGN = 0x110001, CLUSTER = 0x110002 }; /* beyond the code points */
#define WORD_SEED 0x243F6A8885A308D3u
#define PAIR_SEED 0x13198A2E03707344u
#define PIECE_SEED 0xA4093822299F31D0u

NGRAM_INLINE void ngram_emit(const struct ngrams *reader, uint64_t hash, int block, uint32_t first, uint32_t last, ngram_emitter *emit) {
  emit(reader->to, (hash & ~(uint64_t)1) | (uint64_t)block, first, last - first + 1);
}

/* Adds a character and emits the pieces of at least `shortest` characters that end with it. */
NGRAM_INLINE void ngram_unit(struct ngrams *reader, uint64_t unit, uint32_t owner, int32_t shortest, ngram_emitter *emit) {
  uint32_t newest = reader->filled++;
  reader->units[newest % LONGEST_PIECE] = unit;
  reader->owners[newest % LONGEST_PIECE] = owner;
  uint64_t hash = PIECE_SEED;
  for (int32_t size = 1; size <= reader->pieces && (uint32_t)size <= reader->filled; size++) {
    uint32_t oldest = (newest + 1 - (uint32_t)size) % LONGEST_PIECE;
    hash = ngram_step(hash, reader->units[oldest]);
    if (size >= shortest) ngram_emit(reader, hash, PIECE, reader->owners[oldest], owner, emit);
  }
}

NGRAM_INLINE void ngram_end_run(struct ngrams *reader, ngram_emitter *emit) {
  if (reader->running) ngram_unit(reader, END_SIGN, reader->token - 1, 2, emit);
  reader->running = false;
}

/* Emits the pieces of a word, of at least `shortest` characters. A word of one character has none: it is its own only piece. */
NGRAM_INLINE void ngram_letters(struct ngrams *reader, const uint8_t *letters, uint32_t size, int32_t shortest, ngram_emitter *emit) {
  uint32_t character, token = reader->token;
  if (!size || read_character(letters, size, &character) == size) return;
  reader->filled = 0;
  ngram_unit(reader, BEGIN_SIGN, token, 2, emit);
  uint32_t count = 0;
  for (size_t at = 0; at < size && count < MOST_LETTERS; count++) {
    at += read_character(letters + at, size - at, &character);
    ngram_unit(reader, character, token, shortest, emit);
  }
  ngram_unit(reader, END_SIGN, token, 2, emit);
}

/* Emits the pieces that the codes of a word are made of; none for a character of a script without spaces. */
NGRAM_INLINE void code_pieces(struct ngrams *reader, const char *letters, uint32_t size, ngram_emitter *emit) {
  if (!is_lone_character(letters, size)) ngram_letters(reader, (const uint8_t *)letters, size, 2, emit);
}

/* Row of a piece in a table of codes. */
static inline uint32_t code_row(uint64_t hash, uint32_t rows) { return ngram_place(hash, rows).rows[0]; }

/* Emits the features that end with a word. A word of more than LONGEST_WORD bytes, or of none, has no features. */
NGRAM_INLINE void ngram_word(struct ngrams *reader, const struct word *word, ngram_emitter *emit) {
  uint32_t token = reader->token, size = word->size;
  if (!size || size > LONGEST_WORD) {
    ngram_end_run(reader, emit);
    reader->paired = false;
    reader->token++;
    return;
  }
  const uint8_t *letters = (const uint8_t *)word->letters;
  uint64_t hash = WORD_SEED;
  for (uint32_t i = 0; i < size; i++) hash = (hash ^ letters[i]) * 0x100000001B3u;
  hash = ngram_step(hash, size);
  ngram_emit(reader, hash, WHOLE, token, token, emit);
  if (reader->paired) ngram_emit(reader, ngram_step(ngram_step(PAIR_SEED, reader->before), hash), WHOLE, token - 1, token, emit);
  reader->before = hash, reader->paired = true;
  if (reader->pieces) {
    uint32_t character;
    size_t first = read_character(letters, size, &character);
    if (is_lone_character(word->letters, size)) {
      if (!reader->running) reader->filled = 0, ngram_unit(reader, BEGIN_SIGN, token, 2, emit);
      ngram_unit(reader, first < size ? CLUSTER ^ hash : character, token, 2, emit); /* the word is its only piece of one character */
      reader->running = true;
    } else {
      ngram_end_run(reader, emit);
      ngram_letters(reader, letters, size, 1, emit);
    }
  }
  reader->token++;
}

/* Emits what remains after the last word. */
NGRAM_INLINE void ngram_end(struct ngrams *reader, ngram_emitter *emit) { ngram_end_run(reader, emit); }

/* ---- features.c ---- */

enum { AHEAD = 64 }; /* features that are looked up together, so that the memory of one is fetched while others are read */

struct feature { /* where the table may have it, and the tokens it covers */
  struct ngram_place place;
  uint32_t first, tokens;
  uint32_t block; /* WHOLE or PIECE */
};

struct hit { /* an occurrence of a feature in a text */
  uint32_t key;           /* 2 row + block */
  uint32_t first, tokens; /* the tokens it covers */
};

struct hits { /* the features of a text that the table has; reused for the next text */
  bool keep; /* set before the first text: occurrences are needed, for ngram_parts */
  const capsulet_model *model;
  uint32_t *rows[2];  /* rows of each block, each once */
  uint32_t counts[2]; /* of these rows */
  uint32_t room;      /* for each block */
  uint32_t *slots;    /* hash table: key of a row with the number of the text in its highest bits; older ones are free */
  bool counted;       /* occurrences are counted, for the scores or for ngram_parts */
  uint32_t *times;    /* occurrences of the row in each slot, if they are counted */
  uint32_t mask, text;
  struct hit *items; /* occurrences, if they are kept */
  uint32_t item_count, item_room;
  bool failed; /* there was no memory */
  struct feature ahead[AHEAD];
  uint32_t waiting; /* features in `ahead` */
  struct ngrams reader;
};

void hits_start(struct hits *hits, const capsulet_model *model);
void hits_word(struct hits *hits, const struct word *word);
int hits_end(struct hits *hits);
void hits_free(struct hits *hits);
/* Scores (C) of the n-gram features of a text (`sums` is room for 2 C), and the share of each token in some of them (T, wanted). */
void ngram_scores(const capsulet_model *model, const struct hits *hits, int64_t *sums, float *scores);
void ngram_parts(const capsulet_model *model, const struct hits *hits, size_t tokens, const int32_t *classes, size_t wanted, float *parts);

#endif
