/* The dictionary: words to numbers. Nothing in the file is trusted: every place is checked when it is used. */
#include "core.h"

enum { MOST_PROBES = 256, SHORTEST_PREFIX = 4, MOST_SIMILAR = 4096 };

/* The letters of a word; an empty word where the file is wrong. */
static const uint8_t *letters_of(const struct words *words, uint64_t number, size_t *size) {
  uint32_t start = number ? words->ends[number - 1] : 0, end = words->ends[number];
  if (start > end || end > words->letters_size) {
    *size = 0;
    return words->letters;
  }
  *size = end - start;
  return words->letters + start;
}

const char *capsulet_word(const capsulet_model *model, int32_t id, size_t *size) {
  if (id < 0 || id >= model->vocabulary) return NULL;
  if (id < model->first_word) {
    const char *name = id == model->unknown ? "[UNK]" : "[PAD]";
    *size = strlen(name);
    return name;
  }
  return (const char *)letters_of(&model->words, (uint64_t)(id - model->first_word), size);
}

int64_t words_find(const struct words *words, const struct word *word) {
  uint32_t place = word->hash;
  if (word->size > LONGEST_WORD) return -1;
  for (int probe = 0; probe < MOST_PROBES; probe++, place++) {
    uint32_t slot = words->slots[place & words->mask];
    size_t size;
    if (!slot || slot > words->count) return -1;
    const uint8_t *letters = letters_of(words, slot - 1, &size);
    if (size == word->size && !memcmp(letters, word->letters, size)) return slot - 1;
  }
  return -1;
}

int64_t words_shape(const struct words *words, const struct word *word) {
  struct word shape;
  shape.size = word_shape(word->letters, word->size, shape.letters);
  if (!shape.size) return -2;
  finish_word(&shape);
  return words_find(words, &shape);
}

/* Word number `place` in sorted order; an empty word where the file is wrong. */
static const uint8_t *sorted(const struct words *words, uint64_t place, size_t *size) {
  uint32_t number = words->order[place];
  *size = 0;
  return number < words->count ? letters_of(words, number, size) : words->letters;
}

static int compare(const uint8_t *left, size_t left_size, const uint8_t *right, size_t right_size) {
  int order = memcmp(left, right, left_size < right_size ? left_size : right_size);
  return order ? order : (left_size > right_size) - (left_size < right_size);
}

/* Bytes of the longest prefix of whole characters that two words share. */
static size_t shared_letters(const uint8_t *left, size_t left_size, const uint8_t *right, size_t right_size) {
  size_t size = left_size < right_size ? left_size : right_size, shared = 0;
  while (shared < size && left[shared] == right[shared]) shared++;
  bool inside = (shared < left_size && (left[shared] & 0xC0) == 0x80) || (shared < right_size && (right[shared] & 0xC0) == 0x80);
  while (inside && shared && (left[--shared] & 0xC0) == 0x80) {
  }
  return shared;
}

static size_t characters(const uint8_t *letters, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++) count += (letters[i] & 0xC0) != 0x80;
  return count;
}

/* The known word with the longest common prefix: at least four characters and half of each word. Ties go to the shortest word,
 * then to the first in sorted order. */
int64_t words_similar(const struct words *words, const struct word *word) {
  const uint8_t *letters = (const uint8_t *)word->letters;
  size_t size = word->size, own, shared = 0;
  if (!words->order || size < SHORTEST_PREFIX || size > LONGEST_WORD) return -1;
  uint64_t low = 0, high = words->count;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    const uint8_t *other = sorted(words, middle, &own);
    if (compare(other, own, letters, size) < 0) low = middle + 1;
    else high = middle;
  }
  for (uint64_t place = low ? low - 1 : 0; place <= low && place < words->count; place++) {
    const uint8_t *other = sorted(words, place, &own);
    size_t common = shared_letters(other, own, letters, size);
    if (common > shared) shared = common;
  }
  size_t prefix = characters(letters, shared), length = characters(letters, size);
  if (prefix < SHORTEST_PREFIX) return -1;
  uint64_t first = 0, last = low, end = low;
  while (first < last) { /* the first word that begins with the shared letters */
    uint64_t middle = (first + last) / 2;
    const uint8_t *other = sorted(words, middle, &own);
    if (compare(other, own, letters, shared) < 0) first = middle + 1;
    else last = middle;
  }
  last = words->count - first > MOST_SIMILAR ? first + MOST_SIMILAR : words->count;
  while (end < last) { /* the first word after them; letters are compared here only, sizes below */
    uint64_t middle = (end + last) / 2;
    const uint8_t *other = sorted(words, middle, &own);
    if (shared_letters(other, own, letters, shared) == shared) end = middle + 1;
    else last = middle;
  }
  int64_t best = -1;
  size_t best_length = SIZE_MAX;
  for (uint64_t place = first; place < last; place++) {
    const uint8_t *other = sorted(words, place, &own);
    size_t own_length = characters(other, own);
    if (own && own_length < best_length) best = words->order[place], best_length = own_length;
  }
  return best >= 0 && 2 * prefix >= length && 2 * prefix >= best_length ? best : -1;
}

/* ---- opening ---- */

