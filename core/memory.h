/* Memory by number of elements. Sizes are computed in 64 bits: with a 32-bit size_t (WebAssembly) a product of sizes from a
 * file could wrap around, and too little memory would be taken. */
#ifndef CAPSULET_MEMORY_H
#define CAPSULET_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool fits(uint64_t count, size_t size) { return count <= (uint64_t)PTRDIFF_MAX / size; }

/* NULL: there is not enough memory. The memory of no elements is never NULL. */
static inline void *reserve(uint64_t count, size_t size) { return fits(count, size) ? malloc(count ? (size_t)count * size : size) : NULL; }

static inline void *reserve_zeros(uint64_t count, size_t size) { return fits(count, size) ? calloc(count ? (size_t)count : 1, size) : NULL; }

enum { LINE = 64 }; /* bytes of a line of the cache: a vector that lies on two of them is read in twice the time */

/* The first multiple of LINE after the start of some memory. */
static inline void *next_line(void *memory) { return (char *)memory + (LINE - (uintptr_t)memory % LINE); }

#endif
