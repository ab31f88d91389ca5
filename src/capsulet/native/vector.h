/* Vectors of LANES floats, for the kernel headers: included once per instruction set, after NAME, TARGET and LANES.
 * The kernel header undefines VECTOR and INLINE at its end. */

typedef float NAME(vector) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define VECTOR NAME(vector)
#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE VECTOR NAME(load)(const float *from) { return *(const VECTOR *)from; }

INLINE void NAME(store)(float *to, VECTOR value) { *(VECTOR *)to = value; }

/* The first `count` elements, the others zero: for sizes that are no multiple of the block. `count` may be below 0 or above LANES. */
INLINE VECTOR NAME(load_first)(const float *from, int64_t count) {
  if (count >= LANES) return NAME(load)(from);
  if (count <= 0) return (VECTOR){0};
  float values[LANES] = {0};
  for (int64_t i = 0; i < count; i++) values[i] = from[i];
  return NAME(load)(values);
}

INLINE void NAME(store_first)(float *to, VECTOR value, int64_t count) {
  if (count >= LANES) {
    NAME(store)(to, value);
    return;
  }
  if (count <= 0) return;
  float values[LANES];
  NAME(store)(values, value);
  for (int64_t i = 0; i < count; i++) to[i] = values[i];
}
