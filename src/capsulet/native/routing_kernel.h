/* Routing of one text, forward and backward, written once with vector extensions and included by routing.c once per
 * instruction set. The including file defines
 *
 *   NAME(x)              x with the instruction set's suffix
 *   TARGET               function attribute that lets the compiler use the instruction set
 *   LANES                floats in one vector
 *   ROOT(x)              element-wise square root
 *   LANE_NUMBERS(f, w)   f(0, w), f(1, w), ... f(LANES - 1, w)
 */

#include "vector.h"

/* The transposition's masks, for pairs of vectors whose numbers differ in bit w: source of lane i of the new left and of the new
 * right vector; sources from LANES on are lanes of the old right vector. */
#define TO_LEFT(i, w) ((i) & (w) ? (i) - (w) + LANES : (i))
#define TO_RIGHT(i, w) ((i) & (w) ? (i) + LANES : (i) + (w))
#if defined(__clang__)
#define SHUFFLE(left, right, f, w) __builtin_shufflevector(left, right, LANE_NUMBERS(f, w))
#else
typedef int32_t NAME(integers) __attribute__((vector_size(4 * LANES)));
#define SHUFFLE(left, right, f, w) __builtin_shuffle(left, right, (NAME(integers)){LANE_NUMBERS(f, w)})
#endif
#define EXCHANGE(w)                                              \
  UNROLL                                                         \
  for (int i = 0; i < LANES; i++)                                \
    if (!(i & (w))) {                                            \
      VECTOR left = square[i], right = square[(i + (w)) % LANES]; \
      square[i] = SHUFFLE(left, right, TO_LEFT, w);              \
      square[(i + (w)) % LANES] = SHUFFLE(left, right, TO_RIGHT, w); \
    }

/* LANES x LANES floats, rows to columns. */
INLINE void NAME(transpose)(VECTOR square[LANES]) {
  EXCHANGE(1)
  EXCHANGE(2)
#if LANES > 4
  EXCHANGE(4)
#endif
#if LANES > 8
  EXCHANGE(8)
#endif
}

/* exp on [-1, 1], where all cosines are: a minimax fit that errs by less than 2e-8 of the value, so that the rounding of
 * the sums (below 2e-7) is the larger error. exp(0) is 1 exactly. */
INLINE VECTOR NAME(exponential)(VECTOR x) {
  VECTOR value = x * 2.41960385e-05f + 2.04242783e-04f;
  value = value * x + 1.3907495e-03f;
  value = value * x + 8.32940231e-03f;
  value = value * x + 4.16654736e-02f;
  value = value * x + 1.66667576e-01f;
  value = value * x + 5.00000202e-01f;
  value = value * x + 9.99999954e-01f;
  return value * x + 1.0f;
}

/* 1 / |x| from the sum of squares. */
INLINE VECTOR NAME(inverse_norm)(VECTOR squares) {
  const VECTOR one = (VECTOR){0} + 1.0f;
  return one / ROOT(squares + EPSILON);
}

INLINE VECTOR NAME(dot)(const float *one, const float *other, int64_t length) {
  VECTOR even = {0}, odd = {0};
  int64_t l = 0;
  for (; l + 1 < length; l += 2) {
    even += NAME(load)(one + l * LANES) * NAME(load)(other + l * LANES);
    odd += NAME(load)(one + (l + 1) * LANES) * NAME(load)(other + (l + 1) * LANES);
  }
  if (l < length) even += NAME(load)(one + l * LANES) * NAME(load)(other + l * LANES);
  return even + odd;
}

/* Prefetches the next block's part of a row (classes, length): the rows of a text are far apart, and the processor does
 * not recognise a pattern of N rows. */
INLINE void NAME(prefetch_next)(const float *rows, int64_t first, int64_t classes, int64_t length, const int write) {
  int64_t end = first + 2 * LANES < classes ? first + 2 * LANES : classes;
  for (int64_t place = (first + LANES) * length; place < end * length; place += 16)
    if (write)
      __builtin_prefetch(rows + place, 1);
    else
      __builtin_prefetch(rows + place, 0);
}

