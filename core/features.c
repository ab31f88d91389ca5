/* N-gram features: a table with a row of small integers per feature. A feature counts once per text.
 *
 * The scores of a text are the sum of its rows, divided by the square root of their number: once for words and pairs, once for
 * pieces, then added; plus a bias per class. A row has a check byte, so that features that the table does not have are found to be absent (with one
 * error in about 255). */
#include "ngrams.h"

#include "numbers.h"

static int64_t find_row(const capsulet_model *model, uint64_t hash) {
  struct ngram_place place = ngram_place(hash, model->ngram_rows);
  for (int i = 0; i < 2; i++)
    if (model->ngram_checks[place.rows[i]] == place.check) return place.rows[i];
  return -1;
}

/* Slot of the first hit of a row. A word and a piece that share a row by an error of the check count separately. */
static uint32_t slot_of(const struct hits *hits, uint32_t row, uint32_t block) {
  uint32_t slot = (2 * row + block) * 2654435769u & hits->mask;
  for (; hits->slots[slot]; slot = (slot + 1) & hits->mask) {
    const struct hit *hit = &hits->items[hits->slots[slot] - 1];
    if (hit->row == row && hit->block == block) break;
  }
  return slot;
}

static bool grow(struct hits *hits) {
  uint32_t room = hits->room ? 2 * hits->room : 1024;
  struct hit *items = fits(room, sizeof *items) ? realloc(hits->items, room * sizeof *items) : NULL;
  if (items) hits->items = items;
  uint32_t *slots = items ? reserve_zeros((uint64_t)4 * room, sizeof *slots) : NULL;
  if (!slots) return false;
  free(hits->slots);
  hits->slots = slots, hits->mask = 4 * room - 1, hits->room = room;
  for (uint32_t i = 0; i < hits->count; i++)
    if (hits->items[i].times) {
      hits->items[i].slot = slot_of(hits, hits->items[i].row, hits->items[i].block);
      slots[hits->items[i].slot] = i + 1;
    }
  return true;
}

static void note_hit(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  struct hits *hits = to;
  int64_t row = find_row(hits->model, hash);
  if (row < 0 || hits->failed) return;
  if (hits->count == hits->room && !grow(hits)) {
    hits->failed = true;
    return;
  }
  uint32_t block = (uint32_t)(hash & 1), slot = slot_of(hits, (uint32_t)row, block);
  hits->items[hits->count++] = (struct hit){(uint32_t)row, first, tokens, 0, slot, block};
  if (!hits->slots[slot]) hits->slots[slot] = hits->count;
  hits->items[hits->slots[slot] - 1].times++;
}

void hits_start(struct hits *hits, const capsulet_model *model) {
  for (uint32_t i = 0; i < hits->count; i++) /* only what the last text filled: a short text costs little after a long one */
    if (hits->items[i].times) hits->slots[hits->items[i].slot] = 0; /* searched anew, it could be behind a slot that is free now */
  hits->model = model;
  hits->count = 0;
  hits->reader = (struct ngrams){.pieces = model->pieces, .emit = note_hit, .to = hits};
}

void hits_word(struct hits *hits, const struct word *word) { ngram_word(&hits->reader, word); }

int hits_end(struct hits *hits) {
  ngram_end(&hits->reader);
  return hits->failed ? CAPSULET_NO_MEMORY : CAPSULET_OK;
}

void hits_free(struct hits *hits) {
  free(hits->items);
  free(hits->slots);
}

static int32_t level(const capsulet_model *model, const uint8_t *row, int32_t class) {
  int32_t bits = model->ngram_bits;
  if (bits == 8) return (int8_t)row[class];
  return (row[class * bits / 8] >> (class * bits % 8) & ((1 << bits) - 1)) - (1 << (bits - 1));
}

static const uint8_t *row_of(const capsulet_model *model, uint32_t row) {
  return model->ngram_levels + (size_t)row * model->ngram_row_bytes;
}

static void roots(const struct hits *hits, float under[2]) {
  uint32_t counts[2] = {0, 0};
  for (uint32_t i = 0; i < hits->count; i++) counts[hits->items[i].block] += hits->items[i].times > 0;
  for (int block = 0; block < 2; block++) under[block] = root((float)(counts[block] ? counts[block] : 1));
}

void ngram_scores(const capsulet_model *model, const struct hits *hits, int32_t *sums, float *scores) {
  float under[2];
  size_t classes = (size_t)model->classes;
  roots(hits, under);
  memset(sums, 0, 2 * classes * sizeof *sums);
  for (uint32_t i = 0; i < hits->count; i++) {
    const struct hit *hit = &hits->items[i];
    if (!hit->times) continue;
    const uint8_t *row = row_of(model, hit->row);
    int32_t *sum = sums + hit->block * classes;
    if (model->ngram_bits == 8)
      for (size_t class = 0; class < classes; class++) sum[class] += (int8_t)row[class];
    else
      for (size_t class = 0; class < classes; class++) sum[class] += level(model, row, (int32_t)class);
  }
  for (size_t class = 0; class < classes; class++)
    scores[class] = ((float)sums[class] / under[0] + (float)sums[classes + class] / under[1]) * model->ngram_scales[class] +
                    model->ngram_bias[class];
}

/* The row of a feature is shared equally by its occurrences in the text, and by the tokens of an occurrence. The bias is shared
 * equally by all tokens. */
void ngram_parts(const capsulet_model *model, const struct hits *hits, size_t tokens, const int32_t *classes, size_t wanted, float *parts) {
  float under[2];
  roots(hits, under);
  for (size_t token = 0; token < tokens; token++)
    for (size_t wish = 0; wish < wanted; wish++) parts[token * wanted + wish] = model->ngram_bias[classes[wish]] / (float)tokens;
  for (uint32_t i = 0; i < hits->count; i++) {
    const struct hit *hit = &hits->items[i];
    const uint8_t *row = row_of(model, hit->row);
    uint32_t times = hits->items[hits->slots[slot_of(hits, hit->row, hit->block)] - 1].times;
    for (size_t wish = 0; wish < wanted; wish++) {
      float whole = (float)level(model, row, classes[wish]) / under[hit->block] * model->ngram_scales[classes[wish]];
      float part = whole / (float)times / (float)hit->tokens;
      for (uint32_t token = hit->first; token < hit->first + hit->tokens; token++) parts[token * wanted + wish] += part;
    }
  }
}
