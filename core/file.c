/* The model file: u64 size of the header, header (JSON), tensors. docs/reference/format.md describes it to the byte. */
#include "core.h"

#if defined(__x86_64__) && !defined(CAPSULET_PLAIN)
#define CARRYLESS 1
#include <immintrin.h>

#include "cpu.h"
#endif

enum { FORMAT = 5 };

static const struct {
  const char *name;
  enum dtype dtype;
  uint32_t size;
} types[] = {
    {"U8", TYPE_U8, 1},     {"I8", TYPE_I8, 1},     {"U16", TYPE_U16, 2},   {"F16", TYPE_F16, 2},   {"U32", TYPE_U32, 4},
    {"F32", TYPE_F32, 4},   {"BOOL", TYPE_OTHER, 1}, {"I16", TYPE_OTHER, 2}, {"BF16", TYPE_OTHER, 2}, {"I32", TYPE_OTHER, 4},
    {"I64", TYPE_OTHER, 8}, {"U64", TYPE_OTHER, 8}, {"F64", TYPE_OTHER, 8},
};

int fail(char *message, const char *text) {
  size_t size = strlen(text);
  if (size >= CAPSULET_MESSAGE) size = CAPSULET_MESSAGE - 1;
  memcpy(message, text, size);
  message[size] = 0;
  return CAPSULET_DAMAGED;
}

/* Reads the description of a tensor; false if it is wrong or not within `room` bytes of data. */
static bool describe(const struct json *header, uint32_t node, uint64_t room, struct tensor *tensor, uint64_t *begin, uint64_t *end) {
  uint32_t dtype = json_get(header, node, "dtype"), shape = json_get(header, node, "shape");
  uint32_t offsets = json_get(header, node, "data_offsets"), size = 0;
  int64_t value;
  *tensor = (struct tensor){0};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (json_is(header, dtype, types[i].name)) tensor->dtype = types[i].dtype, size = types[i].size;
  if (!size || !shape || header->nodes[shape].kind != JSON_ARRAY || !offsets || header->nodes[offsets].kind != JSON_ARRAY) return false;
  tensor->count = 1;
  for (uint32_t axis = shape + 1; axis < header->nodes[shape].next; axis = header->nodes[axis].next) {
    if (tensor->axes == 4 || !json_integer(header, axis, 0, (int64_t)1 << 40, &value)) return false;
    tensor->shape[tensor->axes++] = (uint64_t)value;
    if (value && tensor->count > room / (uint64_t)value) return false; /* more elements than bytes */
    tensor->count *= (uint64_t)value;
  }
  if (json_children(header, offsets) != 2) return false;
  if (!json_integer(header, offsets + 1, 0, (int64_t)1 << 50, &value)) return false;
  *begin = (uint64_t)value;
  if (!json_integer(header, offsets + 2, 0, (int64_t)1 << 50, &value)) return false;
  *end = (uint64_t)value;
  return *end <= room && *begin <= *end && *begin % size == 0 && *end - *begin == tensor->count * size;
}

int file_open(struct file *file, const void *bytes, size_t size, char *message) {
  *file = (struct file){.bytes = bytes, .size = size};
  if (size < 10) return fail(message, "it is too short");
  uint64_t header = 0;
  for (int i = 7; i >= 0; i--) header = header << 8 | file->bytes[i];
  if (header > size - 8 || header > ((uint64_t)1 << 30) || file->bytes[8] != '{') return fail(message, "it does not begin with a header");
  if ((8 + header) % 4 || (uintptr_t)bytes % 4) return fail(message, "its tensors are not aligned");
  file->start = 8 + (size_t)header;
  int result = json_parse(&file->header, (const char *)bytes + 8, (size_t)header);
  if (result == CAPSULET_NO_MEMORY) return result;
  if (result || file->header.nodes[0].kind != JSON_OBJECT) return fail(message, "its header is not JSON");
  uint32_t metadata = json_get(&file->header, 0, "__metadata__");
  if (!json_is(&file->header, json_get(&file->header, metadata, "format"), "capsulet")) {
    json_free(&file->header);
    return fail(message, "it has the layout of safetensors, but it is not a capsulet model");
  }
  uint32_t version = json_get(&file->header, metadata, "version");
  if (!json_is(&file->header, version, "5")) {
    json_free(&file->header);
    return fail(message, "it has another format than 5");
  }
  file->version = FORMAT;
  uint64_t room = size - file->start, begin, end, place = 0;
  for (uint32_t key = 1; key < file->header.nodes[0].next; key = file->header.nodes[key + 1].next) {
    struct tensor tensor;
    if (key + 1 == metadata) continue;
    if (!describe(&file->header, key + 1, room, &tensor, &begin, &end) || begin != place) {
      json_free(&file->header);
      return fail(message, "the place of a tensor in it is wrong");
    }
    place = end;
  }
  if (place != room) {
    json_free(&file->header);
    return fail(message, "its size does not match its header");
  }
  return CAPSULET_OK;
}

