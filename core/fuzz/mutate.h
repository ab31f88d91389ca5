/* What the fuzz targets share: copies of exact size, and a mutator that knows the layout of a model file. Random changes of
 * bytes seldom get past the header; this one changes tensors, shapes and the configuration, and writes a right header. */
#include "core.h"

#include <stdio.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most); /* of libFuzzer */

#define expect(condition)                                                          \
  do {                                                                             \
    if (!(condition)) {                                                            \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);     \
      abort();                                                                     \
    }                                                                              \
  } while (0)

/* In memory of just this size, so that the sanitizer sees every read behind it. */
static inline uint8_t *exact_copy(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, data, size);
  return copy;
}

static inline size_t read_all(const char *text, const size_t *size) {
  size_t sum = 0;
  for (size_t i = 0; text && i < *size; i++) sum += (unsigned char)text[i];
  return sum;
}

static inline void check_utf8(const char *text, const size_t *size) {
  for (size_t at = 0, bytes; text && at < *size; at += bytes) {
    uint32_t character;
    bytes = read_character((const uint8_t *)text + at, *size - at, &character);
    expect(bytes > 1 || (unsigned char)text[at] < 0x80);
  }
}

enum { MOST_ENTRIES = 64, LONGEST_NAME = 48 };

struct entry {
  char name[LONGEST_NAME];
  int type;
  uint32_t axes;
  uint64_t shape[4];
  uint8_t *data;
  size_t size;
};

static const struct {
  const char *name;
  size_t size;
} type_names[] = {{"U8", 1}, {"I8", 1}, {"U16", 2}, {"F16", 2}, {"U32", 4}, {"F32", 4}}; /* as enum dtype */

static inline uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
  return *state;
}

static inline size_t read_entries(const struct file *file, struct entry *entries) {
  size_t count = 0;
  for (uint32_t key = 1; key < file->header.nodes[0].next && count < MOST_ENTRIES; key = file->header.nodes[key + 1].next) {
    struct entry *entry = &entries[count];
    const struct json_node *node = &file->header.nodes[key];
    size_t length = node->end - node->start;
    if (length >= LONGEST_NAME) continue;
    memcpy(entry->name, file->header.text + node->start, length);
    entry->name[length] = 0;
    struct tensor tensor = file_tensor(file, entry->name);
    if (!tensor.data || tensor.dtype == TYPE_OTHER) continue;
    entry->type = (int)tensor.dtype, entry->axes = tensor.axes;
    memcpy(entry->shape, tensor.shape, sizeof tensor.shape);
    entry->size = (size_t)tensor.count * type_names[tensor.dtype].size;
    entry->data = exact_copy(tensor.data, entry->size);
    count++;
  }
  return count;
}

/* Writes a file of the entries; 0 if there is no room. */
static inline size_t write_entries(const struct entry *entries, size_t count, uint8_t *to, size_t most) {
  size_t room = 4096 + 160 * count, at, end = 0;
  char *header = calloc(1, room + 64);
  at = (size_t)snprintf(header, room, "{\"__metadata__\":{\"format\":\"capsulet\",\"version\":\"3\",\"crc32\":\"00000000\"}");
  for (size_t width = 4; width; width /= 2)
    for (size_t i = 0; i < count; i++) {
      const struct entry *entry = &entries[i];
      if (type_names[entry->type].size != width) continue;
      at += (size_t)snprintf(header + at, room - at, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", entry->name, type_names[entry->type].name);
      for (uint32_t axis = 0; axis < entry->axes; axis++)
        at += (size_t)snprintf(header + at, room - at, "%s%llu", axis ? "," : "", (unsigned long long)entry->shape[axis]);
      at += (size_t)snprintf(header + at, room - at, "],\"data_offsets\":[%zu,%zu]}", end, end + entry->size);
      end += entry->size;
    }
  header[at++] = '}';
  while ((8 + at) % 64) header[at++] = ' ';
  size_t total = 8 + at + end;
  if (total <= most) {
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)((uint64_t)at >> (8 * i));
    memcpy(to + 8, header, at);
    to += 8 + at;
    for (size_t width = 4; width; width /= 2)
      for (size_t i = 0; i < count; i++)
        if (type_names[entries[i].type].size == width) {
          if (entries[i].size) memcpy(to, entries[i].data, entries[i].size);
          to += entries[i].size;
        }
  }
  free(header);
  return total <= most ? total : 0;
}

static inline void resize(struct entry *entry, size_t size) {
  uint8_t *data = calloc(1, size + 1);
  memcpy(data, entry->data, size < entry->size ? size : entry->size);
  free(entry->data);
  entry->data = data, entry->size = size;
}

