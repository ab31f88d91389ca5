/* The time loops and products of one direction of the GRU, written once with vector extensions and included by gru.c
 * once per instruction set. The including file defines
 *
 *   NAME(x)        x with the instruction set's suffix
 *   TARGET         function attribute that lets the compiler use the instruction set
 *   LANES          floats in one vector
 *   FORWARD_ROWS   rows of the forward register block: FORWARD_ROWS x 3 vectors of sums (reset, update, new)
 *   BACKWARD_ROWS  rows of the backward register block: BACKWARD_ROWS x 2 vectors of sums
 *   MINIMUM(a, b), MAXIMUM(a, b)   element-wise; the result is b if one of the two is NaN
 *
 * Both register blocks have at least eight sums, which hides the latency of a fused multiply-add, and leave room for the
 * weights (3 or 2 vectors) and for one broadcast element.
 */

#include "vector.h"

/* tanh(x) = x P(x^2) / Q(x^2) on [-9, 9], a minimax fit; beyond it tanh is 1 in single precision. Error below 5e-7. */
INLINE VECTOR NAME(tanh)(VECTOR x) {
  const VECTOR zero = {0};
  x = MAXIMUM(zero - 9.0f, MINIMUM(zero + 9.0f, x));
  VECTOR square = x * x;
  VECTOR above = square * 1.3184249590927615e-08f + 2.0471850607586555e-05f;
  VECTOR below = square * 7.702674468524474e-07f + 3.271387440485851e-04f;
  above = above * square + 3.4865831750120384e-03f;
  below = below * square + 2.5841984129229698e-02f;
  above = above * square + 1.337319879492155e-01f;
  below = below * square + 4.6706495659408676e-01f;
  above = above * square + 9.999999063569539e-01f;
  below = below * square + 1.0f;
  return x * above / below;
}

INLINE VECTOR NAME(sigmoid)(VECTOR x) { return NAME(tanh)(x * 0.5f) * 0.5f + 0.5f; }

/* weight (3 hidden, depth) -> packed (padded / LANES, depth, 3, LANES), in the order in which the forward block reads. */
static TARGET void NAME(pack_forward)(const float *weight, int64_t hidden, int64_t depth, int64_t padded, float *packed) {
  for (int64_t first = 0; first < padded; first += LANES)
    for (int gate = 0; gate < 3; gate++) {
      float *panel = packed + first * depth * 3 + gate * LANES;
      int64_t count = hidden - first < LANES ? hidden - first : LANES;
      for (int64_t lane = 0; lane < LANES; lane++) {
        const float *row = weight + (gate * hidden + first + lane) * depth;
        if (lane < count)
          for (int64_t k = 0; k < depth; k++) panel[k * 3 * LANES + lane] = row[k];
        else
          for (int64_t k = 0; k < depth; k++) panel[k * 3 * LANES + lane] = 0;
      }
    }
}

/* weight (3 hidden, columns) -> packed (columns / 2 LANES rounded up, 3 padded, 2 LANES), in the order in which the
 * backward block reads. `gates` is the order of the gates along the depth. */
static TARGET void NAME(pack_backward)(const float *weight, const int gates[3], int64_t hidden, int64_t columns,
                                       int64_t padded, float *packed) {
  for (int64_t first = 0; first < columns; first += 2 * LANES)
    for (int gate = 0; gate < 3; gate++) {
      const float *from = weight + gates[gate] * hidden * columns + first;
      for (int64_t unit = 0; unit < hidden; unit++, packed += 2 * LANES, from += columns) {
        NAME(store)(packed, NAME(load_first)(from, columns - first));
        NAME(store)(packed + LANES, NAME(load_first)(from + LANES, columns - first - LANES));
      }
      memset(packed, 0, sizeof(float) * 2 * LANES * (size_t)(padded - hidden));
      packed += 2 * LANES * (padded - hidden);
    }
}

/* sums (rows, 3) += rows of elements (rows, depth) x panel (depth, 3, LANES) */
INLINE void NAME(multiply_forward)(VECTOR sums[][3], const float *const *elements, int64_t depth, const float *panel,
                                   const int rows) {
  for (int64_t k = 0; k < depth; k++, panel += 3 * LANES) {
    VECTOR reset = NAME(load)(panel), update = NAME(load)(panel + LANES), new = NAME(load)(panel + 2 * LANES);
    UNROLL
    for (int row = 0; row < rows; row++) {
      float element = elements[row][k];
      sums[row][0] += reset * element;
      sums[row][1] += update * element;
      sums[row][2] += new * element;
    }
  }
}

