/* Parts of the core as functions that a test can call. Built as a shared library with the other files of the core. */
#include "../kernels.c" /* for its functions: this file takes its place */

#include "../numbers.h"

float unit_half(uint16_t bits) { return half_float(bits); }
float unit_power_of_e(float x) { return power_of_e(x); }
double unit_exponential(double x) { return exponential(x); }
double unit_logarithm(double x) { return logarithm(x); }

/* Functions of the kernels at `count` places, a multiple of four: tanh and sigmoid of the integer path, then of floats; 4 is
 * sigmoid of the integer path again. */
void unit_curve(int which, const float *x, int64_t count, float *y) {
  for (int64_t at = 0; at < count; at += 4) {
    plain_floats value = plain_load(x + at), other = -value;
    if (which == 0) value = plain_quick_tanh(value);
    if (which == 1) plain_quick_sigmoids(&value, &other);
    if (which == 2) value = plain_exact_tanh(value);
    if (which == 3) value = plain_exact_sigmoid(value);
    if (which == 4) plain_quick_sigmoids(&other, &value); /* the second of the two */
    plain_store(y + at, value);
  }
}

/* JSON as text without white space, with the value of each number in C's hexadecimal form; -1 if it is damaged. */
static void put(char **at, char *end, const char *from, size_t size) {
  if ((size_t)(end - *at) > size) memcpy(*at, from, size), *at += size;
}

static void describe_value(const struct json *json, uint32_t node, char **at, char *end) {
  static const char *const names[] = {"null", "false", "true"};
  const struct json_node *own = &json->nodes[node];
  double number;
  if (own->kind < JSON_NUMBER) {
    put(at, end, names[own->kind], strlen(names[own->kind]));
  } else if (own->kind == JSON_NUMBER) {
    uint64_t bits = json_number(json, node, &number) ? bits_of_double(number) : UINT64_MAX;
    for (int i = 60; i >= 0; i -= 4) put(at, end, &"0123456789abcdef"[bits >> i & 15], 1);
  } else if (own->kind == JSON_STRING) {
    char *letters = malloc(own->end - own->start + 1);
    size_t size = json_decode(json, node, letters);
    put(at, end, "\"", 1);
    for (size_t i = 0; size != SIZE_MAX && i < size; i++) {
      put(at, end, &"0123456789abcdef"[(uint8_t)letters[i] >> 4], 1);
      put(at, end, &"0123456789abcdef"[(uint8_t)letters[i] & 15], 1);
    }
    put(at, end, size == SIZE_MAX ? "?\"" : "\"", size == SIZE_MAX ? 2 : 1);
    free(letters);
  } else {
    put(at, end, own->kind == JSON_ARRAY ? "[" : "{", 1);
    for (uint32_t child = node + 1; child < own->next; child = json->nodes[child].next) {
      describe_value(json, child, at, end);
      put(at, end, ",", 1);
    }
    put(at, end, own->kind == JSON_ARRAY ? "]" : "}", 1);
  }
}

int64_t unit_json(const char *text, size_t size, char *to, size_t room) {
  struct json json;
  char *at = to;
  if (json_parse(&json, text, size)) return -1;
  describe_value(&json, 0, &at, to + room);
  json_free(&json);
  return at - to;
}

/* Size of the output of inflate, or the error; at most `room` bytes. */
int64_t unit_inflate(const uint8_t *from, size_t size, uint8_t *to, size_t room) {
  uint8_t *output;
  size_t written;
  int result = inflate_raw(from, size, room, &output, &written);
  if (result) return result;
  if (written) memcpy(to, output, written);
  free(output);
  return (int64_t)written;
}

/* Tokens of a text by a rule: start, end, size and kind, and the letters of each, cut off at 255. Returns how many there are. */
size_t unit_tokens(int rule, const uint8_t *text, size_t size, uint32_t *places, uint8_t *letters, size_t most) {
  struct reader reader = {.text = text, .size = size, .rule = (enum rule)rule};
  struct word word;
  size_t count = 0;
  for (; count < most && next_word(&reader, &word); count++) {
    uint32_t kept = word.size < LONGEST_WORD ? word.size : LONGEST_WORD;
    places[4 * count] = (uint32_t)word.start, places[4 * count + 1] = (uint32_t)word.end;
    places[4 * count + 2] = word.size, places[4 * count + 3] = word.kind;
    memcpy(letters + 255 * count, word.letters, kept);
  }
  return count;
}

/* Number of tokens of a text, for measuring; the sum of the hashes keeps the compiler from leaving out work. */
size_t unit_count(int rule, const uint8_t *text, size_t size, uint32_t *sum) {
  struct reader reader = {.text = text, .size = size, .rule = (enum rule)rule};
  struct word word;
  size_t count = 0;
  for (; next_word(&reader, &word); count++) *sum += word.hash;
  return count;
}

uint32_t unit_shape(const char *letters, uint32_t size, char *shape) { return word_shape(letters, size, shape); }