/* Replaces a number of the configuration by another one, or changes its bytes. */
static inline void mutate_text(struct entry *entry, uint32_t *dice) {
  static const char *const numbers[] = {"0", "1", "2", "3", "4", "7", "8", "16", "17", "64", "255", "4096", "65536", "1000000", "-1",
                                        "0.5", "1e308", "-1e308", "1e-320", "1e400", "0e999", "0.99999999999999999999", "2147483647", "4294967296", "1e9", "null", "[]"};
  size_t starts[256], count = 0;
  for (size_t i = 1; i < entry->size && count < 256; i++)
    if (entry->data[i] >= '0' && entry->data[i] <= '9' && !(entry->data[i - 1] >= '0' && entry->data[i - 1] <= '9')) starts[count++] = i;
  if (!count || next_random(dice) % 4 == 0) {
    size_t before = entry->size;
    resize(entry, before + 64);
    size_t after = LLVMFuzzerMutate(entry->data, before, before + 64);
    resize(entry, after);
  } else {
    size_t start = starts[next_random(dice) % count], end = start;
    while (end < entry->size && ((entry->data[end] >= '0' && entry->data[end] <= '9') || entry->data[end] == '.')) end++;
    const char *number = numbers[next_random(dice) % (sizeof numbers / sizeof *numbers)];
    size_t length = strlen(number), rest = entry->size - end, total = start + length + rest;
    uint8_t *data = malloc(total + 1);
    memcpy(data, entry->data, start);
    memcpy(data + start, number, length);
    memcpy(data + start + length, entry->data + end, rest);
    free(entry->data);
    entry->data = data, entry->size = total;
  }
  entry->axes = 1, entry->shape[0] = entry->size;
}

static inline void mutate_data(struct entry *entry, uint32_t *dice) {
  static const uint32_t words[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 1, 0x80000001, 0x00800000, 0x7FC00001, 0xFFFFFFFF, 0x60000000, 0x20000000};
  size_t width = type_names[entry->type].size;
  if (entry->size < 4 || next_random(dice) % 2) {
    if (entry->size) LLVMFuzzerMutate(entry->data, entry->size, entry->size);
    return;
  }
  uint32_t word = words[next_random(dice) % (sizeof words / sizeof *words)];
  if (entry->type == TYPE_F16) word = word >> 16 | word << 16;
  size_t place = next_random(dice) % (entry->size - width + 1) / width * width, times = next_random(dice) % 4 ? 1 : entry->size / width;
  for (; times-- && place + width <= entry->size; place += width) memcpy(entry->data + place, &word, width);
}

static inline void mutate_shape(struct entry *entry, uint32_t *dice) {
  static const uint64_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 64, 255, 256, (uint64_t)1 << 20, (uint64_t)1 << 32, (uint64_t)1 << 40};
  if (!entry->axes) return;
  uint64_t *axis = &entry->shape[next_random(dice) % entry->axes], count = 1;
  *axis = next_random(dice) % 2 ? *axis + next_random(dice) % 3 - 1 : sizes[next_random(dice) % (sizeof sizes / sizeof *sizes)];
  for (uint32_t i = 0; i < entry->axes; i++) count = entry->shape[i] && count > 4096 / entry->shape[i] ? 4097 : count * entry->shape[i];
  if (count <= 4096) resize(entry, (size_t)count * type_names[entry->type].size);
}

static inline size_t mutate_model(uint8_t *data, size_t size, size_t most, uint32_t seed) {
  char message[CAPSULET_MESSAGE];
  struct file file;
  uint32_t dice = seed * 2654435761u | 1;
  uint8_t *copy = exact_copy(data, size);
  struct entry entries[MOST_ENTRIES + 1] = {0};
  if (next_random(&dice) % 16 == 0 || file_open(&file, copy, size, message)) {
    free(copy);
    return LLVMFuzzerMutate(data, size, most);
  }
  size_t count = read_entries(&file, entries);
  file_close(&file);
  free(copy);
  for (uint32_t changes = 1 + next_random(&dice) % 3; changes && count; changes--) {
    struct entry *entry = &entries[next_random(&dice) % count];
    const char *texts[] = {"config", "config", "card"};
    uint32_t kind = next_random(&dice) % 8;
    switch (kind) {
    case 0: case 1: case 2:
      for (size_t i = 0; i < count; i++)
        if (!strcmp(entries[i].name, texts[kind])) entry = &entries[i];
      mutate_text(entry, &dice);
      break;
    case 3: mutate_shape(entry, &dice); break;
    case 4:
      if (next_random(&dice) % 8 == 0) free(entry->data), *entry = entries[--count], entries[count].data = NULL;
      else if (next_random(&dice) % 2) entry->type ^= 1; /* another type of the same size */
      break;
    default: mutate_data(entry, &dice);
    }
  }
  size_t written = write_entries(entries, count, data, most);
  for (size_t i = 0; i < count; i++) free(entries[i].data);
  return written ? written : LLVMFuzzerMutate(data, size, most);
}
