/* The encoder for one instruction set. kernels.c includes this file once for each, after defining
 *
 *   NAME(x)   the name of x for this instruction set
 *   TARGET    the attribute of its functions
 *   LANES     floats per vector: 4, 8 or 16
 *   SUMS      vectors of sums per gate that fit into the registers; a GRU has three gates
 *   FLIP      0x80 if a quantised number is stored with its sign bit flipped, so that it is unsigned; else 0
 *   DOT(sum, weights, x)  sum + four products per lane: weights has LANES x 4 bytes, x four quantised numbers
 *   TOTAL     the type of these sums, if it is not a vector of LANES integers, and FINISH(total) to make one of it
 *   LEAST(bound, x)  x, but at least the bound: the larger of two vectors; NaN where x is NaN
 *   MOST(bound, x)   x, but at most the bound: the smaller one; NaN where x is NaN. Without both, comparisons are used
 *
 * A step of a GRU for `texts` texts, in PyTorch's order of the gates:
 *
 *   r = sigmoid(W_r x + b_r + R_r h + c_r)      z = sigmoid(W_z x + b_z + R_z h + c_z)
 *   n = tanh(W_n x + b_n + r (R_n h + c_n))     h' = (1 - z) n + z h
 */

typedef float NAME(floats) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t NAME(words) __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* may overflow */
typedef int8_t NAME(bytes) __attribute__((vector_size(LANES), aligned(1), may_alias));
#define FLOATS NAME(floats)
#define INTS NAME(ints)
#define WORDS NAME(words)
#define INLINE static inline __attribute__((always_inline)) TARGET
#define PARTS (UNITS / LANES) /* vectors of a block of units */
#define UNROLL _Pragma("GCC unroll 8") /* sums are in registers only if these loops are unrolled */
#ifndef TOTAL
#define TOTAL INTS
#define FINISH(total) (total)
#endif
#ifndef LEAST
#define LEAST(bound, x) NAME(choose)((x) < (bound), bound, x)
#define MOST(bound, x) NAME(choose)((x) > (bound), bound, x)
#endif

INLINE FLOATS NAME(load)(const float *from) { return *(const FLOATS *)(const void *)from; }
INLINE void NAME(store)(float *to, FLOATS value) { *(FLOATS *)(void *)to = value; }
INLINE FLOATS NAME(all)(float value) { return (FLOATS){0} + value; }

/* Where a condition holds, one vector, else the other. */
INLINE FLOATS NAME(choose)(INTS condition, FLOATS yes, FLOATS no) {
  return (FLOATS)((condition & (INTS)yes) | (~condition & (INTS)no));
}

INLINE FLOATS NAME(clamp)(FLOATS x, float low, float high) { return MOST(NAME(all)(high), LEAST(NAME(all)(low), x)); }

/* e^x for x between -87 and 88: power_of_e of numbers.h in every lane. */
INLINE FLOATS NAME(power_of_e)(FLOATS x) {
  FLOATS magic = NAME(all)(ROUND);
  FLOATS shifted = x * 1.44269504f + magic;
  FLOATS n = shifted - magic;
  FLOATS r = x - n * 0.693359375f + n * 2.12194440e-4f;
  FLOATS p = NAME(all)(1.0f / 720);
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return (FLOATS)((WORDS)p + (((WORDS)shifted - (WORDS)magic) << 23));
}

INLINE FLOATS NAME(exact_tanh)(FLOATS x) {
  x = NAME(clamp)(x, -9.0f, 9.0f);
  return 1.0f - 2.0f / (NAME(power_of_e)(x + x) + 1.0f);
}

INLINE FLOATS NAME(exact_sigmoid)(FLOATS x) {
  x = NAME(clamp)(x, -30.0f, 30.0f);
  return 1.0f / (1.0f + NAME(power_of_e)(-x));
}

/* tanh by a quotient of polynomials, for the integer path: TANH_* are written by core/fit_tanh.py. The error is below 1e-4, and
 * no result is above 1. */
INLINE FLOATS NAME(quick_tanh)(FLOATS x) {
  x = NAME(clamp)(x, -TANH_END, TANH_END);
  FLOATS y = x * x;
  FLOATS above = ((TANH_A3 * y + TANH_A2) * y + TANH_A1) * y + TANH_A0;
  FLOATS below = ((TANH_B3 * y + TANH_B2) * y + TANH_B1) * y + 1.0f;
  return x * above / below;
}

/* sigmoid(x) = 1/2 + tanh(x / 2) / 2 of two vectors. Both quotients are made with one division, which takes as long as ten
 * products: a/b = a d (1 / (b d)) and c/d = c b (1 / (b d)). */