/* Classes [first, first + LANES) of rows (classes, length) -> (length, LANES); lanes after the last class are zero. */
INLINE void NAME(gather)(const float *rows, int64_t first, int64_t classes, int64_t length, float *columns) {
  const int64_t count = classes - first;
  const float *from = rows + first * length;
  for (int64_t l = 0; l < length; l += LANES) {
    VECTOR square[LANES];
    if (count >= LANES && l + LANES <= length) {
      UNROLL
      for (int lane = 0; lane < LANES; lane++) square[lane] = NAME(load)(from + lane * length + l);
    } else {
      for (int lane = 0; lane < LANES; lane++)
        square[lane] = lane < count ? NAME(load_first)(from + lane * length + l, length - l) : (VECTOR){0};
    }
    NAME(transpose)(square);
    UNROLL
    for (int i = 0; i < LANES; i++)
      if (l + i < length) NAME(store)(columns + (l + i) * LANES, square[i]);
  }
}

/* The inverse. `columns` has room for whole squares; its rows after `length` are not used. */
INLINE void NAME(scatter)(const float *columns, int64_t first, int64_t classes, int64_t length, float *rows) {
  const int64_t count = classes - first;
  float *to = rows + first * length;
  for (int64_t l = 0; l < length; l += LANES) {
    VECTOR square[LANES];
    UNROLL
    for (int i = 0; i < LANES; i++) square[i] = NAME(load)(columns + (l + i) * LANES);
    NAME(transpose)(square);
    if (count >= LANES && l + LANES <= length) {
      UNROLL
      for (int lane = 0; lane < LANES; lane++) NAME(store)(to + lane * length + l, square[lane]);
    } else {
      for (int lane = 0; lane < LANES && lane < count; lane++)
        NAME(store_first)(to + lane * length + l, square[lane], length - l);
    }
  }
}

/* ---- the two products of a block; all factors are vectors over its classes ---- */

/* `width` entries of result (length) = start (1) x first (length) + weights (count) x rows (count, length) */
INLINE void NAME(combine_tile)(float *result, VECTOR start, const float *first, const float *weights, const float *rows,
                               int64_t count, int64_t length, const int width) {
  VECTOR sums[8];
  UNROLL
  for (int i = 0; i < width; i++) sums[i] = start * NAME(load)(first + i * LANES);
  for (int64_t row = 0; row < count; row++, rows += length * LANES) {
    VECTOR weight = NAME(load)(weights + row * LANES);
    UNROLL
    for (int i = 0; i < width; i++) sums[i] += weight * NAME(load)(rows + i * LANES);
  }
  UNROLL
  for (int i = 0; i < width; i++) NAME(store)(result + i * LANES, sums[i]);
}

/* `width` entries of result (count) = rows (count, length) x column (length) */
INLINE void NAME(agree_tile)(float *result, const float *rows, const float *column, int64_t length, const int width) {
  VECTOR sums[8];
  UNROLL
  for (int i = 0; i < width; i++) sums[i] = (VECTOR){0};
  for (int64_t l = 0; l < length; l++) {
    VECTOR factor = NAME(load)(column + l * LANES);
    UNROLL
    for (int i = 0; i < width; i++) sums[i] += factor * NAME(load)(rows + (i * length + l) * LANES);
  }
  UNROLL
  for (int i = 0; i < width; i++) NAME(store)(result + i * LANES, sums[i]);
}

/* Eight sums hide the latency of a fused multiply-add. */
#define WIDTHS(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7)

static TARGET void NAME(combine)(float *result, VECTOR start, const float *first, const float *weights, const float *rows,
                                 int64_t count, int64_t length) {
  int64_t l = 0;
  for (; l + 8 <= length; l += 8)
    NAME(combine_tile)(result + l * LANES, start, first + l * LANES, weights, rows + l * LANES, count, length, 8);
  switch (length - l) {
#define CASE(n)                                                                                                         \
  case n:                                                                                                               \
    NAME(combine_tile)(result + l * LANES, start, first + l * LANES, weights, rows + l * LANES, count, length, n);      \
    break;
    WIDTHS(CASE)
#undef CASE
  }
}

