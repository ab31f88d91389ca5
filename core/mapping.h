/* A file as bytes in memory: mapped where the system can, read elsewhere. Only regular files, at most 4 GB. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct mapping {
  void *data;
  size_t size;
};

static const uint64_t largest_file = (uint64_t)4 << 30;

#ifdef _WIN32
#include <stdio.h>
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

/* `fopen` reads a path in the code page of the system, which has not every character: paths are UTF-8 here. */
static FILE *open_file(const char *path) {
  int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0); /* with the zero at the end */
  wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
  FILE *file = wide && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, length) == length ? _wfopen(wide, L"rb") : NULL;
  free(wide);
  return file;
}

static const char *map_file(const char *path, struct mapping *mapping) {
  FILE *file = open_file(path);
  if (!file) return "the file cannot be opened";
  _fseeki64(file, 0, SEEK_END);
  int64_t size = _ftelli64(file);
  _fseeki64(file, 0, SEEK_SET);
  const char *problem = size < 0 || (uint64_t)size > largest_file ? "not a regular file of at most 4 GB" : NULL;
  if (!problem && !(mapping->data = malloc((size_t)size + 1))) problem = "not enough memory";
  if (!problem && fread(mapping->data, 1, (size_t)size, file) != (size_t)size) problem = "the file cannot be read";
  fclose(file);
  mapping->size = (size_t)size;
  return problem;
}

static void unmap_file(struct mapping *mapping) { free(mapping->data); }

#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *map_file(const char *path, struct mapping *mapping) {
  struct stat facts;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* O_NONBLOCK: a pipe without a writer would block */
  if (file < 0) return "the file cannot be opened";
  const char *problem = fstat(file, &facts) ? "the file cannot be read" : NULL;
  if (!problem && (!S_ISREG(facts.st_mode) || (uint64_t)facts.st_size > largest_file)) problem = "not a regular file of at most 4 GB";
  if (!problem && !facts.st_size) problem = "the file is empty";
  if (!problem) {
    mapping->size = (size_t)facts.st_size;
    mapping->data = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping->data == MAP_FAILED) mapping->data = NULL, problem = "the file cannot be mapped into memory";
  }
  close(file);
  return problem;
}

static void unmap_file(struct mapping *mapping) {
  if (mapping->data) munmap(mapping->data, mapping->size);
}
#endif
