/* N-gram features: hashed words and pairs of neighbouring words, with a row of small integers per feature. */
#include "core.h"

#include "numbers.h"

static const uint64_t prime = 2147483647, first_factor = 1103515245, second_factor = 1021387129, word_offset = 12345,
                      pair_offset = 715225741;
enum { FIRST_WORD = 2 }; /* in the ids that the table was fitted with; 0 is padding, 1 the unknown word */

/* The id that a word had when the table was fitted. */
static uint64_t key_of(const capsulet_model *model, int32_t id) {
  size_t known = (size_t)known_id(model, id);
  const struct tensor *keys = &model->ngram_keys;
  if (!keys->data) return known;
  if (keys->dtype == TYPE_U16) return ((const uint16_t *)(const void *)keys->data)[known];
  return ((const uint32_t *)(const void *)keys->data)[known] & 0x7FFFFFFF;
}

static const uint8_t *word_row(const capsulet_model *model, uint64_t key) {
  return model->ngram_levels + (key * first_factor + word_offset) % prime % model->ngram_rows * model->ngram_row_bytes;
}

static const uint8_t *pair_row(const capsulet_model *model, uint64_t key, uint64_t next) {
  uint64_t number = (key * first_factor + next * second_factor + pair_offset) % prime;
  return model->ngram_levels + number % model->ngram_rows * model->ngram_row_bytes;
}

static int32_t level(const capsulet_model *model, const uint8_t *row, int32_t class) {
  int32_t bits = model->ngram_bits;
  if (bits == 8) return (int8_t)row[class];
  return (row[class * bits / 8] >> (class * bits % 8) & ((1 << bits) - 1)) - (1 << (bits - 1));
}

static void add_row(const capsulet_model *model, const uint8_t *row, int32_t *sums) {
  if (model->ngram_bits == 8)
    for (int32_t class = 0; class < model->classes; class++) sums[class] += (int8_t)row[class];
  else
    for (int32_t class = 0; class < model->classes; class++) sums[class] += level(model, row, class);
}

/* 1 / sqrt(features), by which sums are multiplied through the scales; features: known words, and pairs of them. */
static float divisor(const capsulet_model *model, const int32_t *ids, size_t tokens) {
  int64_t count = 0;
  bool before = false;
  for (size_t token = 0; token < tokens; token++) {
    bool known = key_of(model, ids[token]) >= FIRST_WORD;
    count += known + (known && before);
    before = known;
  }
  return root((float)(count ? count : 1));
}

void ngram_scores(const capsulet_model *model, const int32_t *ids, size_t tokens, int32_t *sums, float *scores) {
  uint64_t before = 0, key;
  int64_t count = 0;
  memset(sums, 0, (size_t)model->classes * sizeof *sums);
  for (size_t token = 0; token < tokens; token++, before = key) {
    key = key_of(model, ids[token]);
    if (key < FIRST_WORD) continue;
    add_row(model, word_row(model, key), sums);
    count++;
    if (before < FIRST_WORD) continue;
    add_row(model, pair_row(model, before, key), sums);
    count++;
  }
  float under = root((float)(count ? count : 1));
  for (int32_t class = 0; class < model->classes; class++) scores[class] = (float)sums[class] * model->ngram_scales[class] / under;
}

/* The row of a word belongs to it, half of the row of a pair to each of its words. */
void ngram_parts(const capsulet_model *model, const int32_t *ids, size_t tokens, const int32_t *classes, size_t wanted, float *parts) {
  float under = divisor(model, ids, tokens);
  memset(parts, 0, tokens * wanted * sizeof *parts);
  for (size_t token = 0; token < tokens; token++) {
    uint64_t key = key_of(model, ids[token]), before = token ? key_of(model, ids[token - 1]) : 0;
    if (key < FIRST_WORD) continue;
    const uint8_t *word = word_row(model, key), *pair = before < FIRST_WORD ? NULL : pair_row(model, before, key);
    for (size_t i = 0; i < wanted; i++) {
      float scale = model->ngram_scales[classes[i]] / under;
      parts[token * wanted + i] += (float)level(model, word, classes[i]) * scale;
      if (!pair) continue;
      float half = 0.5f * (float)level(model, pair, classes[i]) * scale;
      parts[token * wanted + i] += half;
      parts[(token - 1) * wanted + i] += half;
    }
  }
}