INLINE void NAME(quick_sigmoids)(FLOATS *left, FLOATS *right) {
  FLOATS above[2], below[2];
  UNROLL for (int i = 0; i < 2; i++) {
    FLOATS x = NAME(clamp)(i ? *right : *left, -2 * TANH_END, 2 * TANH_END), y = x * x;
    above[i] = x * (((TANH_A3 / 256 * y + TANH_A2 / 64) * y + TANH_A1 / 16) * y + TANH_A0 / 4);
    below[i] = ((TANH_B3 / 64 * y + TANH_B2 / 16) * y + TANH_B1 / 4) * y + 1.0f;
  }
  FLOATS inverse = 1.0f / (below[0] * below[1]);
  *left = above[0] * below[1] * inverse + 0.5f;
  *right = above[1] * below[0] * inverse + 0.5f;
}

/* Quantises states between -1 and 1. */
INLINE void NAME(quantise)(FLOATS x, uint8_t *to) {
  FLOATS magic = NAME(all)(ROUND);
  INTS q = (INTS)((WORDS)(x * 127.0f + magic) - (WORDS)magic);
  *(NAME(bytes) *)(void *)to = __builtin_convertvector(q ^ FLIP, NAME(bytes));
}

/* The rest of a step for one vector of units: gates, new state, trace. `sums` are R h of the three gates. */
INLINE FLOATS NAME(gates)(const FLOATS *sums, const float *projected, const float *new_bias, FLOATS state, bool quick,
                          const struct step_trace *trace, int64_t place) {
  FLOATS r = NAME(load)(projected) + sums[0], z = NAME(load)(projected + UNITS) + sums[1];
  if (quick) NAME(quick_sigmoids)(&r, &z);
  else r = NAME(exact_sigmoid)(r), z = NAME(exact_sigmoid)(z);
  FLOATS before = NAME(load)(projected + 2 * UNITS) + r * (sums[2] + NAME(load)(new_bias));
  FLOATS n = quick ? NAME(quick_tanh)(before) : NAME(exact_tanh)(before);
  if (trace) {
    NAME(store)(trace->reset + place, r);
    NAME(store)(trace->update + place, z);
    NAME(store)(trace->before + place, before);
    NAME(store)(trace->after + place, n);
  }
  return n - z * n + z * state;
}

/* ---- int8 ---- */

/* Sums of `units` vectors of units x `texts` rows; vector number `first` of the weights is the first one. */
INLINE void NAME(dots)(const struct weights *weights, int64_t first, const uint8_t *const *rows, int units, int texts,
                       INTS sums[SUMS][3]) {
  int64_t quads = weights->inputs / 4;
  const int8_t *blocks[SUMS];
  TOTAL totals[SUMS][3];
  UNROLL for (int u = 0; u < units; u++) {
    int64_t block = (first + u) / PARTS, part = (first + u) % PARTS;
    blocks[u] = weights->bytes + (block * 3 * quads * UNITS + part * LANES) * 4;
    UNROLL for (int t = 0; t < texts; t++)
      UNROLL for (int gate = 0; gate < 3; gate++)
        totals[u * texts + t][gate] =
            FLIP ? *(const TOTAL *)(const void *)(weights->offsets + (block * 3 + gate) * UNITS + part * LANES) : (TOTAL){0};
  }
  for (int64_t quad = 0; quad < quads; quad++) {
    int32_t x[SUMS];
    UNROLL for (int t = 0; t < texts; t++) memcpy(&x[t], rows[t] + 4 * quad, 4);
    UNROLL for (int u = 0; u < units; u++)
      UNROLL for (int t = 0; t < texts; t++)
        UNROLL for (int gate = 0; gate < 3; gate++) {
          const int8_t *four = blocks[u] + (gate * quads + quad) * UNITS * 4;
          totals[u * texts + t][gate] = DOT(totals[u * texts + t][gate], four, x[t]);
        }
  }
  UNROLL for (int i = 0; i < units * texts; i++)
    UNROLL for (int gate = 0; gate < 3; gate++) sums[i][gate] = FINISH(totals[i][gate]);
}

INLINE void NAME(project_rows)(const struct direction *direction, int64_t vectors, const uint8_t *const *rows, const float *scales,
                               int texts, float *y, int64_t width) {
  for (int64_t vector = 0; vector < vectors; vector++) {
    INTS sums[SUMS][3];
    int64_t place = vector / PARTS * 3 * UNITS + vector % PARTS * LANES;
    NAME(dots)(&direction->input, vector, rows, 1, texts, sums);
    for (int t = 0; t < texts; t++)
      for (int gate = 0; gate < 3; gate++) {
        int64_t at = place + gate * UNITS;
        FLOATS scale = NAME(load)(direction->input.scales + at) * scales[t];
        FLOATS value = __builtin_convertvector(sums[t][gate], FLOATS) * scale + NAME(load)(direction->bias + at);
        NAME(store)(y + t * width + at, value);
      }
  }
}