static TARGET void NAME(agree)(float *result, const float *rows, int64_t count, const float *column, int64_t length) {
  int64_t n = 0;
  for (; n + 8 <= count; n += 8) NAME(agree_tile)(result + n * LANES, rows + n * length * LANES, column, length, 8);
  switch (count - n) {
#define CASE(width)                                                                               \
  case width:                                                                                     \
    NAME(agree_tile)(result + n * LANES, rows + n * length * LANES, column, length, width);       \
    break;
    WIDTHS(CASE)
#undef CASE
  }
}

/* Adds the lanes in their order: the end of a sum over all classes. */
INLINE float NAME(add_lanes)(const float *lanes) {
  float sum = 0;
  for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
  return sum;
}

/* ---- forward ---- */

/* s of iteration `step` -> its direction u, cosines a, and exp(a) with its sums. */
INLINE void NAME(follow)(const struct work *work, struct kept kept, const float *votes, float *exponentials, float *sums,
                         int64_t step, VECTOR real) {
  const int64_t primary = work->primary, length = work->length;
  float *capsule = kept.capsules + step * length * LANES, *cosines = kept.cosines + step * primary * LANES;
  VECTOR inverse = NAME(inverse_norm)(NAME(dot)(capsule, capsule, length));
  NAME(store)(kept.inverse_lengths + step * LANES, inverse);
  for (int64_t l = 0; l < length; l++) NAME(store)(capsule + l * LANES, NAME(load)(capsule + l * LANES) * inverse);
  NAME(agree)(cosines, votes, primary, capsule, length);
  for (int64_t n = 0; n < primary; n++) {
    VECTOR cosine = NAME(load)(cosines + n * LANES) * NAME(load)(kept.inverse_votes + n * LANES);
    VECTOR exponential = NAME(exponential)(cosine) * real;
    NAME(store)(cosines + n * LANES, cosine);
    NAME(store)(exponentials + n * LANES, exponential);
    NAME(store)(sums + n * LANES, NAME(load)(sums + n * LANES) + exponential);
  }
}

/* 1 for classes, 0 for lanes after the last class. */
INLINE VECTOR NAME(real_lanes)(int64_t count) {
  float ones[LANES];
  for (int lane = 0; lane < LANES; lane++) ones[lane] = lane < count;
  return NAME(load)(ones);
}

static TARGET void NAME(forward)(const struct work *work, int64_t text, struct room *room) {
  const int64_t primary = work->primary, classes = work->classes, length = work->length, steps = work->iterations;
  const int64_t block_size = primary * length * LANES;
  const float *votes_of_text = work->votes + text * work->text_stride;
  float *capsules = work->capsules + text * classes * length, *coupling = work->coupling + text * primary * classes;
  float *kept_of_text = work->kept ? work->kept + text * work->kept_size : room->kept;
  float *scales = kept_of_text + work->kept_size - scales_size(work, LANES);
  for (int64_t step = 0; step <= steps; step++) {
    if (step) /* the softmax's denominators */
      for (int64_t n = 0; n < primary; n++)
        scales[(step - 1) * primary + n] = work->factor / NAME(add_lanes)(room->sums + n * LANES);
    memset(room->sums, 0, sizeof(float) * (size_t)(primary * LANES));
    for (int64_t block = 0, first = 0; first < classes; block++, first += LANES) {
      float *votes = room->votes + block * block_size, *exponentials = room->numbers + block * primary * LANES;
      struct kept kept = kept_of_block(work, kept_of_text, block, LANES);
      for (int64_t n = 0; n < primary; n++) {
        VECTOR weight = (VECTOR){0} + 1.0f;
        if (step) {
          weight = NAME(load)(exponentials + n * LANES) * scales[(step - 1) * primary + n];
          if (step == steps) NAME(store_first)(coupling + n * classes + first, weight, classes - first);
        } else {
          float *vote = votes + n * length * LANES;
          NAME(prefetch_next)(votes_of_text + n * work->primary_stride, first, classes, length, 0);
          NAME(gather)(votes_of_text + n * work->primary_stride, first, classes, length, vote);
          NAME(store)(kept.inverse_votes + n * LANES, NAME(inverse_norm)(NAME(dot)(vote, vote, length)));
        }
        NAME(store)(room->weights + n * LANES, weight);
      }
      float *capsule = kept.capsules + step * length * LANES;
      NAME(combine)(capsule, NAME(load)(room->weights), votes, room->weights + LANES, votes + length * LANES, primary - 1,
                    length);
      if (!step) /* after the sum: rounding each term would lose digits where terms cancel */
        for (int64_t l = 0; l < length; l++)
          NAME(store)(capsule + l * LANES, NAME(load)(capsule + l * LANES) / (float)classes);
      if (step < steps) {
        NAME(follow)(work, kept, votes, exponentials, room->sums, step, NAME(real_lanes)(classes - first));
      } else { /* squash */
        VECTOR size = ROOT(NAME(dot)(capsule, capsule, length) + EPSILON), factor = size / (size * size + 1.0f);
        for (int64_t l = 0; l < length; l++)
          NAME(store)(room->row + l * LANES, NAME(load)(capsule + l * LANES) * factor);
        NAME(scatter)(room->row, first, classes, length, capsules);
      }
    }
  }
}

