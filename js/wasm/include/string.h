/* Bytes and strings (string.c). */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *left, const void *right, size_t size);
void *memchr(const void *memory, int byte, size_t size);
size_t strlen(const char *string);
char *strchr(const char *string, int character);
int strcmp(const char *left, const char *right);

/* Copies of a known size become loads and stores, also if the compiler does not know the functions of a C library. */
#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memset(to, byte, size) __builtin_memset(to, byte, size)