/* sums (rows, 2) += rows of elements (rows, depth) x panel (depth, 2, LANES) */
INLINE void NAME(multiply_backward)(VECTOR sums[][2], const float *elements, int64_t stride, int64_t depth,
                                    const float *panel, const int rows) {
  for (int64_t k = 0; k < depth; k++, panel += 2 * LANES) {
    VECTOR left = NAME(load)(panel), right = NAME(load)(panel + LANES);
    UNROLL
    for (int row = 0; row < rows; row++) {
      float element = elements[row * stride + k];
      sums[row][0] += left * element;
      sums[row][1] += right * element;
    }
  }
}

/* Input projection of `rows` tokens for LANES units: gates (token, 4, LANES) gets reset, update, new. */
INLINE void NAME(project_rows)(const struct direction *job, int64_t unit, int64_t token, const int rows) {
  const struct layer *layer = job->layer;
  const float *bias = job->biases + unit * 3;
  const float *elements[FORWARD_ROWS];
  VECTOR sums[FORWARD_ROWS][3];
  UNROLL
  for (int row = 0; row < rows; row++) {
    elements[row] = layer->inputs + layer->positions[token + row] * layer->input_size;
    sums[row][0] = NAME(load)(bias);
    sums[row][1] = NAME(load)(bias + LANES);
    sums[row][2] = NAME(load)(bias + 2 * LANES);
  }
  NAME(multiply_forward)(sums, elements, layer->input_size, job->packed_ih + unit * layer->input_size * 3, rows);
  float *gates = job->gates + (unit * layer->tokens + token * LANES) * 4;
  UNROLL
  for (int row = 0; row < rows; row++, gates += 4 * LANES) {
    NAME(store)(gates, sums[row][0]);
    NAME(store)(gates + LANES, sums[row][1]);
    NAME(store)(gates + 2 * LANES, sums[row][2]);
  }
}

/* One time step of `rows` texts for LANES units. `before` is the packed row of the first text's previous state, or -1
 * if the texts have none; the recurrent product is then left out. */
INLINE void NAME(step_rows)(const struct direction *job, int64_t unit, int64_t token, int64_t before, const int rows) {
  const struct layer *layer = job->layer;
  const int64_t padded = layer->padded;
  const float *elements[FORWARD_ROWS];
  VECTOR sums[FORWARD_ROWS][3];
  float *gates = job->gates + (unit * layer->tokens + token * LANES) * 4;
  UNROLL
  for (int row = 0; row < rows; row++) {
    elements[row] = before < 0 ? layer->zeros : job->states + (before + row) * padded;
    sums[row][0] = sums[row][1] = (VECTOR){0}; /* the projections are added later: they come from distant memory */
    sums[row][2] = NAME(load)(job->biases + 3 * padded + unit);
    __builtin_prefetch(gates + row * 4 * LANES, 1);
    __builtin_prefetch(gates + row * 4 * LANES + 2 * LANES, 1);
  }
  if (before >= 0)
    NAME(multiply_forward)(sums, elements, layer->hidden, job->packed_hh + unit * layer->hidden * 3, rows);
  UNROLL
  for (int row = 0; row < rows; row++, gates += 4 * LANES) {
    VECTOR reset = NAME(sigmoid)(NAME(load)(gates) + sums[row][0]);
    VECTOR update = NAME(sigmoid)(NAME(load)(gates + LANES) + sums[row][1]);
    VECTOR new = NAME(tanh)(NAME(load)(gates + 2 * LANES) + reset * sums[row][2]);
    VECTOR state = new + update * (NAME(load)(elements[row] + unit) - new);
    NAME(store)(gates, reset);
    NAME(store)(gates + LANES, update);
    NAME(store)(gates + 2 * LANES, new);
    NAME(store)(gates + 3 * LANES, sums[row][2]);
    NAME(store)(job->states + (token + row) * padded + unit, state);
  }
}

/* carry += one gate's gradients at the next step x its part of weight_hh, for `rows` texts and 2 LANES units. One gate at a
 * time, because its part of the panel (8 kB with 128 units) stays in the first-level cache and all three together do not. */
