/* The time loops and products of one direction of the GRU, written once with vector extensions and included by gru.c
 * once for every instruction set. The including file defines
 *
 *   NAME(x)        x with the instruction set's suffix
 *   TARGET         function attribute that lets the compiler use the instruction set
 *   LANES          floats in one vector
 *   FORWARD_ROWS   rows of the forward register block: FORWARD_ROWS x 3 vectors of sums (reset, update, new)
 *   BACKWARD_ROWS  rows of the backward register block: BACKWARD_ROWS x 2 vectors of sums
 *   MINIMUM(a, b), MAXIMUM(a, b)   element-wise; when one of the two is not a number the answer is b
 *
 * Both register blocks have at least eight sums, which hides the latency of a fused multiply-add, and leave room for the
 * weights (3 or 2 vectors) and for one broadcast element.
 */

typedef float NAME(vector) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define VECTOR NAME(vector)
#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE VECTOR NAME(load)(const float *from) { return *(const VECTOR *)from; }

INLINE void NAME(store)(float *to, VECTOR value) { *(VECTOR *)to = value; }

/* The first `count` elements, the others zero: for hidden sizes that are no multiple of LANES. */
INLINE VECTOR NAME(load_first)(const float *from, int64_t count) {
  if (count >= LANES) return NAME(load)(from);
  float values[LANES] = {0};
  for (int64_t i = 0; i < count; i++) values[i] = from[i];
  return NAME(load)(values);
}

INLINE void NAME(store_first)(float *to, VECTOR value, int64_t count) {
  if (count >= LANES) {
    NAME(store)(to, value);
    return;
  }
  float values[LANES];
  NAME(store)(values, value);
  for (int64_t i = 0; i < count; i++) to[i] = values[i];
}

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

/* weight (3 hidden, depth) -> packed (padded / LANES, depth, 3, LANES): what the forward block reads, in its order. */
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

