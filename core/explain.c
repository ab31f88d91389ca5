/* Contributions of the tokens to a class.
 *
 * A state of a GRU mixes a word with its neighbours. With fixed gates, and with tanh(u) written as k u for a fixed
 * k = tanh(u) / u, each step is linear:
 *
 *   h_t = (1 - z) k (W x + b + r (R h_{t-1} + c)) + z h_{t-1}
 *
 * With a fixed coupling and a fixed token for each maximum of the pooling, the whole path from the word vectors to a class
 * capsule, projected on its direction, is linear. The length of the capsule before squash is then the sum of one contribution
 * per token: the part of its vector, and the part of the constants b and c at its place. (Arras et al. 2017, arXiv:1706.07206,
 * fix the gates of recurrent layers in the same way.)
 *
 * With int8, W and R multiply rounded numbers x' instead of x. Each x' is written as (x' / x) x with a fixed quotient.
 */
#include "ngrams.h"

#include "numbers.h"

static const float equal = 1e-6f; /* states that differ by less are the same maximum */

/* The rows of the new gate of some weights as floats: (units, inputs). */
static void new_gate(const capsulet_model *model, const struct weights *weights, float *rows) {
  size_t inputs = (size_t)weights->inputs;
  for (size_t unit = 0; unit < (size_t)model->blocks * UNITS; unit++, rows += inputs) {
    size_t cell = unit / UNITS * 3 + 2, lane = unit % UNITS;
    if (model->integers) {
      const int8_t *four = weights->bytes + cell * inputs * UNITS + lane * 4;
      float scale = weights->scales[cell * UNITS + lane] / weights->state_scale;
      for (size_t input = 0; input < inputs; input += 4, four += UNITS * 4) {
        rows[input] = (float)four[0] * scale, rows[input + 1] = (float)four[1] * scale;
        rows[input + 2] = (float)four[2] * scale, rows[input + 3] = (float)four[3] * scale;
      }
    } else {
      const float *from = weights->floats + cell * inputs * UNITS + lane;
      for (size_t input = 0; input < inputs; input++) rows[input] = from[input * UNITS];
    }
  }
}

/* A state (between -1 and 1) is read as a rounded number: the rounded number divided by the state. 1 for float32. */
static float reading(const capsulet_model *model, float value) {
  if (!model->integers) return 1;
  float rounded = (value * 127.0f + ROUND) - ROUND;
  return value == 0 ? 0 : rounded * (1.0f / 127) / value;
}

struct work {
  float *memory;
  /* the credit of a number is the factor with which it enters the length of the class capsule */
  float *credit[2];  /* of the states of both directions of a layer (T, width) */
  float *inputs;     /* credit of the inputs of a layer (T, inputs) */
  float *input_rows, *recurrent_rows; /* the new gate of W and R */
  float *carried, *entering, *through, *product;
  float *back;       /* (H) weight of each pooled state */
};

/* Credit of the states of one direction (T, width) to credit of its inputs, which is added, and of its constants. */
static void backward(const capsulet_model *model, const struct trace *trace, int layer, int place, int64_t tokens, struct work *work,
                     double *constants) {
  const struct direction *direction = &model->directions[layer][place];
  int64_t width = (int64_t)model->blocks * UNITS, inputs = direction->input.inputs;
  const float *states = trace->states[layer][place];
  new_gate(model, &direction->input, work->input_rows);
  new_gate(model, &direction->recurrent, work->recurrent_rows);
  memset(work->carried, 0, (size_t)width * sizeof *work->carried);
  for (int64_t step = 0; step < tokens; step++) { /* from the last step to the first */
    int64_t token = place ? step : tokens - 1 - step, earlier = place ? token + 1 : token - 1;
    bool first = step == tokens - 1;
    double constant = 0;
    for (int64_t unit = 0; unit < width; unit++) {
      int64_t at = token * width + unit;
      float before = trace->before[layer][place][at], reset = trace->reset[layer][place][at], update = trace->update[layer][place][at];
      float slope = before > -1e-3f && before < 1e-3f ? 1 - before * before / 3 : trace->after[layer][place][at] / before;
      float whole = work->credit[place][at] + work->carried[unit];
      float entering = (1 - update) * slope * whole;
      float bias = direction->bias[(unit / UNITS * 3 + 2) * UNITS + unit % UNITS];
      constant += (double)entering * (double)(bias + reset * direction->new_bias[unit]);
      work->entering[unit] = entering;
      work->through[unit] = reset * entering;
      work->carried[unit] = update * whole;
    }
    constants[token] += constant;
    model->kernel->combine(work->entering, work->input_rows, width, inputs, work->product);
    for (int64_t input = 0; input < inputs; input++) work->inputs[token * inputs + input] += work->product[input];
    if (first) break;
    model->kernel->combine(work->through, work->recurrent_rows, width, width, work->product);
    for (int64_t unit = 0; unit < width; unit++)
      work->carried[unit] += work->product[unit] * reading(model, states[earlier * width + unit]);
  }
}

