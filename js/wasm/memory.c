/* malloc and free for WebAssembly.
 *
 * The memory after the program's own data is a chain of blocks without gaps. A block has a head of 8 bytes and a multiple of
 * 16 bytes in all, so that what follows a head is aligned to 16 bytes. Free neighbours are merged. Free blocks are in lists by
 * the power of two of their size. The chain ends with the head of a used block of size 0.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, UNIT = 16, USED = 1, LISTS = 32, MOST = 0x7FFF0000 };

struct block {
  uint32_t before;            /* size of the block before this one */
  uint32_t size;              /* of this block with its head, and 1 if it is used */
  struct block *next, *last;  /* neighbours in the list of a free block */
};
enum { HEAD = 8 };

extern char __heap_base; /* set by the linker: end of the program's own data */
static struct block *lists[LISTS];
static struct block *end; /* the head that ends the chain; NULL before the first call */

static struct block *after(struct block *block) { return (struct block *)((char *)block + (block->size & ~(uint32_t)USED)); }
static int list_of(uint32_t size) { return 31 - __builtin_clz(size); }

static void put(struct block *block) {
  struct block **list = &lists[list_of(block->size)];
  block->next = *list, block->last = NULL;
  if (*list) (*list)->last = block;
  *list = block;
}

static void take(struct block *block) {
  if (block->next) block->next->last = block->last;
  if (block->last) block->last->next = block->next;
  else lists[list_of(block->size)] = block->next;
}

/* Makes a block free, together with free neighbours. */
static void release(struct block *block) {
  block->size &= ~(uint32_t)USED;
  struct block *next = after(block), *before = (struct block *)((char *)block - block->before);
  if (!(next->size & USED)) {
    take(next);
    block->size += next->size;
  }
  if (block->before && !(before->size & USED)) {
    take(before);
    before->size += block->size;
    block = before;
  }
  after(block)->before = block->size;
  put(block);
}

/* Makes a block used, and what it has beyond `size` a free block. */
static void use(struct block *block, uint32_t size) {
  uint32_t rest = (block->size & ~(uint32_t)USED) - size;
  block->size = size | USED;
  if (!rest) return;
  struct block *other = after(block);
  other->before = size, other->size = rest | USED;
  after(other)->before = rest;
  release(other);
}

/* Adds at least `size` bytes at the end of the chain; 0 if there is no more memory. */
static int grow(uint32_t size) {
  uint32_t pages = (uint32_t)__builtin_wasm_memory_size(0), needed = (size + 2 * UNIT + PAGE - 1) / PAGE;
  uint32_t more = pages / 8 > needed ? pages / 8 : needed; /* in large steps, because each one is slow */
  if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) {
    more = needed;
    if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) return 0;
  }
  struct block *block = end;
  if (!block) { /* the first block begins in the rest of the first pages */
    block = (struct block *)((((uintptr_t)&__heap_base + HEAD + UNIT - 1) & ~(uintptr_t)(UNIT - 1)) - HEAD);
    block->before = 0;
  }
  end = (struct block *)((uintptr_t)(pages + more) * PAGE - HEAD);
  block->size = (uint32_t)((char *)end - (char *)block) | USED;
  end->before = block->size & ~(uint32_t)USED, end->size = USED;
  release(block);
  return 1;
}

void *malloc(size_t size) {
  if (size > MOST) return NULL;
  uint32_t whole = ((uint32_t)size + HEAD + UNIT - 1) & ~(uint32_t)(UNIT - 1);
  for (int turn = 0; turn < 2; turn++) {
    for (int list = list_of(whole); list < LISTS; list++)
      for (struct block *block = lists[list]; block; block = block->next)
        if (block->size >= whole) {
          take(block);
          use(block, whole);
          return (char *)block + HEAD;
        }
    if (!turn && !grow(whole)) return NULL;
  }
  return NULL;
}

void free(void *memory) {
  if (memory) release((struct block *)((char *)memory - HEAD));
}

void *calloc(size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) return NULL;
  void *memory = malloc(count * size);
  return memory ? memset(memory, 0, count * size) : NULL;
}

void *realloc(void *memory, size_t size) {
  if (!memory) return malloc(size);
  uint32_t room = (((struct block *)((char *)memory - HEAD))->size & ~(uint32_t)USED) - HEAD;
  if (size <= room) return memory;
  void *larger = malloc(size);
  if (!larger) return NULL;
  memcpy(larger, memory, room);
  free(memory);
  return larger;
}