static uint32_t hash_of(const uint8_t *letters, size_t size) {
  uint32_t hash = HASH_START;
  for (size_t i = 0; i < size; i++) hash = HASH_NEXT(hash, letters[i]);
  return HASH_END(hash);
}

/* A number of one or two bytes, seven bits each. */
static bool read_number(const uint8_t *stream, size_t size, size_t *at, size_t *number) {
  if (*at >= size) return false;
  *number = stream[(*at)++];
  if (*number < 128) return true;
  if (*at >= size || stream[*at] > 1) return false; /* 255 at most */
  *number = (*number & 127) | (size_t)stream[(*at)++] << 7;
  return true;
}

/* Unpacks a front-coded dictionary and builds its hash table and, for similar words, its order. */
static int unpack(struct words *words, const struct tensor *packed, bool similar, char *message) {
  uint8_t *stream = NULL, *letters = NULL;
  size_t stream_size = 0, at = 0, count = words->count, slots = 2, used = 0, room = 0;
  if (count > 1 << 24) return fail(message, "its dictionary has too many words");
  while (slots < 2 * count) slots *= 2;
  uint64_t most = (uint64_t)count * (LONGEST_WORD + 3); /* three bytes: the numbers before the letters */
  if (!fits(most, 1)) return CAPSULET_NO_MEMORY;
  int result = inflate_raw(packed->data, (size_t)packed->count, (size_t)most, &stream, &stream_size);
  if (result == CAPSULET_NO_MEMORY) return result;
  if (result) return fail(message, "its dictionary cannot be unpacked");
  uint32_t *table = NULL;
  result = CAPSULET_DAMAGED;
  for (size_t number = 0; number < count; number++) { /* the sizes first, so that the memory is just large enough */
    size_t shared, more;
    if (!read_number(stream, stream_size, &at, &shared) || !read_number(stream, stream_size, &at, &more)) goto end;
    if (shared + more > LONGEST_WORD || more > stream_size - at) goto end;
    room += shared + more, at += more;
  }
  at = 0;
  table = reserve_zeros((uint64_t)count + slots + (similar ? count : 0), sizeof *table);
  letters = reserve(room, 1);
  result = CAPSULET_NO_MEMORY;
  if (!table || !letters) goto end;
  uint32_t *ends = table, *hashed = table + count, *order = hashed + slots;
  size_t previous = 0, previous_size = 0;
  result = CAPSULET_DAMAGED;
  for (size_t number = 0; number < count; number++) {
    size_t shared, more;
    if (!read_number(stream, stream_size, &at, &shared) || !read_number(stream, stream_size, &at, &more)) goto end;
    size_t size = shared + more;
    if (shared > previous_size || !more) goto end;
    memcpy(letters + used, letters + previous, shared);
    memcpy(letters + used + shared, stream + at, more);
    if (number && compare(letters + previous, previous_size, letters + used, size) >= 0) goto end;
    previous = used, previous_size = size;
    at += more, used += size;
    ends[number] = (uint32_t)used;
    if (similar) order[number] = (uint32_t)number;
    uint32_t place = hash_of(letters + previous, size);
    for (int probe = 0; hashed[place & (slots - 1)]; place++)
      if (++probe >= MOST_PROBES) goto end;
    hashed[place & (slots - 1)] = (uint32_t)number + 1;
  }
  if (at != stream_size) goto end; /* 2^24 words of 255 bytes: `used` fits into 32 bits */
  result = CAPSULET_OK;
  free(stream);
  words->letters = letters, words->letters_size = used;
  words->ends = ends, words->slots = hashed, words->mask = (uint32_t)slots - 1;
  words->order = similar ? order : NULL;
  words->own = table;
  return result;
end:
  free(stream);
  free(table);
  free(letters);
  return result == CAPSULET_DAMAGED ? fail(message, "a word of its dictionary is wrong") : result;
}

int words_open(struct words *words, const struct file *file, uint32_t count, bool similar, bool packed, char *message) {
  words->count = count;
  if (packed) {
    struct tensor dictionary = file_tensor(file, "words.packed");
    if (!dictionary.data || dictionary.dtype != TYPE_U8) return fail(message, "its dictionary is missing");
    return unpack(words, &dictionary, similar, message);
  }
  struct tensor letters = file_tensor(file, "words.letters"), ends = file_tensor(file, "words.ends");
  struct tensor slots = file_tensor(file, "words.slots"), order = file_tensor(file, "words.order");
  bool fine = letters.data && letters.dtype == TYPE_U8 && ends.data && ends.dtype == TYPE_U32 && ends.count == count;
  fine = fine && slots.data && slots.dtype == TYPE_U32 && slots.count >= 2 && slots.count <= (uint64_t)1 << 31;
  fine = fine && !(slots.count & (slots.count - 1));
  fine = fine && (!similar || (order.data && order.dtype == TYPE_U32 && order.count == count));
  if (!fine) return fail(message, "its dictionary is missing or of another size");
  words->letters = letters.data, words->letters_size = (size_t)letters.count;
  words->ends = (const uint32_t *)(const void *)ends.data, words->slots = (const uint32_t *)(const void *)slots.data;
  words->mask = (uint32_t)slots.count - 1;
  words->order = similar ? (const uint32_t *)(const void *)order.data : NULL;
  return CAPSULET_OK;
}
