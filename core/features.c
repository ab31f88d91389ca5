/* N-gram features: a table with a row of small integers per feature. A feature counts once per text, or by its occurrences.
 *
 * The scores of a text are the sum of its rows, divided by the square root of their number: once for words and pairs, once for
 * pieces, then added; plus a bias per class. Where occurrences count, a row is multiplied by its factor (ngram_factor), and the
 * sum is divided by the square root of the sum of the squared factors. A row has a check byte of its feature. A feature that the
 * table does not have is therefore rarely taken for another one (once in about 255 cases per row). */
#include "ngrams.h"

#include "numbers.h"

enum { KEY_BITS = 25, LAST_TEXT = (1 << (32 - KEY_BITS)) - 1, FEWEST_SLOTS = 4096, FEW_CLASSES = 32 };
#define KEY_MASK ((1u << KEY_BITS) - 1)

/* The slot of a key, or the free one where it belongs. A word and a piece that share a row by an error of the check have
 * different keys: they count separately. */
static inline uint32_t slot_of(const struct hits *hits, uint32_t key) {
  uint32_t slot = key * 2654435769u >> 7 & hits->mask, wanted = hits->text << KEY_BITS | key;
  /* one rare branch: whether the row is new is hard to predict, but seldom another one is in its slot */
  while ((hits->slots[slot] != wanted) & (hits->slots[slot] >> KEY_BITS == hits->text)) slot = (slot + 1) & hits->mask;
  return slot;
}

/* Makes room for `more` rows in each block. */
static bool grow(struct hits *hits, uint32_t more) {
  uint32_t room = hits->room ? hits->room : FEWEST_SLOTS / 8, counts[] = {hits->counts[WHOLE], hits->counts[PIECE]};
  while (room < counts[WHOLE] + more || room < counts[PIECE] + more) room *= 2;
  if (room == hits->room) return true;
  for (int block = 0; block < 2; block++) {
    uint32_t *rows = fits(room, sizeof *rows) ? realloc(hits->rows[block], room * sizeof *rows) : NULL;
    if (!rows) return false;
    hits->rows[block] = rows;
  }
  struct hits old = *hits;
  hits->slots = reserve_zeros((uint64_t)8 * room, sizeof *hits->slots);
  hits->times = hits->counted ? reserve_zeros((uint64_t)8 * room, sizeof *hits->times) : NULL;
  if (!hits->slots || (hits->counted && !hits->times)) {
    free(hits->slots);
    hits->slots = old.slots, hits->times = old.times;
    return false;
  }
  hits->mask = 8 * room - 1, hits->room = room;
  for (uint32_t i = 0; old.slots && i <= old.mask; i++)
    if (old.slots[i] >> KEY_BITS == hits->text) {
      uint32_t slot = slot_of(hits, old.slots[i] & KEY_MASK);
      hits->slots[slot] = old.slots[i];
      if (hits->counted) hits->times[slot] = old.times[i];
    }
  free(old.slots);
  free(old.times);
  return true;
}

static bool grow_items(struct hits *hits, uint32_t more) {
  uint32_t room = hits->item_room ? hits->item_room : 1024;
  while (room < hits->item_count + more) room *= 2;
  if (room == hits->item_room) return true;
  struct hit *items = fits(room, sizeof *items) ? realloc(hits->items, room * sizeof *items) : NULL;
  if (!items) return false;
  hits->items = items, hits->item_room = room;
  return true;
}

