/* Heads: class capsules by routing, a linear layer, or n-gram features alone. Sums are in a fixed order, four partial sums at a time. */
#include "core.h"

#include "numbers.h"

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

static float dot(const float *left, const float *right, int64_t size) {
  four sums = {0};
  int64_t at = 0;
  for (; at + 4 <= size; at += 4) sums += *(const four *)(const void *)(left + at) * *(const four *)(const void *)(right + at);
  float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; at < size; at++) sum += left[at] * right[at];
  return sum;
}

/* to += factor * from */
static void add_scaled(float *to, const float *from, float factor, int64_t size) {
  for (int64_t at = 0; at < size; at++) to[at] += from[at] * factor;
}

static float norm(const float *vector, int64_t size) { return root(dot(vector, vector, size) + EPSILON); }

static void softmax(float *values, int64_t count, float factor) {
  float top = values[0], sum = 0;
  for (int64_t i = 1; i < count; i++) top = values[i] > top ? values[i] : top;
  for (int64_t i = 0; i < count; i++) sum += values[i] = power_of_e(values[i] - top);
  for (int64_t i = 0; i < count; i++) values[i] = values[i] / sum * factor;
}

uint64_t head_room(const capsulet_model *model) {
  uint64_t classes = (uint64_t)model->classes, primary = (uint64_t)model->primary, length = (uint64_t)model->class_length;
  if (!model->capsules) return 2 * classes;
  return classes + primary * classes + classes * length + primary * classes + primary * classes * length + length;
}

/* capsules (C, L) = sum over N of coupling (N, C) times votes (N, C, L) */
static void weigh(const capsulet_model *model, const float *votes, const float *coupling, float *capsules) {
  int64_t classes = model->classes, length = model->class_length;
  memset(capsules, 0, (size_t)(classes * length) * sizeof *capsules);
  for (int64_t pair = 0; pair < model->primary * classes; pair++)
    add_scaled(capsules + pair % classes * length, votes + pair * length, coupling[pair], length);
}

/* K-means routing. With `dot`, a vote is compared at its own length, otherwise by its direction. */
static void kmeans(const capsulet_model *model, const float *votes, float *inverse, float *unit, float *coupling, float *capsules) {
  int64_t classes = model->classes, length = model->class_length, primary = model->primary;
  float factor = model->scale_coupling ? (float)classes : 1;
  for (int64_t pair = 0; pair < primary * classes; pair++) {
    inverse[pair] = model->dot ? 1 : 1 / norm(votes + pair * length, length);
    coupling[pair] = 1 / (float)classes;
  }
  weigh(model, votes, coupling, capsules);
  for (int32_t iteration = 0; iteration < model->iterations; iteration++) {
    for (int64_t class = 0; class < classes; class++) {
      const float *capsule = capsules + class * length;
      float own = 1 / norm(capsule, length);
      for (int64_t i = 0; i < length; i++) unit[i] = capsule[i] * own;
      for (int64_t n = 0; n < primary; n++) {
        int64_t pair = n * classes + class;
        coupling[pair] = dot(votes + pair * length, unit, length) * inverse[pair];
      }
    }
    for (int64_t n = 0; n < primary; n++) softmax(coupling + n * classes, classes, factor);
    weigh(model, votes, coupling, capsules);
  }
}

static void dynamic(const capsulet_model *model, const float *votes, float *logits, float *unit, float *coupling, float *capsules) {
  int64_t classes = model->classes, length = model->class_length, primary = model->primary;
  float factor = model->scale_coupling ? (float)classes : 1;
  memset(logits, 0, (size_t)(primary * classes) * sizeof *logits);
  for (int32_t iteration = 0; iteration < model->iterations; iteration++) {
    for (int64_t class = 0; iteration && class < classes; class++) {
      const float *capsule = capsules + class * length;
      float own = norm(capsule, length), squash = own / (1 + own * own);
      for (int64_t i = 0; i < length; i++) unit[i] = capsule[i] * squash;
      for (int64_t n = 0; n < primary; n++) logits[n * classes + class] += dot(votes + (n * classes + class) * length, unit, length);
    }
    memcpy(coupling, logits, (size_t)(primary * classes) * sizeof *coupling);
    for (int64_t n = 0; n < primary; n++) softmax(coupling + n * classes, classes, factor);
    weigh(model, votes, coupling, capsules);
  }
}

static void run_capsules(const capsulet_model *model, const float *pooled, float *scratch, struct classes *answer) {
  int64_t classes = model->classes, length = model->class_length, primary = model->primary, row = classes * length;
  answer->coupling = scratch;
  answer->capsules = answer->coupling + primary * classes;
  float *other = answer->capsules + row, *votes = other + primary * classes, *unit = votes + primary * row;
  memset(votes, 0, (size_t)(primary * row) * sizeof *votes);
  for (int64_t state = 0; state < model->hidden; state++)
    add_scaled(votes + state / model->primary_length * row, model->head + state * row, pooled[state], row);
  (model->dynamic ? dynamic : kmeans)(model, votes, other, unit, answer->coupling, answer->capsules);
  for (int64_t class = 0; class < classes; class++) answer->norms[class] = norm(answer->capsules + class * length, length);
}

int head_run(const capsulet_model *model, const float *pooled, const float *ngrams, float *scratch, struct classes *answer) {
  int64_t classes = model->classes;
  answer->norms = scratch;
  if (model->capsules) {
    run_capsules(model, pooled, scratch + classes, answer);
  } else {
    answer->coupling = scratch + classes;
    answer->capsules = NULL;
    for (int64_t class = 0; class < classes; class++) {
      answer->norms[class] = model->linear_only ? 0 : dot(pooled, model->head + class * model->hidden, model->hidden);
      answer->coupling[class] = 1;
    }
  }
  for (int64_t class = 0; class < classes; class++) {
    if (ngrams) answer->norms[class] += ngrams[class];
    float value = answer->norms[class];
    if (model->capsules) {
      value = value < 0 ? 0 : value;
      value = value * value / (1 + value * value);
    } else if (model->multi_label) {
      value = 1 / (1 + power_of_e(-value));
    }
    answer->lengths[class] = value;
  }
  if (!model->capsules && !model->multi_label) softmax(answer->lengths, classes, 1);
  return all_finite(answer->lengths, (uint64_t)classes) ? CAPSULET_OK : CAPSULET_DAMAGED;
}
