/* Inflate: RFC 1951, raw streams. Every read and every write is checked. */
#include "core.h"

enum { LONGEST_CODE = 15, MOST_SYMBOLS = 288 };

struct huffman { /* canonical codes: number of codes of each length, and the symbols by code */
  uint16_t counts[LONGEST_CODE + 1];
  uint16_t symbols[MOST_SYMBOLS];
};

struct stream {
  const uint8_t *from;
  size_t size, at;
  uint32_t bits, held; /* bits that were read but not used, and how many */
  uint8_t *to;
  size_t written, room, most;
  int problem;
};

static uint32_t take_bits(struct stream *stream, uint32_t count) {
  while (stream->held < count) {
    if (stream->at == stream->size) {
      stream->problem = CAPSULET_DAMAGED;
      return 0;
    }
    stream->bits |= (uint32_t)stream->from[stream->at++] << stream->held;
    stream->held += 8;
  }
  uint32_t value = stream->bits & ((1u << count) - 1);
  stream->bits >>= count;
  stream->held -= count;
  return value;
}

/* False if the lengths give more codes than there are, or fewer. As in zlib, no code at all and, unless the set is `full`, a
 * single code of one bit are fine: codes that are missing end the stream with an error when they are read. */
static bool build(struct huffman *huffman, const uint8_t *lengths, int count, bool full) {
  uint16_t places[LONGEST_CODE + 1];
  memset(huffman->counts, 0, sizeof huffman->counts);
  for (int i = 0; i < count; i++) huffman->counts[lengths[i]]++;
  int left = 1;
  for (int length = 1; length <= LONGEST_CODE; length++) {
    left = 2 * left - huffman->counts[length];
    if (left < 0) return false;
  }
  int used = count - huffman->counts[0];
  if (left && used && (full || used != huffman->counts[1])) return false;
  places[1] = 0;
  for (int length = 1; length < LONGEST_CODE; length++) places[length + 1] = (uint16_t)(places[length] + huffman->counts[length]);
  for (int i = 0; i < count; i++)
    if (lengths[i]) huffman->symbols[places[lengths[i]]++] = (uint16_t)i;
  return true;
}

