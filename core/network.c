/* Texts to class lengths: word vectors, encoder, pooling, head. Texts of similar length run together. */
#include "ngrams.h"

#include "numbers.h"

enum {
  CHUNK = 16,          /* steps of which the inputs are projected together */
  MOST_GROUP = 4096,   /* tokens of texts that run together */
  CACHE = 256,         /* quantised word vectors that are kept for the next occurrence of the word */
};

int32_t known_id(const capsulet_model *model, int32_t id) { return id < model->vocabulary ? id : id - model->vocabulary; }

/* ---- word vectors ---- */

static int choice(const capsulet_model *model, int32_t id, int32_t book) {
  const uint8_t *row = model->choices + (size_t)id * (((size_t)model->codebooks + 1) / 2);
  return row[book / 2] >> (book % 2 * 4) & 15;
}

static int largest(const float *values, int32_t count) {
  int best = 0;
  for (int i = 1; i < count; i++)
    if (values[i] > values[best]) best = i;
  return best;
}

/* The floats of a word: its codes (M K) or its vector (D); NULL in a compressed file. */
static const float *word_row(const capsulet_model *model, int32_t id, size_t *size) {
  *size = model->embedding == EMBEDDING_TABLE ? (size_t)model->size : (size_t)model->codebooks * (size_t)model->codewords;
  return model->codes ? model->codes + (size_t)id * *size : NULL;
}

/* Whether the numbers of a word are finite. They are checked here and not at opening: most words of a large model are never read. */
static bool word_finite(const capsulet_model *model, int32_t id) {
  size_t size;
  const float *row = word_row(model, id, &size);
  return !row || all_finite(row, size);
}

/* Weights (M K) of the codewords by a row of codes (M K). */
static void weights_of_row(const capsulet_model *model, const float *row, float *weights) {
  int32_t words = model->codewords;
  for (int32_t book = 0; book < model->codebooks; book++, weights += words, row += words) {
    if (model->embedding != EMBEDDING_WEIGHTED) {
      memset(weights, 0, (size_t)words * sizeof *weights);
      weights[largest(row, words)] = 1;
      continue;
    }
    float top = row[largest(row, words)], sum = 0;
    for (int32_t i = 0; i < words; i++) weights[i] = power_of_e(row[i] - top);
    for (int32_t i = 0; i < words; i++) sum += weights[i];
    for (int32_t i = 0; i < words; i++) weights[i] /= sum;
  }
}

void code_weights(const capsulet_model *model, int32_t id, float *weights) {
  size_t size;
  const float *own = word_row(model, id, &size);
  if (own) {
    weights_of_row(model, own, weights);
    return;
  }
  memset(weights, 0, size * sizeof *weights);
  for (int32_t book = 0; book < model->codebooks; book++) weights[book * model->codewords + choice(model, id, book)] = 1;
}

int capsulet_codes(const capsulet_model *model, int32_t id, float *weights) {
  if (!model->codebooks || id < 0 || id >= 2 * (int64_t)model->vocabulary) return CAPSULET_IMPOSSIBLE;
  if (!word_finite(model, known_id(model, id))) return CAPSULET_DAMAGED;
  code_weights(model, known_id(model, id), weights);
  return CAPSULET_OK;
}

bool vector_of_row(const capsulet_model *model, const float *row, float *weights, float *vector) {
  size_t size = (size_t)model->padded_size, words = (size_t)model->codewords;
  if (model->embedding == EMBEDDING_WEIGHTED) {
    weights_of_row(model, row, weights);
    model->kernel->combine(weights, model->codebook, (int64_t)model->codebooks * model->codewords, model->padded_size, vector);
    return all_finite(vector, size);
  }
  memset(vector, 0, size * sizeof *vector);
  if (model->embedding == EMBEDDING_TABLE) {
    memcpy(vector, row, (size_t)model->size * sizeof *vector);
    return true;
  }
  for (int32_t book = 0; book < model->codebooks; book++) {
    const float *chosen = model->codebook + ((size_t)book * words + (size_t)largest(row + (size_t)book * words, model->codewords)) * size;
    for (size_t i = 0; i < size; i++) vector[i] += chosen[i];
  }
  return all_finite(vector, size);
}