INLINE void NAME(recur_rows)(const struct direction *job, int64_t unit, int gate, int64_t token, int64_t after,
                             int64_t text, const int rows) {
  const struct layer *layer = job->layer;
  const int64_t padded = layer->padded, stride = layer->stride;
  float *carry = job->carry + text * padded + unit;
  const float *gates = job->gates + (unit * layer->tokens + token * LANES) * 4;
  VECTOR sums[BACKWARD_ROWS][2];
  /* prefetch what unstep_rows will read and write */
  UNROLL
  for (int row = 0; row < rows; row++)
    if (gate == 0) {
      __builtin_prefetch(gates + row * 4 * LANES);
      __builtin_prefetch(gates + row * 4 * LANES + 2 * LANES);
      __builtin_prefetch(gates + (layer->tokens + row) * 4 * LANES);
      __builtin_prefetch(gates + (layer->tokens + row) * 4 * LANES + 2 * LANES);
    } else {
      UNROLL
      for (int part = 0; part < 4; part++)
        __builtin_prefetch(job->gate_gradients + (token + row) * stride + part * padded + unit, 1);
      if (job->before[token] >= 0) __builtin_prefetch(job->states + (job->before[token] + row) * padded + unit);
    }
  UNROLL
  for (int row = 0; row < rows; row++) {
    sums[row][0] = NAME(load)(carry + row * padded);
    sums[row][1] = NAME(load)(carry + row * padded + LANES);
  }
  NAME(multiply_backward)(sums, job->gate_gradients + after * stride + (1 + gate) * padded, stride, padded,
                          job->packed_hh + (unit * 3 + gate * 2 * LANES) * padded, rows);
  UNROLL
  for (int row = 0; row < rows; row++) {
    NAME(store)(carry + row * padded, sums[row][0]);
    NAME(store)(carry + row * padded + LANES, sums[row][1]);
  }
}

/* Backward of one time step of `rows` texts for 2 LANES units, with the last gate's share of the recurrence. `after` is the packed row that came next (its gate gradients
 * are ready), or -1 at a text's last step; `text` is the first text's place in the order of lengths. */
INLINE void NAME(unstep_rows)(const struct direction *job, int64_t unit, int64_t token, int64_t after, int64_t text,
                              const int rows) {
  const struct layer *layer = job->layer;
  const int64_t padded = layer->padded, stride = layer->stride;
  VECTOR sums[BACKWARD_ROWS][2];
  UNROLL
  for (int row = 0; row < rows; row++) {
    sums[row][0] = NAME(load)(job->carry + (text + row) * padded + unit);
    sums[row][1] = NAME(load)(job->carry + (text + row) * padded + unit + LANES);
  }
  if (after >= 0)
    NAME(multiply_backward)(sums, job->gate_gradients + after * stride + 3 * padded, stride, padded,
                            job->packed_hh + (unit * 3 + 2 * 2 * LANES) * padded, rows);
  UNROLL
  for (int row = 0; row < rows; row++) {
    int64_t before = job->before[token + row];
    const float *states = before < 0 ? layer->zeros : job->states + before * padded;
    UNROLL
    for (int half = 0; half < 2; half++) {
      int64_t place = unit + half * LANES;
      const float *gates = job->gates + (place * layer->tokens + (token + row) * LANES) * 4;
      float *gradients = job->gate_gradients + (token + row) * stride + place;
      VECTOR state = sums[row][half], previous = NAME(load)(states + place);
      VECTOR reset = NAME(load)(gates), update = NAME(load)(gates + LANES);
      VECTOR new = NAME(load)(gates + 2 * LANES), recurrent = NAME(load)(gates + 3 * LANES);
      VECTOR kept = state * update;
      VECTOR into_new = (state - kept) * (1.0f - new * new);
      NAME(store)(job->carry + (text + row) * padded + place, kept);
      NAME(store)(gradients, into_new);
      NAME(store)(gradients + padded, into_new * recurrent * (reset - reset * reset));
      NAME(store)(gradients + 2 * padded, (previous - new) * (kept - kept * update));
      NAME(store)(gradients + 3 * padded, into_new * reset);
    }
  }
}

/* Gradient of the inputs of `rows` tokens, for 2 LANES of their columns: both directions' gate gradients x weight_ih. */
INLINE void NAME(unproject_rows)(const struct direction *jobs, int64_t column, int64_t token, const int rows) {
  const struct layer *layer = jobs->layer;
  const int64_t depth = 3 * layer->padded, stride = layer->stride;
  VECTOR sums[BACKWARD_ROWS][2];
  UNROLL
  for (int row = 0; row < rows; row++) sums[row][0] = sums[row][1] = (VECTOR){0};
  for (int reverse = 0; reverse < 2; reverse++)
    NAME(multiply_backward)(sums, jobs[reverse].gate_gradients + token * stride, stride, depth,
                            jobs[reverse].packed_ih + column * depth, rows);
  UNROLL
  for (int row = 0; row < rows; row++) {
    float *gradients = layer->input_gradients + layer->positions[token + row] * layer->input_size + column;
    NAME(store_first)(gradients, sums[row][0], layer->input_size - column);
    NAME(store_first)(gradients + LANES, sums[row][1], layer->input_size - column - LANES);
  }
}