/* weight (3 hidden, hidden) -> packed (padded / 2 LANES, 3 padded, 2 LANES): what the backward block reads, in its order. */
static TARGET void NAME(pack_backward)(const float *weight, int64_t hidden, int64_t padded, float *packed) {
  for (int64_t first = 0; first < padded; first += 2 * LANES) {
    int64_t count = hidden - first < 2 * LANES ? hidden - first : 2 * LANES;
    if (count < 0) count = 0;
    for (int64_t gate = 0; gate < 3; gate++)
      for (int64_t unit = 0; unit < padded; unit++, packed += 2 * LANES) {
        memset(packed, 0, sizeof(float) * 2 * LANES);
        if (unit < hidden) memcpy(packed, weight + (gate * hidden + unit) * hidden + first, sizeof(float) * (size_t)count);
      }
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
INLINE void NAME(project_rows)(const struct forward *job, const float *panel, const float *bias, int64_t unit,
                               int64_t token, const int rows) {
  const float *elements[FORWARD_ROWS];
  VECTOR sums[FORWARD_ROWS][3];
  UNROLL
  for (int row = 0; row < rows; row++) {
    elements[row] = job->inputs + job->plan.positions[token + row] * job->input_size;
    sums[row][0] = NAME(load)(bias);
    sums[row][1] = NAME(load)(bias + LANES);
    sums[row][2] = NAME(load)(bias + 2 * LANES);
  }
  NAME(multiply_forward)(sums, elements, job->input_size, panel, rows);
  float *gates = job->gates + (unit * job->plan.tokens + token * LANES) * 4;
  UNROLL
  for (int row = 0; row < rows; row++, gates += 4 * LANES) {
    NAME(store)(gates, sums[row][0]);
    NAME(store)(gates + LANES, sums[row][1]);
    NAME(store)(gates + 2 * LANES, sums[row][2]);
  }
}

/* One time step of `rows` texts for LANES units. `before` is the packed row of the first text's previous state, or -1
 * where the texts have none: then the recurrent product is left out. */
INLINE void NAME(step_rows)(const struct forward *job, const float *panel, const float *bias, int64_t unit,
                            int64_t token, int64_t before, const int rows) {
  const int64_t padded = job->padded;
  const float *elements[FORWARD_ROWS];
  VECTOR sums[FORWARD_ROWS][3];
  float *gates = job->gates + (unit * job->plan.tokens + token * LANES) * 4;
  UNROLL
  for (int row = 0; row < rows; row++) {
    elements[row] = before < 0 ? job->zeros : job->states + (before + row) * padded;
    sums[row][0] = NAME(load)(gates + row * 4 * LANES);
    sums[row][1] = NAME(load)(gates + row * 4 * LANES + LANES);
    sums[row][2] = NAME(load)(bias);
  }
  NAME(multiply_forward)(sums, elements, before < 0 ? 0 : job->hidden, panel, rows);
  UNROLL
  for (int row = 0; row < rows; row++, gates += 4 * LANES) {
    VECTOR reset = NAME(sigmoid)(sums[row][0]);
    VECTOR update = NAME(sigmoid)(sums[row][1]);
    VECTOR new = NAME(tanh)(NAME(load)(gates + 2 * LANES) + reset * sums[row][2]);
    VECTOR state = new + update * (NAME(load)(elements[row] + unit) - new);
    NAME(store)(gates, reset);
    NAME(store)(gates + LANES, update);
    NAME(store)(gates + 2 * LANES, new);
    NAME(store)(gates + 3 * LANES, sums[row][2]);
    NAME(store)(job->states + (token + row) * padded + unit, state);
    NAME(store_first)(job->outputs + job->plan.positions[token + row] * 2 * job->hidden + unit, state, job->hidden - unit);
  }
}

/* Backward of one time step of `rows` texts for 2 LANES units. `after` is the packed row that came next in time (its gate
 * gradients are ready) or -1 at a text's last step; `before` as above; `text` is the first text's place in the order. */
INLINE void NAME(unstep_rows)(const struct backward *job, const float *panel, int64_t unit, int64_t token, int64_t after,
                              int64_t before, int64_t text, const int rows) {
  const int64_t padded = job->padded, stride = job->stride;
  VECTOR sums[BACKWARD_ROWS][2];
  UNROLL
  for (int row = 0; row < rows; row++)
    UNROLL
    for (int half = 0; half < 2; half++) {
      int64_t place = unit + half * LANES;
      sums[row][half] = NAME(load_first)(
          job->output_gradients + job->plan.positions[token + row] * 2 * job->hidden + place, job->hidden - place);
      if (after >= 0) sums[row][half] += NAME(load)(job->carry + (text + row) * padded + place);
    }
  if (after >= 0)
    NAME(multiply_backward)(sums, job->gate_gradients + after * stride + padded, stride, 3 * padded, panel, rows);
  UNROLL
  for (int row = 0; row < rows; row++)
    UNROLL
    for (int half = 0; half < 2; half++) {
      int64_t place = unit + half * LANES;
      const float *gates = job->gates + (place * job->plan.tokens + (token + row) * LANES) * 4;
      float *gradients = job->gate_gradients + (token + row) * stride + place;
      VECTOR state = sums[row][half];
      VECTOR reset = NAME(load)(gates), update = NAME(load)(gates + LANES);
      VECTOR new = NAME(load)(gates + 2 * LANES), recurrent = NAME(load)(gates + 3 * LANES);
      VECTOR previous = NAME(load)((before < 0 ? job->zeros : job->states + (before + row) * padded) + place);
      VECTOR kept = state * update;
      VECTOR into_new = (state - kept) * (1.0f - new * new);
      NAME(store)(job->carry + (text + row) * padded + place, kept);
      NAME(store)(job->previous + (token + row) * padded + place, previous);
      NAME(store)(gradients, into_new);
      NAME(store)(gradients + padded, into_new * recurrent * (reset - reset * reset));
      NAME(store)(gradients + 2 * padded, (previous - new) * (kept - kept * update));
      NAME(store)(gradients + 3 * padded, into_new * reset);
    }
}

#define FORWARD_CASE(number, call) case number: call; break;
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

static TARGET void NAME(project_block)(const struct forward *job, const float *panel, const float *bias, int64_t unit,
                                       int64_t token, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(project_rows)(job, panel, bias, unit, token, n); break;
    FORWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(step_block)(const struct forward *job, const float *panel, const float *bias, int64_t unit,
                                    int64_t token, int64_t before, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(step_rows)(job, panel, bias, unit, token, before, n); break;
    FORWARD_CASES(CASE)
#undef CASE
  }
}

static TARGET void NAME(unstep_block)(const struct backward *job, const float *panel, int64_t unit, int64_t token,
                                      int64_t after, int64_t before, int64_t text, int64_t rows) {
  switch (rows) {
#define CASE(n) case n: NAME(unstep_rows)(job, panel, unit, token, after, before, text, n); break;
    BACKWARD_CASES(CASE)
#undef CASE
  }
}

/* For every token: gates = inputs x weight_ih' + biases. The tokens go in chunks that stay in the second-level cache while
 * all panels of the weights pass over them. */
static TARGET void NAME(project)(const struct forward *job, const float *packed, const float *biases) {
  const int64_t chunk = 64;
  for (int64_t start = 0; start < job->plan.tokens; start += chunk) {
    int64_t end = start + chunk < job->plan.tokens ? start + chunk : job->plan.tokens;
    for (int64_t unit = 0; unit < job->padded; unit += LANES)
      for (int64_t token = start, blocks = (end - start + FORWARD_ROWS - 1) / FORWARD_ROWS; blocks > 0; blocks--) {
        int64_t rows = (end - token + blocks - 1) / blocks;
        NAME(project_block)(job, packed + unit * job->input_size * 3, biases + unit * 3, unit, token, rows);
        token += rows;
      }
  }
}

/* All running texts of one step for the rows [from, to) of the step, in blocks of nearly equal height. */
static TARGET void NAME(step)(const struct forward *job, const float *packed, const float *bias, int64_t first,
                              int64_t from, int64_t to, int64_t before) {
  if (to <= from) return;
  for (int64_t unit = 0; unit < job->padded; unit += LANES)
    for (int64_t row = from, blocks = (to - from + FORWARD_ROWS - 1) / FORWARD_ROWS; blocks > 0; blocks--) {
      int64_t rows = (to - row + blocks - 1) / blocks;
      NAME(step_block)(job, packed + unit * job->hidden * 3, bias + unit, unit, first + row, before < 0 ? -1 : before + row,
                       rows);
      row += rows;
    }
}

static TARGET int NAME(forward)(const struct forward *job) {
  const int64_t padded = job->padded, hidden = job->hidden, depth = job->input_size;
  const int64_t *offsets = job->plan.offsets, steps = job->plan.steps;
  float *packed_input = allocate(3 * padded * depth), *packed_state = allocate(3 * padded * hidden);
  float *biases = allocate(4 * padded);
  int failed = !packed_input || !packed_state || !biases;
  if (!failed) {
    NAME(pack_forward)(job->weight_ih, hidden, depth, padded, packed_input);
    NAME(pack_forward)(job->weight_hh, hidden, hidden, padded, packed_state);
    memset(biases, 0, sizeof(float) * 4 * (size_t)padded);
    for (int64_t unit = 0; unit < hidden; unit++) {
      float *bias = biases + unit / LANES * 3 * LANES + unit % LANES; /* (padded / LANES, 3, LANES) */
      bias[0] = job->bias_ih[unit] + job->bias_hh[unit];
      bias[LANES] = job->bias_ih[hidden + unit] + job->bias_hh[hidden + unit];
      bias[2 * LANES] = job->bias_ih[2 * hidden + unit];
      biases[3 * padded + unit] = job->bias_hh[2 * hidden + unit];
    }
    NAME(project)(job, packed_input, biases);
    for (int64_t i = 0; i < steps; i++) {
      int64_t step = job->reverse ? steps - 1 - i : i;
      int64_t earlier = job->reverse ? step + 1 : step - 1; /* the step computed just before this one */
      int64_t count = offsets[step + 1] - offsets[step], started = 0;
      if (earlier >= 0 && earlier < steps) {
        started = offsets[earlier + 1] - offsets[earlier];
        if (started > count) started = count;
      }
      if (started) NAME(step)(job, packed_state, biases + 3 * padded, offsets[step], 0, started, offsets[earlier]);
      NAME(step)(job, packed_state, biases + 3 * padded, offsets[step], started, count, -1);
    }
  }
  free(packed_input);
  free(packed_state);
  free(biases);
  return failed;
}

static TARGET void NAME(unstep)(const struct backward *job, const float *packed, int64_t first, int64_t from, int64_t to,
                                int64_t after, int64_t before) {
  if (to <= from) return;
  for (int64_t unit = 0; unit < job->padded; unit += 2 * LANES)
    for (int64_t row = from, blocks = (to - from + BACKWARD_ROWS - 1) / BACKWARD_ROWS; blocks > 0; blocks--) {
      int64_t rows = (to - row + blocks - 1) / blocks;
      NAME(unstep_block)(job, packed + unit * job->padded * 3, unit, first + row, after < 0 ? -1 : after + row,
                         before < 0 ? -1 : before + row, row, rows);
      row += rows;
    }
}

static TARGET int NAME(backward)(const struct backward *job) {
  const int64_t padded = job->padded;
  const int64_t *offsets = job->plan.offsets, steps = job->plan.steps;
  float *packed = allocate(3 * padded * padded);
  if (!packed) return 1;
  NAME(pack_backward)(job->weight_hh, job->hidden, padded, packed);
  for (int64_t i = 0; i < steps; i++) {
    int64_t step = job->reverse ? i : steps - 1 - i;
    int64_t later = job->reverse ? step - 1 : step + 1, earlier = job->reverse ? step + 1 : step - 1;
    int64_t count = offsets[step + 1] - offsets[step], going = 0, started = 0;
    if (later >= 0 && later < steps) going = offsets[later + 1] - offsets[later];
    if (earlier >= 0 && earlier < steps) started = offsets[earlier + 1] - offsets[earlier];
    if (going > count) going = count;
    if (started > count) started = count;
    int64_t cut = going < started ? going : started;
    /* Forward in time all texts have a previous state (or none has); in reverse all go on (or none does): at most one of
     * the two middle calls has rows. */
    int64_t after = going ? offsets[later] : -1, before = started ? offsets[earlier] : -1;
    NAME(unstep)(job, packed, offsets[step], 0, cut, after, before);
    NAME(unstep)(job, packed, offsets[step], cut, going, after, -1);
    NAME(unstep)(job, packed, offsets[step], cut > going ? cut : going, started, -1, before);
    NAME(unstep)(job, packed, offsets[step], going > started ? going : started, count, -1, -1);
  }
  free(packed);
  return 0;
}

#undef FORWARD_CASE
#undef FORWARD_CASES
#undef BACKWARD_CASES
#undef INLINE
#undef VECTOR