/* ---- backward ---- */

/* The gradient of s of iteration `step` -> that of its coupling, and its sums weighted by the coupling. */
INLINE void NAME(weigh)(const struct work *work, struct kept kept, struct back back, const float *scales, float *sums,
                        int64_t step, const float *coupling_gradients, int64_t first) {
  const int64_t primary = work->primary, length = work->length;
  const float *cosines = kept.cosines + (step - 1) * primary * LANES;
  NAME(agree)(back.coupling_gradients, back.votes, primary, back.rows + step * length * LANES, length);
  for (int64_t n = 0; n < primary; n++) {
    VECTOR gradient = NAME(load)(back.coupling_gradients + n * LANES);
    if (coupling_gradients) {
      gradient += NAME(load_first)(coupling_gradients + n * work->classes + first, work->classes - first);
      NAME(store)(back.coupling_gradients + n * LANES, gradient);
    }
    VECTOR coupling = NAME(exponential)(NAME(load)(cosines + n * LANES)) * scales[(step - 1) * primary + n];
    NAME(store)(back.weights + (n * (2 * work->iterations + 1) + step) * LANES, coupling);
    NAME(store)(sums + n * LANES, NAME(load)(sums + n * LANES) + coupling * gradient);
  }
}

/* Gradient of s of the last iteration from that of its squash q = s h(|s|), h(x) = x / (1 + x^2):
 * gs = h gq + (gq s) (h' / |s|) s,   h'(x) = (1 - x^2) / (1 + x^2)^2 */
INLINE void NAME(unsquash)(const float *capsule, float *gradient, int64_t length) {
  VECTOR size = ROOT(NAME(dot)(capsule, capsule, length) + EPSILON), square = size * size, below = square + 1.0f;
  VECTOR along = NAME(dot)(capsule, gradient, length) * ((1.0f - square) / (below * below * size));
  VECTOR factor = size / below;
  for (int64_t l = 0; l < length; l++)
    NAME(store)(gradient + l * LANES,
                factor * NAME(load)(gradient + l * LANES) + along * NAME(load)(capsule + l * LANES));
}

/* The gradient of the coupling of iteration `step` -> that of s before it. */
INLINE void NAME(unfollow)(const struct work *work, struct kept kept, struct back back, struct room *room,
                           const float *means, int64_t step) {
  const int64_t primary = work->primary, length = work->length, steps = work->iterations, terms = 2 * steps + 1;
  const float *cosines = kept.cosines + (step - 1) * primary * LANES;
  const float *direction = back.rows + (steps + step) * length * LANES;
  float *gradient = back.rows + (step - 1) * length * LANES;
  for (int64_t n = 0; n < primary; n++) {
    float *weights = back.weights + n * terms * LANES, *along = back.along + n * LANES;
    VECTOR cosine = NAME(load)(weights + step * LANES) * (NAME(load)(back.coupling_gradients + n * LANES) - means[n]);
    VECTOR scaled = cosine * NAME(load)(kept.inverse_votes + n * LANES);
    NAME(store)(along, NAME(load)(along) + cosine * NAME(load)(cosines + n * LANES));
    NAME(store)(weights + (steps + step) * LANES, scaled);
    NAME(store)(room->weights + n * LANES, scaled);
  }
  NAME(combine)(gradient, NAME(load)(room->weights), back.votes, room->weights + LANES, back.votes + length * LANES,
                primary - 1, length);
  VECTOR along = NAME(dot)(gradient, direction, length), inverse = NAME(load)(kept.inverse_lengths + (step - 1) * LANES);
  for (int64_t l = 0; l < length; l++)
    NAME(store)(gradient + l * LANES,
                (NAME(load)(gradient + l * LANES) - along * NAME(load)(direction + l * LANES)) * inverse);
}