static TARGET void NAME(project_bytes)(const capsulet_model *model, const struct direction *direction, const void *const *rows,
                                       const float *scales, int64_t n, float *y) {
  int64_t vectors = (int64_t)model->blocks * PARTS, width = (int64_t)model->blocks * 3 * UNITS;
  const uint8_t *const *bytes = (const uint8_t *const *)rows;
  int64_t row = 0;
  for (; row + SUMS <= n; row += SUMS)
    NAME(project_rows)(direction, vectors, bytes + row, scales + row, SUMS, y + row * width, width);
  for (; row < n; row++) NAME(project_rows)(direction, vectors, bytes + row, scales + row, 1, y + row * width, width);
}

INLINE void NAME(step_units)(const capsulet_model *model, const struct direction *direction, const float *const *projected,
                             int64_t first, int units, int texts, float *states, const uint8_t *const *rows, uint8_t *after,
                             const struct step_trace *trace) {
  INTS sums[SUMS][3];
  int64_t width = (int64_t)model->blocks * UNITS;
  NAME(dots)(&direction->recurrent, first, rows, units, texts, sums);
  for (int u = 0; u < units; u++) {
    int64_t block = (first + u) / PARTS, part = (first + u) % PARTS;
    int64_t place = block * 3 * UNITS + part * LANES, unit = block * UNITS + part * LANES;
    for (int t = 0; t < texts; t++) {
      FLOATS products[3];
      for (int gate = 0; gate < 3; gate++)
        products[gate] = __builtin_convertvector(sums[u * texts + t][gate], FLOATS) *
                         NAME(load)(direction->recurrent.scales + place + gate * UNITS);
      float *state = states + t * width + unit;
      FLOATS next = NAME(gates)(products, projected[t] + place, direction->new_bias + unit, NAME(load)(state), true, trace,
                                t * width + unit);
      NAME(store)(state, next);
      NAME(quantise)(next, after + t * width + unit);
    }
  }
}

/* A step of exactly `texts` texts, `units` vectors of units at a time. */
INLINE void NAME(step_texts)(const capsulet_model *model, const struct direction *direction, const float *const *projected, int units,
                             int texts, float *states, const uint8_t *before, uint8_t *after, const struct step_trace *trace) {
  int64_t vectors = (int64_t)model->blocks * PARTS, vector = 0, width = (int64_t)model->blocks * UNITS;
  const uint8_t *rows[SUMS];
  for (int t = 0; t < texts; t++) rows[t] = before + t * width;
  for (; vector + units <= vectors; vector += units)
    NAME(step_units)(model, direction, projected, vector, units, texts, states, rows, after, trace);
  for (; vector < vectors; vector++)
    NAME(step_units)(model, direction, projected, vector, 1, texts, states, rows, after, trace);
}

static TARGET void NAME(step_bytes)(const capsulet_model *model, const struct direction *direction, const float *const *projected,
                                    int32_t texts, float *states, const uint8_t *before, uint8_t *after,
                                    const struct step_trace *trace) {
  int64_t width = (int64_t)model->blocks * UNITS;
#define STEP(units, number)                                                                                                     \
  for (; texts >= number; texts -= number) {                                                                                    \
    NAME(step_texts)(model, direction, projected, units, number, states, before, after, trace);                                 \
    projected += number, states += number * width, before += number * width, after += number * width;                           \
  }
#if SUMS == 8
  STEP(1, 8)
#endif
#if SUMS >= 4
  STEP(SUMS / 4, 4)
#endif
  STEP(SUMS / 2, 2)
  STEP(SUMS, 1)
#undef STEP
}

/* ---- float32 ---- */

/* Products of one vector of units with `texts` rows. */
INLINE void NAME(products)(const struct weights *weights, int64_t vector, const float *const *rows, int texts, FLOATS sums[4][3]) {
  int64_t block = vector / PARTS, part = vector % PARTS, inputs = weights->inputs;
  const float *from = weights->floats + block * 3 * inputs * UNITS + part * LANES;
  UNROLL for (int t = 0; t < texts; t++)
    UNROLL for (int gate = 0; gate < 3; gate++) sums[t][gate] = (FLOATS){0};
  for (int64_t input = 0; input < inputs; input++)
    UNROLL for (int gate = 0; gate < 3; gate++) {
      FLOATS weight = NAME(load)(from + (gate * inputs + input) * UNITS);
      UNROLL for (int t = 0; t < texts; t++) sums[t][gate] += weight * rows[t][input];
    }
}

