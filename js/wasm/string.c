/* The functions of string.h that the core uses, or that a compiler writes calls of. memcpy, memmove and memset are single
 * instructions of WebAssembly. */
#include <string.h>

void *(memcpy)(void *to, const void *from, size_t size) { return __builtin_memcpy(to, from, size); }

void *memmove(void *to, const void *from, size_t size) { return __builtin_memmove(to, from, size); }

void *(memset)(void *to, int byte, size_t size) { return __builtin_memset(to, byte, size); }

int memcmp(const void *left, const void *right, size_t size) {
  const unsigned char *one = left, *other = right;
  for (size_t i = 0; i < size; i++)
    if (one[i] != other[i]) return one[i] < other[i] ? -1 : 1;
  return 0;
}

void *memchr(const void *memory, int byte, size_t size) {
  const unsigned char *bytes = memory;
  for (size_t i = 0; i < size; i++)
    if (bytes[i] == (unsigned char)byte) return (void *)(unsigned long)(bytes + i);
  return NULL;
}

size_t strlen(const char *string) {
  size_t size = 0;
  while (string[size]) size++;
  return size;
}

char *strchr(const char *string, int character) {
  for (;; string++) {
    if (*string == (char)character) return (char *)(unsigned long)string;
    if (!*string) return NULL;
  }
}

int strcmp(const char *left, const char *right) {
  while (*left && *left == *right) left++, right++;
  return (int)(unsigned char)*left - (int)(unsigned char)*right;
}