/* Looks up the features that wait. Few branches depend on the features: nobody could predict them. */
static void look_up(struct hits *hits) {
  const capsulet_model *model = hits->model;
  const uint8_t *checks = model->ngram_checks;
  uint32_t count = hits->waiting, found = 0, keys[AHEAD], from[AHEAD];
  hits->waiting = 0;
  if (hits->failed) return;
  if (!grow(hits, count) || (hits->keep && !grow_items(hits, count))) {
    hits->failed = true;
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct feature *feature = &hits->ahead[i];
    bool first = checks[feature->place.rows[0]] == feature->place.check, second = checks[feature->place.rows[1]] == feature->place.check;
    keys[found] = 2 * feature->place.rows[first ? 0 : 1] + feature->block;
    from[found] = i;
    found += first | second;
  }
  for (uint32_t i = 0; i < found; i++) {
    uint32_t key = keys[i], row = key >> 1, block = key & 1, slot = slot_of(hits, key), wanted = hits->text << KEY_BITS | key;
    bool new = hits->slots[slot] != wanted;
    __builtin_prefetch(model->ngram_levels + (size_t)row * model->ngram_row_bytes);
    hits->slots[slot] = wanted;
    hits->rows[block][hits->counts[block]] = row;
    hits->counts[block] += new;
    if (hits->counted) hits->times[slot] = new ? 1 : hits->times[slot] + 1;
    if (hits->keep) {
      const struct feature *feature = &hits->ahead[from[i]];
      hits->items[hits->item_count++] = (struct hit){key, feature->first, feature->tokens};
    }
  }
}

static inline void note(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  struct hits *hits = to;
  struct ngram_place place = ngram_place(hash, hits->model->ngram_rows);
  __builtin_prefetch(hits->model->ngram_checks + place.rows[0]);
  __builtin_prefetch(hits->model->ngram_checks + place.rows[1]);
  hits->ahead[hits->waiting++] = (struct feature){place, first, tokens, (uint32_t)(hash & 1)};
  if (hits->waiting == AHEAD) look_up(hits);
}

void hits_start(struct hits *hits, const capsulet_model *model) {
  if (hits->text++ == LAST_TEXT) {
    if (hits->slots) memset(hits->slots, 0, ((size_t)hits->mask + 1) * sizeof *hits->slots);
    hits->text = 1;
  }
  hits->model = model, hits->counted = hits->keep || model->ngram_counts;
  hits->counts[WHOLE] = hits->counts[PIECE] = hits->item_count = hits->waiting = 0;
  hits->reader = (struct ngrams){.pieces = model->pieces, .to = hits};
}

void hits_word(struct hits *hits, const struct word *word) { ngram_word(&hits->reader, word, note); }

int hits_end(struct hits *hits) {
  ngram_end(&hits->reader, note);
  look_up(hits);
  return hits->failed ? CAPSULET_NO_MEMORY : CAPSULET_OK;
}

void hits_free(struct hits *hits) {
  free(hits->rows[WHOLE]);
  free(hits->rows[PIECE]);
  free(hits->slots);
  free(hits->times);
  free(hits->items);
}

static int32_t level(const capsulet_model *model, const uint8_t *row, int32_t class) {
  int32_t bits = model->ngram_bits;
  if (bits == 8) return (int8_t)row[class];
  return (row[class * bits / 8] >> (class * bits % 8) & ((1 << bits) - 1)) - (1 << (bits - 1));
}

static const uint8_t *row_of(const capsulet_model *model, uint32_t row) {
  return model->ngram_levels + (size_t)row * model->ngram_row_bytes;
}

/* How much a row counts in the text, in sixteenths; 1 where occurrences do not count. */
static uint32_t factor_of(const capsulet_model *model, const struct hits *hits, uint32_t key) {
  return model->ngram_counts ? ngram_factor(hits->times[slot_of(hits, key)]) : 1;
}

/* Roots of the sums of the squared factors of each block. */
static void roots(const capsulet_model *model, const struct hits *hits, float under[2]) {
  for (uint32_t block = 0; block < 2; block++) {
    uint64_t squares = hits->counts[block];
    for (uint32_t i = 0; model->ngram_counts && i < hits->counts[block]; i++) {
      uint64_t factor = factor_of(model, hits, 2 * hits->rows[block][i] + block);
      squares += factor * factor - 1;
    }
    under[block] = root((float)(squares ? squares : 1));
  }
}

typedef int8_t four_bytes __attribute__((vector_size(4), aligned(1), may_alias));
typedef int32_t four_sums __attribute__((vector_size(16), aligned(4), may_alias));

