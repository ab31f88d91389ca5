/* What an x86-64 processor and its operating system can do. (__builtin_cpu_supports does not link everywhere.) */
#ifndef CAPSULET_CPU_H
#define CAPSULET_CPU_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

struct cpu {
  bool pclmul, avx2, fma, avxvnni, avx512, vnni; /* avx512: F, BW and VL; vnni: of AVX-512 */
};

static inline struct cpu cpu_facts(void) {
  struct cpu cpu = {0};
  uint32_t a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return cpu;
  cpu.pclmul = c & 1u << 1;
  if (!(c & 1u << 27)) return cpu; /* the system saves the registers: OSXSAVE */
  bool fma = c & 1u << 12;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return cpu; /* XMM and YMM */
  cpu.avx2 = b & 1u << 5;
  cpu.fma = cpu.avx2 && fma;
  if ((low & 0xE6) == 0xE6) { /* ZMM and masks */
    cpu.avx512 = (b & 1u << 16) && (b & 1u << 30) && (b & 1u << 31);
    cpu.vnni = cpu.avx512 && (c & 1u << 11);
  }
  if (a && __get_cpuid_count(7, 1, &a, &b, &c, &d)) cpu.avxvnni = cpu.avx2 && (a & 1u << 4); /* a: the last page of leaf 7 */
  return cpu;
}

#endif
