/* Sums of rows and a step of Adam, written once with vector extensions and included by rows.c once per instruction set. The
 * including file defines
 *
 *   NAME(x)   x with the instruction set's suffix
 *   TARGET    function attribute that lets the compiler use the instruction set
 *   LANES     floats in one vector
 *   ROOT(x)   element-wise square root
 */

#include "vector.h"

/* `width` vectors from `first` on of the weighted sum of rows of `size` floats; only a tile of one may reach over the end. */
INLINE void NAME(sum_tile)(float *result, const float *rows, const struct term *terms, int64_t count, int64_t size,
                           int64_t first, const int width) {
  VECTOR sums[4] = {{0}};
  for (const struct term *term = terms; term < terms + count; term++) {
    const float *row = rows + term->from * size;
    UNROLL
    for (int i = 0; i < width; i++)
      sums[i] += term->weight * (width > 1 ? NAME(load)(row + first + i * LANES) : NAME(load_first)(row + first, size - first));
  }
  UNROLL
  for (int i = 0; i < width; i++) NAME(store_first)(result + first + i * LANES, sums[i], size - first - i * LANES);
}

/* result (size) = sum of weight x rows (.., size) */
TARGET static void NAME(weighted_sum)(float *result, const float *rows, const struct term *terms, int64_t count, int64_t size) {
  int64_t first = 0;
  for (; first + 4 * LANES <= size; first += 4 * LANES) NAME(sum_tile)(result, rows, terms, count, size, first, 4);
  for (; first < size; first += LANES) NAME(sum_tile)(result, rows, terms, count, size, first, 1);
}

/* One row (size) of the table. */
TARGET static void NAME(adam_row)(const struct adam *adam, float *table, float *mean, float *square, const float *gradient,
                                  float mean_scale, float square_scale, int64_t size) {
  for (int64_t first = 0; first < size; first += LANES) {
    int64_t count = size - first;
    VECTOR slope = NAME(load_first)(gradient + first, count), average = NAME(load_first)(mean + first, count);
    average += adam->mean_weight * (slope - average);
    VECTOR squares = NAME(load_first)(square + first, count) * adam->square_decay + adam->square_weight * slope * slope;
    VECTOR change = average * mean_scale / (ROOT(squares * square_scale) + adam->epsilon);
    NAME(store_first)(mean + first, average, count);
    NAME(store_first)(square + first, squares, count);
    NAME(store_first)(table + first, NAME(load_first)(table + first, count) - adam->rate * change, count);
  }
}

#undef VECTOR
#undef INLINE
#undef NAME
#undef TARGET
#undef LANES
#undef ROOT