static TARGET void NAME(backward)(const struct work *work, int64_t text, struct room *room) {
  const int64_t primary = work->primary, classes = work->classes, length = work->length, steps = work->iterations;
  const int64_t terms = 2 * steps + 1;
  const float *votes = work->votes + text * work->text_stride;
  float *vote_gradients = work->vote_gradients + text * work->text_gradient_stride;
  float *kept_of_text = work->kept + text * work->kept_size;
  const float *scales = kept_of_text + work->kept_size - scales_size(work, LANES);
  const float *coupling_gradients = work->coupling_gradients;
  if (coupling_gradients) coupling_gradients += text * primary * classes;
  memset(room->sums, 0, sizeof(float) * (size_t)(primary * LANES));
  for (int64_t block = 0, first = 0; first < classes; block++, first += LANES) {
    struct kept kept = kept_of_block(work, kept_of_text, block, LANES);
    struct back back = back_of_block(work, room, block, LANES);
    float *gradient = back.rows + steps * length * LANES;
    for (int64_t n = 0; n < primary; n++) {
      NAME(prefetch_next)(votes + n * work->primary_stride, first, classes, length, 0);
      NAME(gather)(votes + n * work->primary_stride, first, classes, length, back.votes + n * length * LANES);
    }
    memcpy(gradient + length * LANES, kept.capsules, sizeof(float) * (size_t)(steps * length * LANES)); /* all u */
    memset(back.along, 0, sizeof(float) * (size_t)(primary * LANES));
    if (work->capsule_gradients) {
      NAME(gather)(work->capsule_gradients + text * classes * length, first, classes, length, gradient);
      NAME(unsquash)(kept.capsules + steps * length * LANES, gradient, length);
    } else {
      memset(gradient, 0, sizeof(float) * (size_t)(length * LANES));
    }
    NAME(weigh)(work, kept, back, scales, room->sums, steps, coupling_gradients, first);
  }
  for (int64_t step = steps; step > 0; step--) {
    for (int64_t n = 0; n < primary; n++) room->means[n] = NAME(add_lanes)(room->sums + n * LANES) / work->factor;
    memset(room->sums, 0, sizeof(float) * (size_t)(primary * LANES));
    for (int64_t block = 0, first = 0; first < classes; block++, first += LANES) {
      struct kept kept = kept_of_block(work, kept_of_text, block, LANES);
      struct back back = back_of_block(work, room, block, LANES);
      NAME(unfollow)(work, kept, back, room, room->means, step);
      if (step > 1) {
        NAME(weigh)(work, kept, back, scales, room->sums, step - 1, NULL, first);
        continue;
      }
      for (int64_t n = 0; n < primary; n++) {
        float *weights = back.weights + n * terms * LANES;
        VECTOR inverse = NAME(load)(kept.inverse_votes + n * LANES);
        NAME(store)(weights, (VECTOR){0} + 1.0f / (float)classes);
        NAME(prefetch_next)(vote_gradients + n * work->primary_gradient_stride, first, classes, length, 1);
        NAME(combine)(room->row, -NAME(load)(back.along + n * LANES) * inverse * inverse, back.votes + n * length * LANES,
                      weights, back.rows, terms, length);
        NAME(scatter)(room->row, first, classes, length, vote_gradients + n * work->primary_gradient_stride);
      }
    }
  }
}

#undef TO_LEFT
#undef TO_RIGHT
#undef SHUFFLE
#undef EXCHANGE
#undef WIDTHS
#undef INLINE
#undef VECTOR
#undef NAME
#undef TARGET
#undef LANES
#undef LANE_NUMBERS
#undef ROOT