/* Contributions (T) of the tokens through the encoder, of the pooled states with the weights work->back. */
static void through_encoder(const capsulet_model *model, const struct trace *trace, int64_t tokens, struct work *work, double *parts) {
  int64_t width = (int64_t)model->blocks * UNITS, last = model->layers - 1;
  memset(parts, 0, (size_t)tokens * sizeof *parts);
  memset(work->credit[0], 0, (size_t)(tokens * width) * sizeof(float));
  const float *forward = trace->states[last][0], *reverse = trace->states[last][1];
  for (int64_t unit = 0; unit < model->hidden; unit++) {
    float top = -4;
    for (int64_t token = 0; token < tokens; token++) {
      float both = forward[token * width + unit] + reverse[token * width + unit];
      top = both > top ? both : top;
      work->credit[0][token * width + unit] = model->mean_share / (float)tokens * work->back[unit];
    }
    int64_t best = 0; /* the first of nearly equal states: those of a repeated word differ by rounding only */
    while (best < tokens - 1 && forward[best * width + unit] + reverse[best * width + unit] < top - equal) best++;
    work->credit[0][best * width + unit] += (1 - model->mean_share) * work->back[unit];
  }
  memcpy(work->credit[1], work->credit[0], (size_t)(tokens * width) * sizeof(float));
  for (int64_t layer = last; layer >= 0; layer--) {
    int64_t inputs = model->directions[layer][0].input.inputs;
    memset(work->inputs, 0, (size_t)(tokens * inputs) * sizeof(float));
    for (int place = 0; place < 2; place++) backward(model, trace, (int)layer, place, tokens, work, parts);
    if (!layer) break;
    for (int64_t token = 0; token < tokens; token++)
      for (int place = 0; place < 2; place++)
        for (int64_t unit = 0; unit < width; unit++) {
          float state = trace->states[layer - 1][place][token * width + unit];
          work->credit[place][token * width + unit] = work->inputs[token * inputs + place * width + unit] * reading(model, state);
        }
  }
  int64_t size = model->padded_size;
  for (int64_t token = 0; token < tokens; token++) {
    const float *vector = trace->embedded + token * size, *credit = work->inputs + token * size;
    float top = largest_magnitude(vector, size), factor = quotient(127, top), scale = top * (1.0f / 127);
    for (int64_t i = 0; i < size; i++) { /* as the encoder rounded it */
      float value = model->integers ? ((vector[i] * factor + ROUND) - ROUND) * scale : vector[i];
      parts[token] += (double)value * (double)credit[i];
    }
  }
}

/* work->back: how much a unit of each pooled state adds to the length of a class before squash. */
static void weights_of_class(const capsulet_model *model, const struct classes *classes, int32_t class, float *back) {
  int64_t count = model->classes, length = model->class_length;
  if (!model->capsules) {
    memcpy(back, model->head + (int64_t)class * model->hidden, (size_t)model->hidden * sizeof *back);
    return;
  }
  const float *capsule = classes->capsules + class * length;
  double square = 0;
  for (int64_t i = 0; i < length; i++) square += (double)capsule[i] * (double)capsule[i];
  float own = (float)(1 / __builtin_sqrt(square + (double)EPSILON));
  for (int64_t state = 0; state < model->hidden; state++) {
    const float *row = model->head + (state * count + class) * length;
    float sum = 0;
    for (int64_t i = 0; i < length; i++) sum += row[i] * (capsule[i] * own);
    back[state] = sum * classes->coupling[state / model->primary_length * count + class];
  }
}

static uint64_t divide_trace(const capsulet_model *model, uint64_t tokens, struct trace *trace, float *memory) {
  uint64_t width = (uint64_t)model->blocks * UNITS, used = 0;
  for (int layer = 0; layer < model->layers; layer++)
    for (int place = 0; place < 2; place++) {
      float **parts[] = {&trace->states[layer][place], &trace->reset[layer][place], &trace->update[layer][place],
                         &trace->before[layer][place], &trace->after[layer][place]};
      for (int i = 0; i < 5; i++, used += tokens * width)
        if (memory) *parts[i] = memory + used;
    }
  if (memory) trace->embedded = memory + used;
  return used + tokens * (uint64_t)model->padded_size;
}