/* Sums (C) of rows of few classes: one class, or four, after the other, so that the sum stays in a register. */
static void sum_few(const capsulet_model *model, const uint32_t *rows, uint32_t count, int32_t *sums) {
  int32_t class = 0, bits = model->ngram_bits;
  for (; bits == 8 && class + 4 <= model->classes; class += 4) {
    four_sums sum = {0};
    for (uint32_t i = 0; i < count; i++)
      sum += __builtin_convertvector(*(const four_bytes *)(const void *)(row_of(model, rows[i]) + class), four_sums);
    *(four_sums *)(void *)(sums + class) = sum;
  }
  for (; class < model->classes; class++) {
    int32_t sum = 0;
    if (bits == 8)
      for (uint32_t i = 0; i < count; i++) sum += (int8_t)row_of(model, rows[i])[class];
    else
      for (uint32_t i = 0; i < count; i++) sum += level(model, row_of(model, rows[i]), class);
    sums[class] = sum;
  }
}

/* Sums (C) of rows of many classes: one row after the other. */
static void sum_many(const capsulet_model *model, const uint32_t *rows, uint32_t count, int32_t *sums) {
  int32_t classes = model->classes;
  memset(sums, 0, (size_t)classes * sizeof *sums);
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *row = row_of(model, rows[i]);
    if (model->ngram_bits == 8)
      for (int32_t class = 0; class < classes; class++) sums[class] += (int8_t)row[class];
    else
      for (int32_t class = 0; class < classes; class++) sums[class] += level(model, row, class);
  }
}

/* Sums (C) of the rows of a block times their factors. */
static void sum_counted(const capsulet_model *model, const struct hits *hits, uint32_t block, int64_t *sums) {
  memset(sums, 0, (size_t)model->classes * sizeof *sums);
  for (uint32_t i = 0; i < hits->counts[block]; i++) {
    const uint8_t *row = row_of(model, hits->rows[block][i]);
    int32_t factor = (int32_t)factor_of(model, hits, 2 * hits->rows[block][i] + block);
    for (int32_t class = 0; class < model->classes; class++) sums[class] += factor * level(model, row, class);
  }
}

void ngram_scores(const capsulet_model *model, const struct hits *hits, int64_t *sums, float *scores) {
  float under[2];
  size_t classes = (size_t)model->classes;
  int32_t *once = (int32_t *)(void *)sums;
  roots(model, hits, under);
  for (uint32_t block = 0; block < 2; block++)
    if (model->ngram_counts) sum_counted(model, hits, block, sums + block * classes);
    else (classes < FEW_CLASSES ? sum_few : sum_many)(model, hits->rows[block], hits->counts[block], once + block * classes);
  for (size_t class = 0; class < classes; class++) {
    float first = model->ngram_counts ? (float)sums[class] : (float)once[class];
    float second = model->ngram_counts ? (float)sums[classes + class] : (float)once[classes + class];
    scores[class] = (first / under[0] + second / under[1]) * model->ngram_scales[class] + model->ngram_bias[class];
  }
}

/* The row of a feature is shared equally by its occurrences in the text, and by the tokens of an occurrence. The bias is shared
 * equally by all tokens. */
void ngram_parts(const capsulet_model *model, const struct hits *hits, size_t tokens, const int32_t *classes, size_t wanted, float *parts) {
  float under[2];
  roots(model, hits, under);
  for (size_t token = 0; token < tokens; token++)
    for (size_t wish = 0; wish < wanted; wish++) parts[token * wanted + wish] = model->ngram_bias[classes[wish]] / (float)tokens;
  for (uint32_t i = 0; i < hits->item_count; i++) {
    const struct hit *hit = &hits->items[i];
    const uint8_t *row = row_of(model, hit->key >> 1);
    uint32_t times = hits->times[slot_of(hits, hit->key)], factor = factor_of(model, hits, hit->key);
    for (size_t wish = 0; wish < wanted; wish++) {
      float whole = (float)((int32_t)factor * level(model, row, classes[wish])) / under[hit->key & 1] * model->ngram_scales[classes[wish]];
      float part = whole / (float)times / (float)hit->tokens;
      for (uint32_t token = hit->first; token < hit->first + hit->tokens; token++) parts[token * wanted + wish] += part;
    }
  }
}