/* weights (rows, columns) += gradients (depth, rows)' x panel (depth, 2 LANES), for `count` <= 2 LANES columns; the first
 * call sets them. */
INLINE void NAME(weigh_rows)(float *weights, int64_t columns, int64_t count, const float *gradients, int64_t stride,
                             const float *panel, int64_t depth, int first, const int rows) {
  VECTOR sums[BACKWARD_ROWS][2];
  UNROLL
  for (int row = 0; row < rows; row++) {
    sums[row][0] = sums[row][1] = (VECTOR){0};
    __builtin_prefetch(weights + row * columns, 1);
  }
  for (int64_t k = 0; k < depth; k++, panel += 2 * LANES, gradients += stride) {
    VECTOR left = NAME(load)(panel), right = NAME(load)(panel + LANES);
    UNROLL
    for (int row = 0; row < rows; row++) {
      float element = gradients[row];
      sums[row][0] += left * element;
      sums[row][1] += right * element;
    }
  }
  UNROLL
  for (int row = 0; row < rows; row++, weights += columns) {
    if (!first) {
      sums[row][0] += NAME(load_first)(weights, count);
      sums[row][1] += NAME(load_first)(weights + LANES, count - LANES);
    }
    NAME(store_first)(weights, sums[row][0], count);
    NAME(store_first)(weights + LANES, sums[row][1], count - LANES);
  }
}

/* The register blocks of every height. */
#if FORWARD_ROWS == 8
#define FORWARD_CASES(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8)
#else
#define FORWARD_CASES(f) f(1) f(2) f(3) f(4)
#endif
#if BACKWARD_ROWS == 12
#define BACKWARD_CASES(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12)
#else
#define BACKWARD_CASES(f) f(1) f(2) f(3) f(4) f(5) f(6)
#endif