void file_close(struct file *file) { json_free(&file->header); }

struct tensor file_tensor(const struct file *file, const char *name) {
  struct tensor tensor = {0};
  uint64_t begin, end;
  uint32_t node = json_get(&file->header, 0, name);
  if (node && describe(&file->header, node, file->size - file->start, &tensor, &begin, &end))
    tensor.data = file->bytes + file->start + begin;
  return tensor;
}

/* ---- the checksum ---- */

static const uint32_t polynomial = 0xEDB88320;

enum { AT_ONCE = 16 };

struct crc {
  uint32_t tables[AT_ONCE][256];
};

static void crc_start(struct crc *crc) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? polynomial : 0);
    crc->tables[0][byte] = value;
  }
  for (int table = 1; table < AT_ONCE; table++)
    for (int byte = 0; byte < 256; byte++) {
      uint32_t value = crc->tables[table - 1][byte];
      crc->tables[table][byte] = value >> 8 ^ crc->tables[0][value & 255];
    }
}

/* Sixteen bytes at a time: the tables have the effect of a byte on the checksum 0 to 15 bytes later. */
static uint32_t crc_by_tables(const struct crc *crc, uint32_t value, const uint8_t *bytes, size_t size) {
  for (; size >= AT_ONCE; size -= AT_ONCE, bytes += AT_ONCE) {
    uint32_t fours[4], next = 0;
    memcpy(fours, bytes, AT_ONCE);
    fours[0] ^= value;
    for (int i = 0; i < AT_ONCE; i++) next ^= crc->tables[AT_ONCE - 1 - i][fours[i / 4] >> (8 * (i % 4)) & 255];
    value = next;
  }
  for (; size; size--, bytes++) value = value >> 8 ^ crc->tables[0][(value ^ *bytes) & 255];
  return value;
}

#ifdef CARRYLESS
/* Bytes are a polynomial over {0, 1}. What is read is folded into the bytes behind it, by products with x^n modulo the polynomial
 * of the checksum, until 16 bytes with the same checksum are left. (Gopal et al. 2009, Fast CRC computation using PCLMULQDQ.) */
__attribute__((target("pclmul"))) static __m128i folded(__m128i left, __m128i powers, const void *next) {
  __m128i low = _mm_clmulepi64_si128(left, powers, 0x00), high = _mm_clmulepi64_si128(left, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), _mm_loadu_si128(next));
}

__attribute__((target("pclmul"))) static uint32_t crc_by_products(const struct crc *crc, uint32_t value, const uint8_t *bytes, size_t size) {
  const __m128i four = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), one = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i parts[4], left;
  uint8_t last[4][16];
  for (int i = 0; i < 4; i++) parts[i] = _mm_loadu_si128((const void *)(bytes + 16 * i));
  parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128((int)value));
  for (bytes += 64, size -= 64; size >= 64; bytes += 64, size -= 64)
    for (int i = 0; i < 4; i++) parts[i] = folded(parts[i], four, bytes + 16 * i);
  memcpy(last, parts, sizeof last);
  left = parts[0];
  for (int i = 1; i < 4; i++) left = folded(left, one, last[i]);
  memcpy(last, &left, 16);
  return crc_by_tables(crc, crc_by_tables(crc, 0, last[0], 16), bytes, size);
}
#endif

static uint32_t crc_add(const struct crc *crc, uint32_t value, const uint8_t *bytes, size_t size) {
#ifdef CARRYLESS
  if (size >= 64 && cpu_facts().pclmul) return crc_by_products(crc, value, bytes, size);
#endif
  return crc_by_tables(crc, value, bytes, size);
}

int capsulet_verify(const void *bytes, size_t size) {
  char message[CAPSULET_MESSAGE];
  struct file file;
  int result = file_open(&file, bytes, size, message);
  if (result) return result;
  uint32_t node = json_get(&file.header, json_get(&file.header, 0, "__metadata__"), "crc32");
  result = CAPSULET_DAMAGED;
  if (node && file.header.nodes[node].kind == JSON_STRING && file.header.nodes[node].end - file.header.nodes[node].start == 8) {
    size_t place = 8 + file.header.nodes[node].start;
    struct crc crc;
    crc_start(&crc);
    uint32_t value = crc_add(&crc, 0xFFFFFFFF, bytes, place);
    value = crc_add(&crc, value, (const uint8_t *)"00000000", 8);
    value = ~crc_add(&crc, value, file.bytes + place + 8, size - place - 8);
    bool same = true;
    for (int i = 0; i < 8; i++) same &= file.bytes[place + (size_t)i] == (uint8_t)"0123456789abcdef"[value >> (28 - 4 * i) & 15];
    if (same) result = CAPSULET_OK;
  }
  file_close(&file);
  return result;
}
