/* The kernels of this build, and which of them this processor can run. */
#include "core.h"

#include "numbers.h"
#include "tanh.h"

#if defined(__x86_64__) && !defined(CAPSULET_PLAIN)
#define X86 1
#include <immintrin.h>

#include "cpu.h"
#if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define AVX_VNNI 1
#endif
#endif
#if defined(__aarch64__) && !defined(CAPSULET_PLAIN) /* NEON of 32-bit ARM rounds small numbers to zero: other bits */
#define ARM 1
#include <arm_neon.h>
/* Older versions of clang have the dot product only if every processor that the build is for has it. */
#if defined(__ARM_FEATURE_DOTPROD) || (defined(__clang__) ? __clang_major__ >= 16 : __GNUC__ >= 8)
#define ARM_DOT 1
#if defined(__linux__) && !defined(__ARM_FEATURE_DOTPROD)
#include <sys/auxv.h>
#endif
#endif
#endif
#if defined(__wasm_simd128__) && !defined(CAPSULET_PLAIN)
#define WASM 1
#include <wasm_simd128.h>
#endif

#ifdef X86

/* AVX-512 with VNNI: four products of unsigned and signed bytes are added in one instruction. */
#define NAME(x) avx512vnni_##x
#define KERNEL_NAME "avx512vnni"
#define LEAST(bound, x) ((avx512vnni_floats)_mm512_max_ps(bound, x))
#define MOST(bound, x) ((avx512vnni_floats)_mm512_min_ps(bound, x))
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define LANES 16
#define SUMS 8
#define FLIP 0x80
#define DOT(sum, weights, x)                                                                                                    \
  ((avx512vnni_ints)_mm512_dpbusd_epi32((__m512i)(sum), _mm512_set1_epi32(x), _mm512_loadu_si512((const void *)(weights))))
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef DOT

/* AVX-512: pairs of products are added in 16 bits. They never overflow, because two neighbouring weights of a row are at most
 * 128 together (model.c). */
#define NAME(x) avx512_##x
#define KERNEL_NAME "avx512"
#define LEAST(bound, x) ((avx512_floats)_mm512_max_ps(bound, x))
#define MOST(bound, x) ((avx512_floats)_mm512_min_ps(bound, x))
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define DOT(sum, weights, x)                                                                                                    \
  ((sum) + (avx512_ints)_mm512_madd_epi16(                                                                                      \
               _mm512_maddubs_epi16(_mm512_set1_epi32(x), _mm512_loadu_si512((const void *)(weights))), _mm512_set1_epi16(1)))
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef LANES
#undef SUMS
#undef DOT

/* AVX2 with VNNI, of processors without AVX-512. */
#ifdef AVX_VNNI
#define NAME(x) avxvnni_##x
#define KERNEL_NAME "avxvnni"
#define LEAST(bound, x) ((avxvnni_floats)_mm256_max_ps(bound, x))
#define MOST(bound, x) ((avxvnni_floats)_mm256_min_ps(bound, x))
#define TARGET __attribute__((target("avx2,avxvnni")))
#define LANES 8
#define SUMS 4
#define DOT(sum, weights, x)                                                                                                    \
  ((avxvnni_ints)_mm256_dpbusd_avx_epi32((__m256i)(sum), _mm256_set1_epi32(x), _mm256_loadu_si256((const __m256i *)(const void *)(weights))))
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef LANES
#undef SUMS
#undef DOT
#endif

#define NAME(x) avx2_##x
#define KERNEL_NAME "avx2"
#define LEAST(bound, x) ((avx2_floats)_mm256_max_ps(bound, x))
#define MOST(bound, x) ((avx2_floats)_mm256_min_ps(bound, x))
#define TARGET __attribute__((target("avx2")))
#define LANES 8
#define SUMS 4
#define DOT(sum, weights, x)                                                                                                    \
  ((sum) + (avx2_ints)_mm256_madd_epi16(                                                                                        \
               _mm256_maddubs_epi16(_mm256_set1_epi32(x), _mm256_loadu_si256((const __m256i *)(const void *)(weights))),        \
               _mm256_set1_epi16(1)))
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef LANES
#undef SUMS
#undef DOT
#undef FLIP
#endif

#ifdef ARM
#ifdef ARM_DOT
#define NAME(x) neon_dot_##x
#define KERNEL_NAME "neon-dotprod"
#define LEAST(bound, x) ((neon_dot_floats)vmaxq_f32(bound, x))
#define MOST(bound, x) ((neon_dot_floats)vminq_f32(bound, x))
#ifdef __ARM_FEATURE_DOTPROD
#define TARGET
#else
#define TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#define LANES 4
#define SUMS 4
#define FLIP 0
#define DOT(sum, weights, x) ((neon_dot_ints)vdotq_s32((int32x4_t)(sum), vld1q_s8(weights), vreinterpretq_s8_s32(vdupq_n_s32(x))))
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef LANES
#undef SUMS
#undef DOT
#undef FLIP
#endif

