/* Functions of floats that give the same bits on every machine: only +, -, *, / and sqrt, in a fixed order.
 * Compile with -ffp-contract=off: a fused multiplication and addition rounds differently. */
#ifndef CAPSULET_NUMBERS_H
#define CAPSULET_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EPSILON 1e-12f /* under square roots, as in training */

static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

/* 1.5 * 2^23. Floats of this size are whole numbers: adding it to a small number rounds that number to an integer, which is
 * then in the lowest bits of the sum, and subtracting it again gives the rounded number. ROUND_BITS are its bits. */
#define ROUND 12582912.0f
#define ROUND_BITS 0x4B400000

/* The value of a 16-bit float. */
static inline float half_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return float_of_bits(sign | 0x7F800000 | fraction << 13);
  if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
  float small = (float)fraction * (1.0f / 16777216); /* 2^-24 */
  return sign ? -small : small;
}

/* above / below, a factor of numbers that are then rounded. If `below` is so small that the quotient may not be finite, it is 0,
 * and all numbers are rounded to 0. */
static inline float quotient(float above, float below) { return below > 1e-30f ? above / below : 0; }

/* Whether no number is NaN or infinite. It compares bits, so that the loop runs in vectors. */
static inline bool all_finite(const float *values, uint64_t count) {
  uint32_t wrong = 0;
  for (uint64_t i = 0; i < count; i++) wrong |= (bits_of_float(values[i]) & 0x7F800000) == 0x7F800000;
  return !wrong;
}

static inline float magnitude(float value) { return float_of_bits(bits_of_float(value) & 0x7FFFFFFF); }

static inline float largest_magnitude(const float *values, int64_t count) {
  float top = 0;
  for (int64_t i = 0; i < count; i++) {
    float value = magnitude(values[i]);
    top = value > top ? value : top;
  }
  return top;
}

static inline float root(float value) { return __builtin_sqrtf(value); }

/* e^x: x = n log 2 + r, where n is an integer, and e^r by its series. */
static inline float power_of_e(float x) {
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  float shifted = x * 1.44269504f + ROUND; /* x / log 2, rounded */
  float n = shifted - ROUND;
  float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  /* a product and not a sum of bits: a NaN stays one */
  return p * float_of_bits(0x3F800000 + ((bits_of_float(shifted) - ROUND_BITS) << 23));
}

static inline double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, 8);
  return value;
}

static inline uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return bits;
}

static inline double exponential(double x) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  if (!(x > -700.0)) return 0;
  if (x > 700.0) x = 700.0;
  double shifted = x * 1.4426950408889634 + magic;
  double n = shifted - magic;
  double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
  double p = 1;
  for (int i = 14; i > 0; i--) p = p * r / i + 1;
  return double_of_bits(bits_of_double(p) + ((bits_of_double(shifted) - bits_of_double(magic)) << 52));
}

/* log x of a positive, normal x: x = 2^n m, log m = 2 artanh((m - 1) / (m + 1)). */
static inline double logarithm(double x) {
  uint64_t bits = bits_of_double(x);
  int64_t n = (int64_t)(bits >> 52) - 1023;
  double m = double_of_bits((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) m *= 0.5, n++;
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int i = 23; i > 0; i -= 2) sum = sum * square + 1.0 / i;
  return (double)n * 0.693147180559945309417 + 2 * s * sum;
}

#endif