/* The vector (padded D) of a known id; `weights` is room for the weights of the codewords. False if a number of the word or of
 * its vector is not finite. */
static bool word_vector(const capsulet_model *model, int32_t id, float *weights, float *vector) {
  size_t size = (size_t)model->padded_size, row_size;
  const float *row = word_row(model, id, &row_size);
  if (!word_finite(model, id)) return false;
  if (row) return vector_of_row(model, row, weights, vector);
  memset(vector, 0, size * sizeof *vector);
  for (int32_t book = 0; book < model->codebooks; book++) {
    const float *chosen = model->codebook + ((size_t)book * (size_t)model->codewords + (size_t)choice(model, id, book)) * size;
    for (size_t i = 0; i < size; i++) vector[i] += chosen[i];
  }
  return all_finite(vector, size);
}

/* Rounds a vector of finite numbers to bytes and returns their scale. */
static float quantise(const float *vector, int32_t size, uint8_t flip, uint8_t *bytes) {
  float top = largest_magnitude(vector, size), factor = quotient(127, top);
  for (int32_t i = 0; i < size; i++) {
    float value = vector[i] * factor + ROUND;
    bytes[i] = (uint8_t)((bits_of_float(value) - ROUND_BITS) ^ flip);
  }
  return top * (1.0f / 127);
}

/* ---- scratch memory ---- */

struct scratch { /* for groups of at most `tokens` tokens */
  void *memory;
  uint8_t *inputs[2];  /* (tokens, width): inputs of a layer, and of the next one; bytes or floats */
  float *scales;       /* (tokens) of quantised inputs */
  const void **rows;   /* (CHUNK, MOST_TEXTS) inputs of a chunk */
  float *row_scales;
  float *projected;    /* (CHUNK, MOST_TEXTS, blocks, 3, 16) */
  float *states;       /* (MOST_TEXTS, blocks, 16) */
  uint8_t *before, *after; /* quantised states, or states of float32 */
  float *sums;         /* (tokens, blocks, 16) states of the last layer */
  float *total, *top;  /* (MOST_TEXTS, blocks, 16) sum and maximum over the tokens */
  float *vector, *weights;
  int32_t *cached;     /* (CACHE) id of each vector in the cache, or -1 */
  float *cached_scales;
  uint8_t *cached_vectors;
  float *pooled, *head;
};

static uint64_t input_width(const capsulet_model *model) { /* numbers of an input row, at most */
  uint64_t states = 2 * (uint64_t)model->blocks * UNITS, words = (uint64_t)model->padded_size;
  return states > words ? states : words;
}

/* Gives each field its part of the memory; returns the size of all parts. With memory NULL it only adds up the size. */
static uint64_t divide(const capsulet_model *model, uint64_t tokens, struct scratch *scratch, char *memory) {
  uint64_t used = 0, element = model->integers ? 1 : sizeof(float), width = (uint64_t)model->blocks * UNITS;
  uint64_t codes = (uint64_t)model->codebooks * (uint64_t)model->codewords + UNITS, vector = (uint64_t)model->padded_size;
#define TAKE(field, count)                                                                                                      \
  do {                                                                                                                          \
    if (memory) scratch->field = (void *)(memory + used);                                                                       \
    used += ((count) * sizeof *scratch->field + LINE - 1) / LINE * LINE;                                                        \
  } while (0)
  TAKE(inputs[0], tokens * input_width(model) * element);
  TAKE(inputs[1], tokens * input_width(model) * element);
  TAKE(scales, tokens);
  TAKE(rows, (uint64_t)CHUNK * MOST_TEXTS);
  TAKE(row_scales, (uint64_t)CHUNK * MOST_TEXTS);
  TAKE(projected, (uint64_t)CHUNK * MOST_TEXTS * 3 * width);
  TAKE(states, MOST_TEXTS * width);
  TAKE(before, MOST_TEXTS * width * element);
  TAKE(after, MOST_TEXTS * width * element);
  TAKE(sums, tokens * width);
  TAKE(total, MOST_TEXTS * width);
  TAKE(top, MOST_TEXTS * width);
  TAKE(vector, vector);
  TAKE(weights, codes);
  TAKE(cached, (uint64_t)CACHE);
  TAKE(cached_scales, (uint64_t)CACHE);
  TAKE(cached_vectors, CACHE * vector);
  TAKE(pooled, MOST_TEXTS * (uint64_t)model->hidden);
  TAKE(head, head_room(model));
#undef TAKE
  return used;
}