static uint32_t symbol(struct stream *stream, const struct huffman *huffman) {
  int32_t code = 0, first = 0, index = 0;
  for (int length = 1; length <= LONGEST_CODE; length++) {
    code |= (int32_t)take_bits(stream, 1);
    if (stream->problem) return 0;
    int32_t count = huffman->counts[length];
    if (code - first < count) return huffman->symbols[index + (code - first)];
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  stream->problem = CAPSULET_DAMAGED;
  return 0;
}

static bool put(struct stream *stream, uint8_t byte) {
  if (stream->written == stream->room) {
    size_t room = stream->room ? stream->room : 1 << 11;
    room = room > stream->most / 2 ? stream->most : 2 * room;
    uint8_t *to = stream->written < room ? realloc(stream->to, room) : NULL;
    if (!to) {
      stream->problem = stream->written < room ? CAPSULET_NO_MEMORY : CAPSULET_DAMAGED;
      return false;
    }
    stream->to = to, stream->room = room;
  }
  stream->to[stream->written++] = byte;
  return true;
}

static void stored_block(struct stream *stream) {
  stream->bits = stream->held = 0; /* at most seven bits are held: the rest of the byte is skipped */
  if (stream->size - stream->at < 4) {
    stream->problem = CAPSULET_DAMAGED;
    return;
  }
  uint32_t size = stream->from[stream->at] | (uint32_t)stream->from[stream->at + 1] << 8;
  uint32_t check = stream->from[stream->at + 2] | (uint32_t)stream->from[stream->at + 3] << 8;
  stream->at += 4;
  if ((size ^ 0xFFFF) != check || stream->size - stream->at < size) {
    stream->problem = CAPSULET_DAMAGED;
    return;
  }
  while (size-- && put(stream, stream->from[stream->at])) stream->at++;
}

static void compressed_block(struct stream *stream, const struct huffman *literals, const struct huffman *distances) {
  static const uint16_t length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static const uint16_t distance_base[30] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                             193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  static const uint8_t distance_bits[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                            6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
  for (;;) {
    uint32_t code = symbol(stream, literals);
    if (stream->problem || code == 256) return;
    if (code < 256) {
      if (!put(stream, (uint8_t)code)) return;
      continue;
    }
    code -= 257;
    if (code >= 29) break;
    uint32_t length = length_base[code] + take_bits(stream, length_bits[code]);
    code = symbol(stream, distances);
    if (stream->problem) return;
    if (code >= 30) break;
    uint32_t distance = distance_base[code] + take_bits(stream, distance_bits[code]);
    if (stream->problem) return;
    if (distance > stream->written) break;
    while (length--)
      if (!put(stream, stream->to[stream->written - distance])) return;
  }
  stream->problem = CAPSULET_DAMAGED;
}

static void fixed_block(struct stream *stream) {
  struct huffman literals, distances;
  uint8_t lengths[MOST_SYMBOLS];
  for (int i = 0; i < MOST_SYMBOLS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  build(&literals, lengths, MOST_SYMBOLS, true);
  memset(lengths, 5, 32); /* 30 and 31 are not distances, but they have codes */
  build(&distances, lengths, 32, true);
  compressed_block(stream, &literals, &distances);
}

static void dynamic_block(struct stream *stream) {
  static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  struct huffman literals, distances;
  uint8_t lengths[286 + 30] = {0};
  int num_literals = (int)take_bits(stream, 5) + 257, num_distances = (int)take_bits(stream, 5) + 1, num_codes = (int)take_bits(stream, 4) + 4;
  bool fine = num_literals <= 286 && num_distances <= 30;
  for (int i = 0; i < num_codes; i++) lengths[order[i]] = (uint8_t)take_bits(stream, 3);
  if (!fine || stream->problem || !build(&literals, lengths, 19, true)) {
    stream->problem = CAPSULET_DAMAGED;
    return;
  }
  memset(lengths, 0, sizeof lengths);
  for (int i = 0; i < num_literals + num_distances;) {
    uint32_t code = symbol(stream, &literals), repeat = 1;
    uint8_t length = (uint8_t)code;
    if (code == 16) length = i ? lengths[i - 1] : 255, repeat = 3 + take_bits(stream, 2);
    else if (code == 17) length = 0, repeat = 3 + take_bits(stream, 3);
    else if (code == 18) length = 0, repeat = 11 + take_bits(stream, 7);
    if (stream->problem || length == 255 || i + (int)repeat > num_literals + num_distances) {
      stream->problem = CAPSULET_DAMAGED;
      return;
    }
    while (repeat--) lengths[i++] = length;
  }
  bool ends = lengths[256]; /* without the symbol that ends a block, it could not end */
  if (!ends || !build(&literals, lengths, num_literals, false) || !build(&distances, lengths + num_literals, num_distances, false)) {
    stream->problem = CAPSULET_DAMAGED;
    return;
  }
  compressed_block(stream, &literals, &distances);
}

int inflate_raw(const uint8_t *from, size_t size, size_t most, uint8_t **output, size_t *output_size) {
  struct stream stream = {.from = from, .size = size, .most = most};
  for (uint32_t last = 0; !last && !stream.problem;) {
    last = take_bits(&stream, 1);
    uint32_t kind = take_bits(&stream, 2);
    if (stream.problem) break;
    if (kind == 0) stored_block(&stream);
    else if (kind == 1) fixed_block(&stream);
    else if (kind == 2) dynamic_block(&stream);
    else stream.problem = CAPSULET_DAMAGED;
  }
  if (!stream.problem && stream.at != size) stream.problem = CAPSULET_DAMAGED;
  if (stream.problem) {
    free(stream.to);
    return stream.problem;
  }
  *output = stream.to, *output_size = stream.written;
  return CAPSULET_OK;
}