INLINE void NAME(project_numbers)(const struct direction *direction, int64_t vectors, const float *const *rows, int texts, float *y,
                                  int64_t width) {
  for (int64_t vector = 0; vector < vectors; vector++) {
    FLOATS sums[4][3];
    int64_t place = vector / PARTS * 3 * UNITS + vector % PARTS * LANES;
    NAME(products)(&direction->input, vector, rows, texts, sums);
    for (int t = 0; t < texts; t++)
      for (int gate = 0; gate < 3; gate++) {
        int64_t at = place + gate * UNITS;
        NAME(store)(y + t * width + at, sums[t][gate] + NAME(load)(direction->bias + at));
      }
  }
}

static TARGET void NAME(project_floats)(const capsulet_model *model, const struct direction *direction, const void *const *rows,
                                        const float *scales, int64_t n, float *y) {
  (void)scales;
  int64_t vectors = (int64_t)model->blocks * PARTS, width = (int64_t)model->blocks * 3 * UNITS, row = 0;
  const float *const *numbers = (const float *const *)rows;
  for (; row + 4 <= n; row += 4) NAME(project_numbers)(direction, vectors, numbers + row, 4, y + row * width, width);
  for (; row < n; row++) NAME(project_numbers)(direction, vectors, numbers + row, 1, y + row * width, width);
}

INLINE void NAME(step_numbers)(const capsulet_model *model, const struct direction *direction, const float *const *projected, int texts,
                               float *states, const float *before, const struct step_trace *trace) {
  int64_t vectors = (int64_t)model->blocks * PARTS, width = (int64_t)model->blocks * UNITS;
  const float *rows[4];
  for (int t = 0; t < texts; t++) rows[t] = before + t * width;
  for (int64_t vector = 0; vector < vectors; vector++) {
    FLOATS sums[4][3];
    int64_t block = vector / PARTS, part = vector % PARTS, unit = block * UNITS + part * LANES;
    NAME(products)(&direction->recurrent, vector, rows, texts, sums);
    for (int t = 0; t < texts; t++) {
      float *state = states + t * width + unit;
      FLOATS next = NAME(gates)(sums[t], projected[t] + block * 3 * UNITS + part * LANES, direction->new_bias + unit,
                                NAME(load)(before + t * width + unit), false, trace, t * width + unit);
      NAME(store)(state, next);
    }
  }
}

/* `before` and `after` are states in floats; `states` is not used: it is `after`. */
static TARGET void NAME(step_floats)(const capsulet_model *model, const struct direction *direction, const float *const *projected,
                                     int32_t texts, float *states, const uint8_t *before, uint8_t *after,
                                     const struct step_trace *trace) {
  int64_t width = (int64_t)model->blocks * UNITS;
  const float *old = (const float *)(const void *)before;
  float *new = (float *)(void *)after;
  (void)states;
  for (; texts >= 4; texts -= 4, projected += 4, old += 4 * width, new += 4 * width)
    NAME(step_numbers)(model, direction, projected, 4, new, old, trace);
  for (; texts; texts--, projected++, old += width, new += width)
    NAME(step_numbers)(model, direction, projected, 1, new, old, trace);
}

/* ---- sums ---- */

/* Some vectors of the sum at a time: each addition waits for the one before it. */
INLINE void NAME(combine_vectors)(const float *weights, const float *rows, int64_t count, int64_t size, int vectors, float *sum) {
  FLOATS totals[4];
  UNROLL for (int i = 0; i < vectors; i++) totals[i] = (FLOATS){0};
  for (int64_t row = 0; row < count; row++)
    UNROLL for (int i = 0; i < vectors; i++) totals[i] += NAME(load)(rows + row * size + i * LANES) * weights[row];
  UNROLL for (int i = 0; i < vectors; i++) NAME(store)(sum + i * LANES, totals[i]);
}

static TARGET void NAME(combine)(const float *weights, const float *rows, int64_t count, int64_t size, float *sum) {
  int64_t at = 0;
  for (; at + 4 * LANES <= size; at += 4 * LANES) NAME(combine_vectors)(weights, rows + at, count, size, 4, sum + at);
  for (; at < size; at += LANES) NAME(combine_vectors)(weights, rows + at, count, size, 1, sum + at);
}

static const struct kernel NAME(kernel) = {
    .name = KERNEL_NAME,
    .flip = FLIP,
    .project = {NAME(project_floats), NAME(project_bytes)},
    .step = {NAME(step_floats), NAME(step_bytes)},
    .combine = NAME(combine),
};

#undef FLOATS
#undef INTS
#undef WORDS
#undef INLINE
#undef PARTS
#undef UNROLL
#undef TOTAL
#undef FINISH
#undef LEAST
#undef MOST