static int borrow(const capsulet_model *model, size_t tokens, struct scratch *scratch) {
  scratch->memory = reserve(divide(model, tokens, scratch, NULL) + LINE, 1);
  if (!scratch->memory) return CAPSULET_NO_MEMORY;
  divide(model, tokens, scratch, next_line(scratch->memory));
  for (int i = 0; i < CACHE; i++) scratch->cached[i] = -1;
  return CAPSULET_OK;
}

/* ---- the encoder ---- */

struct group { /* texts that run together, longest first */
  const int32_t *ids[MOST_TEXTS];
  int32_t counts[MOST_TEXTS];
  size_t starts[MOST_TEXTS]; /* of their tokens in the rows of the group */
  int32_t texts;
  const float *vectors; /* of unknown words */
};

static int embed(const capsulet_model *model, const struct group *group, struct scratch *scratch, struct trace *trace) {
  size_t width = (size_t)model->padded_size;
  for (int32_t text = 0; text < group->texts; text++)
    for (int32_t token = 0; token < group->counts[text]; token++) {
      int32_t id = group->ids[text][token];
      size_t place = group->starts[text] + (size_t)token;
      const float *own = id < 0 ? group->vectors + (size_t)(-1 - id) * width : NULL;
      if (!own) id = known_id(model, id);
      if (!model->integers || trace) {
        float *vector = trace ? trace->embedded + place * width : (float *)(void *)scratch->inputs[0] + place * width;
        if (own) memcpy(vector, own, width * sizeof *vector);
        else if (!word_vector(model, id, scratch->weights, vector)) return CAPSULET_DAMAGED;
        if (!model->integers && trace) memcpy((float *)(void *)scratch->inputs[0] + place * width, vector, width * sizeof(float));
        if (model->integers) scratch->scales[place] = quantise(vector, model->padded_size, model->kernel->flip, scratch->inputs[0] + place * width);
      } else if (own) {
        scratch->scales[place] = quantise(own, model->padded_size, model->kernel->flip, scratch->inputs[0] + place * width);
      } else {
        int slot = id % CACHE;
        uint8_t *kept = scratch->cached_vectors + (size_t)slot * width;
        if (scratch->cached[slot] != id) {
          if (!word_vector(model, id, scratch->weights, scratch->vector)) return CAPSULET_DAMAGED;
          scratch->cached_scales[slot] = quantise(scratch->vector, model->padded_size, model->kernel->flip, kept);
          scratch->cached[slot] = id;
        }
        memcpy(scratch->inputs[0] + place * width, kept, width);
        scratch->scales[place] = scratch->cached_scales[slot];
      }
    }
  return CAPSULET_OK;
}