static uint64_t divide_work(const capsulet_model *model, uint64_t tokens, struct work *work, float *memory) {
  uint64_t width = (uint64_t)model->blocks * UNITS, used = 0, inputs = 2 * width;
  inputs = (uint64_t)model->padded_size > inputs ? (uint64_t)model->padded_size : inputs;
#define TAKE(field, count)                     \
  do {                                         \
    if (memory) work->field = memory + used;   \
    used += (count);                           \
  } while (0)
  TAKE(credit[0], tokens * width);
  TAKE(credit[1], tokens * width);
  TAKE(inputs, tokens * inputs);
  TAKE(input_rows, width * inputs);
  TAKE(recurrent_rows, width * width);
  TAKE(carried, width);
  TAKE(entering, width);
  TAKE(through, width);
  TAKE(product, inputs);
  TAKE(back, (uint64_t)model->hidden);
#undef TAKE
  return used;
}

/* Explains a text by its words and its n-gram features. */
static int explain_text(const capsulet_model *model, const struct reading *reading, const struct hits *hits,
                        const int32_t *wanted_classes, size_t wanted, const struct capsulet_explanation *explanation) {
  size_t tokens = reading->count;
  struct trace trace = {0};
  struct work work = {0};
  uint64_t first = divide_trace(model, tokens, &trace, NULL), second = divide_work(model, tokens, &work, NULL);
  size_t classes = (size_t)model->classes, hidden = (size_t)model->hidden;
  uint64_t all = first + second + head_room(model) + 2 * classes + hidden + (uint64_t)tokens * wanted;
  void *own = reserve(all + LINE / sizeof(float), sizeof(float));
  double *parts = reserve(tokens, sizeof *parts);
  int64_t *sums = reserve(2 * (uint64_t)classes, sizeof *sums);
  int result = own && parts && sums ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  if (!result) {
    float *memory = next_line(own);
    divide_trace(model, tokens, &trace, memory);
    divide_work(model, tokens, &work, memory + first);
    float *pooled = memory + first + second, *lengths = pooled + hidden, *scratch = lengths + classes;
    float *scores = scratch + head_room(model), *ngrams = scores + classes;
    struct classes answer = {.lengths = lengths};
    if (model->ngram_rows) ngram_scores(model, hits, sums, scores);
    result = trace_text(model, reading, model->ngram_rows ? scores : NULL, &trace, pooled, scratch, &answer);
    bool fine = !result && all_finite(answer.norms, classes);
    if (!result) {
      if (explanation->lengths) memcpy(explanation->lengths, lengths, classes * sizeof *lengths);
      if (explanation->norms) memcpy(explanation->norms, answer.norms, classes * sizeof *lengths);
      if (model->ngram_rows) ngram_parts(model, hits, tokens, wanted_classes, wanted, ngrams);
      else memset(ngrams, 0, tokens * wanted * sizeof *ngrams);
      if (explanation->ngrams) memcpy(explanation->ngrams, ngrams, tokens * wanted * sizeof *ngrams);
      for (size_t i = 0; i < wanted; i++) {
        int32_t class = wanted_classes[i];
        weights_of_class(model, &answer, class, work.back);
        for (size_t n = 0; n < (size_t)model->primary; n++) {
          size_t size = hidden / (size_t)model->primary;
          double share = 0;
          for (size_t p = 0; p < size; p++) share += (double)pooled[n * size + p] * (double)work.back[n * size + p];
          fine &= all_finite(&(float){(float)share}, 1);
          if (explanation->shares) explanation->shares[n * wanted + i] = (float)share;
          if (explanation->coupling) explanation->coupling[n * wanted + i] = answer.coupling[n * classes + (size_t)class];
        }
        if (!explanation->contributions) continue;
        through_encoder(model, &trace, (int64_t)tokens, &work, parts);
        for (size_t token = 0; token < tokens; token++) {
          float sum = (float)(parts[token] + (double)ngrams[token * wanted + i]);
          fine &= all_finite(&sum, 1);
          explanation->contributions[token * wanted + i] = sum;
        }
      }
      fine &= all_finite(ngrams, (uint64_t)tokens * wanted);
      if (!fine) result = CAPSULET_DAMAGED;
    }
  }
  free(own);
  free(parts);
  free(sums);
  return result;
}

int capsulet_explain(const capsulet_model *model, const char *text, size_t size, int form, const int32_t *wanted_classes, size_t wanted,
                     const struct capsulet_explanation *explanation) {
  if (wanted > INT32_MAX) return CAPSULET_IMPOSSIBLE;
  for (size_t i = 0; i < wanted; i++)
    if (wanted_classes[i] < 0 || wanted_classes[i] >= model->classes) return CAPSULET_IMPOSSIBLE;
  if (model->linear_only) return explain_features(model, text, size, form, wanted_classes, wanted, explanation);
  struct hits hits = {.keep = true};
  struct reading reading = {0};
  int32_t unknown;
  int result = read_text(model, text, size, form, &reading, model->ngram_rows ? &hits : NULL, &unknown);
  if (!result) result = explain_text(model, &reading, &hits, wanted_classes, wanted, explanation);
  hits_free(&hits);
  reading_free(&reading);
  return result;
}