static inline int32x4_t neon_four(int32x4_t sum, int8x16_t weights, int8x16_t x) {
  int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(x)), high = vmull_s8(vget_high_s8(weights), vget_high_s8(x));
  int32x4_t pairs_low = vpaddlq_s16(low), pairs_high = vpaddlq_s16(high);
  return vaddq_s32(sum, vcombine_s32(vpadd_s32(vget_low_s32(pairs_low), vget_high_s32(pairs_low)),
                                     vpadd_s32(vget_low_s32(pairs_high), vget_high_s32(pairs_high))));
}
#define NAME(x) neon_##x
#define KERNEL_NAME "neon"
#define LEAST(bound, x) ((neon_floats)vmaxq_f32(bound, x))
#define MOST(bound, x) ((neon_floats)vminq_f32(bound, x))
#define TARGET
#define LANES 4
#define SUMS 4
#define FLIP 0
#define DOT(sum, weights, x) ((neon_ints)neon_four((int32x4_t)(sum), vld1q_s8(weights), vreinterpretq_s8_s32(vdupq_n_s32(x))))
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef LANES
#undef SUMS
#undef DOT
#undef FLIP
#endif

#ifdef WASM
/* Bytes are widened to 16 bits, and pairs of products added in 32 bits: two sums per unit, which are added at the end. */
struct wasm_total {
  v128_t low, high; /* units 0 and 1, units 2 and 3 */
};
static inline struct wasm_total wasm_four(struct wasm_total total, const int8_t *weights, int32_t x) {
  v128_t four = wasm_i16x8_extend_low_i8x16(wasm_i32x4_splat(x));
  total.low = wasm_i32x4_add(total.low, wasm_i32x4_dot_i16x8(wasm_i16x8_load8x8(weights), four));
  total.high = wasm_i32x4_add(total.high, wasm_i32x4_dot_i16x8(wasm_i16x8_load8x8(weights + 8), four));
  return total;
}
static inline v128_t wasm_finish(struct wasm_total total) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(total.low, total.high, 0, 2, 4, 6), wasm_i32x4_shuffle(total.low, total.high, 1, 3, 5, 7));
}
#define NAME(x) wasm_##x
#define KERNEL_NAME "wasm-simd128"
#define LEAST(bound, x) ((wasm_floats)wasm_f32x4_pmax(x, bound))
#define MOST(bound, x) ((wasm_floats)wasm_f32x4_pmin(x, bound))
#define TARGET
#define LANES 4
#define SUMS 2
#define FLIP 0
#define TOTAL struct wasm_total
#define FINISH(total) ((wasm_ints)wasm_finish(total))
#define DOT(sum, weights, x) wasm_four(sum, weights, x)
#include "kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef LANES
#undef SUMS
#undef DOT
#undef FLIP
#endif

/* Plain C, for every other processor, and to test the others. A module of WebAssembly has one kernel. */
#ifndef WASM
typedef int32_t four_ints __attribute__((vector_size(16), aligned(4), may_alias));
static inline four_ints plain_four(four_ints sum, const int8_t *weights, int32_t x) {
  int8_t four[4];
  memcpy(four, &x, 4);
  for (int lane = 0; lane < 4; lane++)
    for (int i = 0; i < 4; i++) sum[lane] += weights[4 * lane + i] * four[i];
  return sum;
}
#define NAME(x) plain_##x
#define KERNEL_NAME "plain"
#define TARGET
#define LANES 4
#define SUMS 4
#define FLIP 0
#define DOT(sum, weights, x) plain_four(sum, weights, x)
#include "kernel.h"
#endif

/* Best first. */
static const struct kernel *const kernels[] = {
#ifdef X86
    &avx512vnni_kernel, &avx512_kernel,
#ifdef AVX_VNNI
    &avxvnni_kernel,
#endif
    &avx2_kernel,
#endif
#ifdef ARM
#ifdef ARM_DOT
    &neon_dot_kernel,
#endif
    &neon_kernel,
#endif
#ifdef WASM
    &wasm_kernel,
#else
    &plain_kernel,
#endif
};

static bool usable(const struct kernel *kernel) {
#ifdef X86
  struct cpu cpu = cpu_facts();
  if (kernel == &avx512vnni_kernel) return cpu.vnni;
  if (kernel == &avx512_kernel) return cpu.avx512;
#ifdef AVX_VNNI
  if (kernel == &avxvnni_kernel) return cpu.avxvnni;
#endif
  if (kernel == &avx2_kernel) return cpu.avx2;
#endif
#ifdef ARM_DOT
#if defined(__ARM_FEATURE_DOTPROD)
  if (kernel == &neon_dot_kernel) return true; /* every processor of this build has it */
#elif defined(__linux__)
  if (kernel == &neon_dot_kernel) return getauxval(AT_HWCAP) >> 20 & 1; /* HWCAP_ASIMDDP */
#else
  if (kernel == &neon_dot_kernel) return false; /* no way to ask */
#endif
#endif
  (void)kernel;
  return true;
}

const struct kernel *best_kernel(void) {
  size_t place = 0;
  while (!usable(kernels[place])) place++;
  return kernels[place];
}

const struct kernel *kernel_named(const char *name) {
  for (size_t place = 0; place < sizeof kernels / sizeof *kernels; place++)
    if (!strcmp(kernels[place]->name, name) && usable(kernels[place])) return kernels[place];
  return NULL;
}