/* One direction of one layer. `inputs` is the number of numbers of an input row. */
static void run_direction(const capsulet_model *model, const struct group *group, struct scratch *scratch, int layer, int place,
                          size_t inputs, struct trace *trace) {
  const struct direction *direction = &model->directions[layer][place];
  size_t width = (size_t)model->blocks * UNITS, element = model->integers ? 1 : sizeof(float);
  bool last = layer == model->layers - 1;
  memset(scratch->states, 0, MOST_TEXTS * width * sizeof *scratch->states);
  memset(scratch->before, model->integers ? model->kernel->flip : 0, MOST_TEXTS * width * element);
  for (int32_t first = 0; first < group->counts[0]; first += CHUNK) {
    int64_t count = 0;
    for (int32_t step = first; step < first + CHUNK; step++)
      for (int32_t text = 0; text < group->texts && group->counts[text] > step; text++) {
        size_t token = group->starts[text] + (size_t)(place ? group->counts[text] - 1 - step : step);
        scratch->rows[count] = scratch->inputs[0] + token * inputs * element;
        scratch->row_scales[count++] = layer ? 1.0f / 127 : scratch->scales[token];
      }
    model->kernel->project[model->integers](model, direction, scratch->rows, scratch->row_scales, count, scratch->projected);
    const float *next = scratch->projected;
    for (int32_t step = first; step < first + CHUNK; step++) {
      const float *projected[MOST_TEXTS];
      int32_t texts = 0;
      for (; texts < group->texts && group->counts[texts] > step; texts++, next += 3 * width) projected[texts] = next;
      if (!texts) break;
      struct step_trace gates;
      if (trace) {
        size_t at = (size_t)(place ? group->counts[0] - 1 - step : step) * width;
        gates = (struct step_trace){trace->reset[layer][place] + at, trace->update[layer][place] + at,
                                    trace->before[layer][place] + at, trace->after[layer][place] + at};
      }
      model->kernel->step[model->integers](model, direction, projected, texts, scratch->states, scratch->before, scratch->after,
                                           trace ? &gates : NULL);
      const float *states = model->integers ? scratch->states : (const float *)(const void *)scratch->after;
      for (int32_t text = 0; text < texts; text++) {
        size_t token = group->starts[text] + (size_t)(place ? group->counts[text] - 1 - step : step);
        const float *state = states + (size_t)text * width;
        float *sum = scratch->sums + token * width;
        if (trace) memcpy(trace->states[layer][place] + token * width, state, width * sizeof *state);
        if (!last) {
          memcpy(scratch->inputs[1] + (token * 2 + (size_t)place) * width * element, scratch->after + (size_t)text * width * element,
                 width * element);
        } else if (!place) {
          memcpy(sum, state, width * sizeof *state);
        } else {
          float *total = scratch->total + (size_t)text * width, *top = scratch->top + (size_t)text * width;
          for (size_t i = 0; i < width; i++) {
            float both = sum[i] + state[i];
            total[i] += both;
            top[i] = both > top[i] ? both : top[i];
          }
        }
      }
      uint8_t *swap = scratch->before;
      scratch->before = scratch->after, scratch->after = swap;
    }
  }
}

/* Pooled states (texts, H) of a group, in scratch->pooled. */
static int run_encoder(const capsulet_model *model, const struct group *group, struct scratch *scratch, struct trace *trace) {
  size_t width = (size_t)model->blocks * UNITS, inputs = (size_t)model->padded_size;
  int result = embed(model, group, scratch, trace);
  if (result) return result;
  memset(scratch->total, 0, MOST_TEXTS * width * sizeof *scratch->total);
  for (size_t i = 0; i < MOST_TEXTS * width; i++) scratch->top[i] = -4; /* states are between -2 and 2 */
  for (int layer = 0; layer < model->layers; layer++) {
    for (int direction = 0; direction < 2; direction++) run_direction(model, group, scratch, layer, direction, inputs, trace);
    uint8_t *swap = scratch->inputs[0];
    scratch->inputs[0] = scratch->inputs[1], scratch->inputs[1] = swap;
    inputs = 2 * width;
  }
  for (int32_t text = 0; text < group->texts; text++)
    for (int32_t unit = 0; unit < model->hidden; unit++) {
      float mean = scratch->total[(size_t)text * width + (size_t)unit] / (float)group->counts[text];
      float top = scratch->top[(size_t)text * width + (size_t)unit];
      scratch->pooled[text * model->hidden + unit] = model->mean_share * mean + (1 - model->mean_share) * top;
    }
  return CAPSULET_OK;
}

/* ---- many texts ---- */

struct order { /* a text: its number of tokens and its number */
  int32_t count;
  uint32_t text;
};

static int longer_first(const struct order *left, const struct order *right) {
  if (left->count != right->count) return left->count < right->count ? 1 : -1;
  return left->text < right->text ? -1 : 1;
}

/* Merge sort: the C library of WebAssembly has none. */
static void sort(struct order *order, struct order *other, size_t count) {
  if (count < 2) return;
  size_t half = count / 2, left = 0, right = half;
  sort(order, other, half);
  sort(order + half, other, count - half);
  memcpy(other, order, count * sizeof *order);
  for (size_t i = 0; i < count; i++)
    order[i] = right == count || (left < half && longer_first(&other[left], &other[right]) < 0) ? other[left++] : other[right++];
}