static TARGET void NAME(project_block)(const struct direction *job, int64_t unit, int64_t token, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(project_rows)(job, unit, token, n); break;
    FORWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(step_block)(const struct direction *job, int64_t unit, int64_t token, int64_t before,
                                    int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(step_rows)(job, unit, token, before, n); break;
    FORWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(recur_block)(const struct direction *job, int64_t unit, int gate, int64_t token, int64_t after,
                                     int64_t text, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(recur_rows)(job, unit, gate, token, after, text, n); break;
    BACKWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(unstep_block)(const struct direction *job, int64_t unit, int64_t token, int64_t after,
                                      int64_t text, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(unstep_rows)(job, unit, token, after, text, n); break;
    BACKWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(unproject_block)(const struct direction *jobs, int64_t column, int64_t token, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(unproject_rows)(jobs, column, token, n); break;
    BACKWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(weigh_block)(float *weights, int64_t columns, int64_t count, const float *gradients,
                                     int64_t stride, const float *panel, int64_t depth, int first, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(weigh_rows)(weights, columns, count, gradients, stride, panel, depth, first, n); break;
    BACKWARD_CASES(CASE)
#undef CASE
  }
}

/* for (row = from; row < to; row += rows), in blocks of at most `most` rows and of nearly equal height: 32 rows are
 * 6 + 6 + 5 + 5 + 5 + 5 and not 6 + 6 + 6 + 6 + 6 + 2, because a block of 2 leaves the multipliers idle. */
#define FOR_BLOCKS(row, rows, from, to, most)                                                                     \
  for (int64_t row = (from), left_##row = ((to) - (from) + (most)-1) / (most),                                    \
               rows = left_##row ? ((to)-row + left_##row - 1) / left_##row : 0;                                  \
       row < (to); row += rows, left_##row--, rows = left_##row ? ((to)-row + left_##row - 1) / left_##row : 0)

/* Gates of all tokens: inputs x weight_ih' + biases, in chunks of tokens that stay in the second-level cache while all
 * panels of the weights pass over them. */
static TARGET void NAME(project)(const struct direction *job) {
  const struct layer *layer = job->layer;
  for (int64_t start = 0; start < layer->tokens; start += CHUNK) {
    int64_t end = start + CHUNK < layer->tokens ? start + CHUNK : layer->tokens;
    for (int64_t unit = 0; unit < layer->padded; unit += LANES)
      FOR_BLOCKS(token, rows, start, end, FORWARD_ROWS) NAME(project_block)(job, unit, token, rows);
  }
}

/* One direction, forward. */
static TARGET void NAME(forward)(const struct direction *job) {
  const struct layer *layer = job->layer;
  const int64_t padded = layer->padded, hidden = layer->hidden, steps = layer->steps, *offsets = layer->offsets;
  NAME(pack_forward)(job->weight_ih, hidden, layer->input_size, padded, job->packed_ih);
  NAME(pack_forward)(job->weight_hh, hidden, hidden, padded, job->packed_hh);
  memset(job->biases, 0, sizeof(float) * 4 * (size_t)padded);
  for (int64_t unit = 0; unit < hidden; unit++) {
    float *bias = job->biases + unit / LANES * 3 * LANES + unit % LANES; /* (padded / LANES, 3, LANES) */
    bias[0] = job->bias_ih[unit] + job->bias_hh[unit];
    bias[LANES] = job->bias_ih[hidden + unit] + job->bias_hh[hidden + unit];
    bias[2 * LANES] = job->bias_ih[2 * hidden + unit];
    job->biases[3 * padded + unit] = job->bias_hh[2 * hidden + unit];
  }
  NAME(project)(job);
  for (int64_t i = 0; i < steps; i++) {
    int64_t step = job->reverse ? steps - 1 - i : i, earlier = job->reverse ? step + 1 : step - 1;
    int64_t first = offsets[step], count = offsets[step + 1] - first;
    int64_t started = i ? offsets[earlier + 1] - offsets[earlier] : 0; /* texts with a previous state */
    if (started > count) started = count;
    for (int64_t unit = 0; unit < padded; unit += LANES) {
      FOR_BLOCKS(row, rows, 0, started, FORWARD_ROWS)
        NAME(step_block)(job, unit, first + row, offsets[earlier] + row, rows);
      FOR_BLOCKS(row, rows, started, count, FORWARD_ROWS)
        NAME(step_block)(job, unit, first + row, -1, rows);
    }
    for (int64_t row = first; row < first + count; row++)
      memcpy(job->outputs + layer->positions[row] * 2 * hidden, job->states + row * padded, sizeof(float) * (size_t)hidden);
  }
}

/* Adds the tokens [start, start + depth) to the gradient (3 hidden, columns) of one of the two weights: gate gradients' x
 * the product's other side, whose row for token p is at sources[p] * width, or zero where sources[p] < 0. These rows are
 * first copied to panels of 2 LANES columns (one row apart, or all panels would fall into the same sets of the cache). places[gate] says where the gate is among the gate gradients. */
static TARGET void NAME(weigh)(const struct direction *job, float *weights, int64_t columns, const int places[3],
                               const float *side, int64_t width, const int64_t *sources, int64_t start, int64_t depth) {
  const struct layer *layer = job->layer;
  const int64_t hidden = layer->hidden, stride = layer->stride;
  for (int64_t k = 0; k < depth; k++) {
    int64_t source = sources[start + k];
    const float *from = source < 0 ? layer->zeros : side + source * width;
    for (int64_t column = 0; column < columns; column += LANES)
      NAME(store)(job->panels + (column / (2 * LANES) * (DEPTH + 1) + k) * 2 * LANES + column % (2 * LANES),
                  NAME(load_first)(from + column, columns - column));
  }
  for (int64_t column = 0; column < columns; column += 2 * LANES)
    for (int gate = 0; gate < 3; gate++)
      FOR_BLOCKS(unit, rows, 0, hidden, BACKWARD_ROWS)
        NAME(weigh_block)(weights + (gate * hidden + unit) * columns + column, columns, columns - column,
                          job->gate_gradients + start * stride + places[gate] * layer->padded + unit, stride,
                          job->panels + column * (DEPTH + 1), depth, start == 0, rows);
}

/* One direction, backward: gate gradients of all tokens in the time loop, then the gradients of the weights. */
static TARGET void NAME(backward)(const struct direction *job) {
  const struct layer *layer = job->layer;
  const int64_t padded = layer->padded, hidden = layer->hidden, steps = layer->steps, *offsets = layer->offsets;
  static const int order[3] = {0, 1, 2}, new_first[3] = {2, 0, 1}, places_ih[3] = {1, 2, 0}, places_hh[3] = {1, 2, 3};
  NAME(pack_backward)(job->weight_hh, order, hidden, hidden, padded, job->packed_hh);
  if (layer->input_gradients)
    NAME(pack_backward)(job->weight_ih, new_first, hidden, layer->input_size, padded, job->packed_ih);
  for (int64_t i = 0; i < steps; i++) {
    int64_t step = job->reverse ? i : steps - 1 - i;
    int64_t later = job->reverse ? step - 1 : step + 1, earlier = job->reverse ? step + 1 : step - 1;
    int64_t first = offsets[step], count = offsets[step + 1] - first;
    int64_t going = i ? offsets[later + 1] - offsets[later] : 0;                   /* texts with a next state */
    int64_t started = i < steps - 1 ? offsets[earlier + 1] - offsets[earlier] : 0; /* texts with a previous state */
    if (going > count) going = count;
    for (int64_t row = 0; row < count; row++) {
      const float *gradients = job->output_gradients + layer->positions[first + row] * 2 * hidden;
      float *carry = job->carry + row * padded;
      job->before[first + row] = row < started ? offsets[earlier] + row : -1;
      if (row < going)
        for (int64_t unit = 0; unit < hidden; unit++) carry[unit] += gradients[unit];
      else
        for (int64_t unit = 0; unit < padded; unit++) carry[unit] = unit < hidden ? gradients[unit] : 0;
    }
    for (int64_t unit = 0; unit < padded; unit += 2 * LANES) {
      for (int gate = 0; gate < 2; gate++)
        FOR_BLOCKS(row, rows, 0, going, BACKWARD_ROWS)
          NAME(recur_block)(job, unit, gate, first + row, offsets[later] + row, row, rows);
      FOR_BLOCKS(row, rows, 0, going, BACKWARD_ROWS)
        NAME(unstep_block)(job, unit, first + row, offsets[later] + row, row, rows);
      FOR_BLOCKS(row, rows, going, count, BACKWARD_ROWS)
        NAME(unstep_block)(job, unit, first + row, -1, row, rows);
    }
  }
  memset(job->biases, 0, sizeof(float) * 4 * (size_t)padded);
  for (int64_t start = 0; start < layer->tokens; start += DEPTH) {
    int64_t depth = layer->tokens - start < DEPTH ? layer->tokens - start : DEPTH;
    NAME(weigh)(job, job->weight_ih_gradient, layer->input_size, places_ih, layer->inputs, layer->input_size,
                layer->positions, start, depth);
    NAME(weigh)(job, job->weight_hh_gradient, hidden, places_hh, job->states, padded, job->before, start, depth);
    for (int64_t token = start; token < start + depth; token++) {
      const float *gradients = job->gate_gradients + token * layer->stride;
      for (int64_t unit = 0; unit < 4 * padded; unit++) job->biases[unit] += gradients[unit];
    }
  }
  for (int gate = 0; gate < 3; gate++) {
    size_t bytes = sizeof(float) * (size_t)hidden;
    memcpy(job->bias_ih_gradient + gate * hidden, job->biases + places_ih[gate] * padded, bytes);
    memcpy(job->bias_hh_gradient + gate * hidden, job->biases + places_hh[gate] * padded, bytes);
  }
  if (!layer->tokens) {
    memset(job->weight_ih_gradient, 0, sizeof(float) * (size_t)(3 * hidden * layer->input_size));
    memset(job->weight_hh_gradient, 0, sizeof(float) * (size_t)(3 * hidden * hidden));
  }
}

/* Gradients of the inputs of the tokens [start, end), when both directions are done. */
static TARGET void NAME(unproject)(const struct direction *jobs, int64_t start, int64_t end) {
  for (; start < end; start += CHUNK)
    for (int64_t column = 0; column < jobs->layer->input_size; column += 2 * LANES)
      FOR_BLOCKS(token, rows, start, start + CHUNK < end ? start + CHUNK : end, BACKWARD_ROWS)
        NAME(unproject_block)(jobs, column, token, rows);
}

#undef FORWARD_CASES
#undef BACKWARD_CASES
#undef FOR_BLOCKS
#undef INLINE
#undef VECTOR
#undef NAME
#undef TARGET
#undef LANES
#undef FORWARD_ROWS
#undef BACKWARD_ROWS
#undef MINIMUM
#undef MAXIMUM