/* Class lengths (n, C) of texts, one after the other in `reading`, with the scores (n, C) of their n-gram features or NULL. */
static int run_texts(const capsulet_model *model, const struct reading *reading, const int32_t *counts, size_t n, const float *ngrams,
                     float *lengths) {
  struct order *order = reserve(2 * (uint64_t)n, sizeof *order);
  const int32_t **texts = reserve(n, sizeof *texts), *next = reading->ids;
  struct scratch scratch = {0};
  int result = order && texts ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  size_t longest = 0, classes = (size_t)model->classes;
  for (size_t i = 0; !result && i < n; i++) {
    order[i] = (struct order){counts[i], (uint32_t)i};
    texts[i] = next;
    next += counts[i];
    if ((size_t)counts[i] > longest) longest = (size_t)counts[i];
  }
  size_t room = longest > MOST_GROUP ? longest : longest * MOST_TEXTS < MOST_GROUP ? longest * MOST_TEXTS : MOST_GROUP;
  if (!result) result = borrow(model, room, &scratch);
  if (!result) sort(order, order + n, n);
  for (size_t first = 0; !result && first < n;) {
    struct group group = {.vectors = reading->vectors};
    size_t tokens = 0;
    while (group.texts < MOST_TEXTS && first + (size_t)group.texts < n) {
      const struct order *own = &order[first + (size_t)group.texts];
      if (group.texts && tokens + (size_t)own->count > room) break;
      group.ids[group.texts] = texts[own->text];
      group.counts[group.texts] = own->count;
      group.starts[group.texts++] = tokens;
      tokens += (size_t)own->count;
    }
    result = run_encoder(model, &group, &scratch, NULL);
    for (int32_t text = 0; !result && text < group.texts; text++) {
      size_t number = order[first + (size_t)text].text;
      struct classes answer = {.lengths = lengths + number * classes};
      const float *added = ngrams ? ngrams + number * classes : NULL;
      result = head_run(model, scratch.pooled + (size_t)text * (size_t)model->hidden, added, scratch.head, &answer);
    }
    first += (size_t)group.texts;
  }
  free(scratch.memory);
  free(order);
  free(texts);
  return result;
}

int capsulet_classify(const capsulet_model *model, const char *const *texts, const size_t *sizes, size_t n, int form, float *lengths,
                      float *unknown) {
  if (!n) return CAPSULET_OK;
  if (n > UINT32_MAX / 32) return CAPSULET_IMPOSSIBLE;
  if (model->linear_only) return classify_features(model, texts, sizes, n, form, lengths, unknown);
  size_t classes = (size_t)model->classes;
  int32_t *counts = reserve(n, sizeof *counts);
  int64_t *sums = reserve(2 * (uint64_t)classes, sizeof *sums);
  float *ngrams = model->ngram_rows ? reserve((uint64_t)n * classes, sizeof *ngrams) : NULL;
  struct hits hits = {0};
  struct reading reading = {0};
  int result = counts && sums && (ngrams || !model->ngram_rows) ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  for (size_t i = 0; !result && i < n; i++) {
    size_t before = reading.count;
    int32_t unknown_words;
    result = read_text(model, texts[i], sizes[i], form, &reading, ngrams ? &hits : NULL, &unknown_words);
    counts[i] = (int32_t)(reading.count - before);
    if (unknown && !result) unknown[i] = (float)unknown_words / (float)counts[i];
    if (ngrams && !result) ngram_scores(model, &hits, sums, ngrams + i * classes);
  }
  if (!result) result = run_texts(model, &reading, counts, n, ngrams, lengths);
  hits_free(&hits);
  reading_free(&reading);
  free(counts);
  free(sums);
  free(ngrams);
  return result;
}

/* ---- one text with everything that an explanation needs ---- */

int trace_text(const capsulet_model *model, const struct reading *reading, const float *ngrams, struct trace *trace, float *pooled,
               float *head, struct classes *classes) {
  struct scratch scratch = {0};
  struct group group = {.ids = {reading->ids}, .counts = {(int32_t)reading->count}, .texts = 1, .vectors = reading->vectors};
  int result = borrow(model, reading->count, &scratch);
  if (!result) result = run_encoder(model, &group, &scratch, trace);
  if (!result) {
    memcpy(pooled, scratch.pooled, (size_t)model->hidden * sizeof *pooled);
    result = head_run(model, pooled, ngrams, head, classes);
  }
  free(scratch.memory);
  return result;
}
