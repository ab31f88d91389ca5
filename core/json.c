/* JSON: the text is parsed into a list of values, in which every value is followed by the values inside it. */
#include "core.h"

enum { DEEPEST = 64 };

struct parser {
  struct json *json;
  uint32_t at, size, room;
};

static bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip(struct parser *parser) {
  while (parser->at < parser->size && space(parser->json->text[parser->at])) parser->at++;
}

/* Adds a value that begins here; UINT32_MAX without memory. */
static uint32_t add(struct parser *parser, enum json_kind kind) {
  struct json *json = parser->json;
  if (json->count == parser->room) {
    uint32_t room = parser->room ? 2 * parser->room : 256;
    struct json_node *nodes = fits(room, sizeof *nodes) ? realloc(json->nodes, room * sizeof *nodes) : NULL;
    if (!nodes) return UINT32_MAX;
    json->nodes = nodes, parser->room = room;
  }
  json->nodes[json->count] = (struct json_node){.start = parser->at, .kind = kind};
  return json->count++;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

static int hexadecimal(char c) {
  if (digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* From the quote on; the value gets the place between the quotes. */
static bool string(struct parser *parser, uint32_t node) {
  const char *text = parser->json->text;
  parser->json->nodes[node].start = ++parser->at;
  while (parser->at < parser->size) {
    unsigned char c = (unsigned char)text[parser->at];
    if (c == '"') {
      parser->json->nodes[node].end = parser->at++;
      return true;
    }
    if (c < 0x20) return false;
    if (c >= 0x80) { /* labels are given to programs that expect UTF-8 */
      uint32_t character;
      size_t bytes = read_character((const uint8_t *)text + parser->at, parser->size - parser->at, &character);
      if (bytes == 1) return false;
      parser->at += (uint32_t)bytes;
      continue;
    }
    parser->at++;
    if (c != '\\') continue;
    if (parser->at >= parser->size) return false;
    char escaped = text[parser->at++];
    if (escaped == 'u') {
      for (int i = 0; i < 4; i++, parser->at++)
        if (parser->at >= parser->size || hexadecimal(text[parser->at]) < 0) return false;
    } else if (!escaped || !strchr("\"\\/bfnrt", escaped)) {
      return false;
    }
  }
  return false;
}

static bool number(struct parser *parser) {
  const char *text = parser->json->text;
#define HERE (parser->at < parser->size ? text[parser->at] : 0)
  if (HERE == '-') parser->at++;
  if (!digit(HERE)) return false;
  if (HERE == '0') parser->at++;
  else while (digit(HERE)) parser->at++;
  if (HERE == '.') {
    parser->at++;
    if (!digit(HERE)) return false;
    while (digit(HERE)) parser->at++;
  }
  if (HERE == 'e' || HERE == 'E') {
    parser->at++;
    if (HERE == '+' || HERE == '-') parser->at++;
    if (!digit(HERE)) return false;
    while (digit(HERE)) parser->at++;
  }
#undef HERE
  return true;
}

static bool literal(struct parser *parser, const char *word) {
  uint32_t size = (uint32_t)strlen(word);
  if (parser->size - parser->at < size || memcmp(parser->json->text + parser->at, word, size)) return false;
  parser->at += size;
  return true;
}

static int value(struct parser *parser, int depth) {
  skip(parser);
  if (parser->at >= parser->size || depth > DEEPEST) return CAPSULET_DAMAGED;
  char c = parser->json->text[parser->at];
  enum json_kind kind = c == '{'   ? JSON_OBJECT
                        : c == '[' ? JSON_ARRAY
                        : c == '"' ? JSON_STRING
                        : c == 't' ? JSON_TRUE
                        : c == 'f' ? JSON_FALSE
                        : c == 'n' ? JSON_NULL
                                   : JSON_NUMBER;
  uint32_t node = add(parser, kind);
  if (node == UINT32_MAX) return CAPSULET_NO_MEMORY;
  bool fine = true;
  if (kind == JSON_STRING) {
    fine = string(parser, node);
  } else if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
    char close = kind == JSON_OBJECT ? '}' : ']';
    parser->at++;
    skip(parser);
    if (parser->at < parser->size && parser->json->text[parser->at] == close) {
      parser->at++;
    } else {
      for (;;) {
        if (kind == JSON_OBJECT) {
          skip(parser);
          if (parser->at >= parser->size || parser->json->text[parser->at] != '"') return CAPSULET_DAMAGED;
          uint32_t key = add(parser, JSON_STRING);
          if (key == UINT32_MAX) return CAPSULET_NO_MEMORY;
          if (!string(parser, key)) return CAPSULET_DAMAGED;
          parser->json->nodes[key].next = key + 1;
          skip(parser);
          if (parser->at >= parser->size || parser->json->text[parser->at++] != ':') return CAPSULET_DAMAGED;
        }
        int result = value(parser, depth + 1);
        if (result) return result;
        skip(parser);
        if (parser->at >= parser->size) return CAPSULET_DAMAGED;
        char after = parser->json->text[parser->at++];
        if (after == close) break;
        if (after != ',') return CAPSULET_DAMAGED;
      }
    }
  } else {
    fine = kind == JSON_NUMBER ? number(parser) : literal(parser, kind == JSON_TRUE ? "true" : kind == JSON_FALSE ? "false" : "null");
  }
  if (!fine) return CAPSULET_DAMAGED;
  if (kind != JSON_STRING) parser->json->nodes[node].end = parser->at;
  parser->json->nodes[node].next = parser->json->count;
  return CAPSULET_OK;
}

int json_parse(struct json *json, const char *text, size_t size) {
  *json = (struct json){.text = text};
  if (size >= UINT32_MAX / 2) return CAPSULET_DAMAGED;
  struct parser parser = {json, 0, (uint32_t)size, 0};
  int result = value(&parser, 0);
  skip(&parser);
  if (!result && parser.at != parser.size) result = CAPSULET_DAMAGED;
  if (result) json_free(json);
  return result;
}

void json_free(struct json *json) {
  free(json->nodes);
  *json = (struct json){0};
}

static bool same(const struct json *json, uint32_t node, const char *string, size_t size) {
  const struct json_node *own = &json->nodes[node];
  return own->kind == JSON_STRING && own->end - own->start == size && !memcmp(json->text + own->start, string, size);
}

static uint32_t get(const struct json *json, uint32_t object, const char *key, size_t size) {
  uint32_t found = 0;
  if (object >= json->count || json->nodes[object].kind != JSON_OBJECT) return 0;
  for (uint32_t node = object + 1; node < json->nodes[object].next; node = json->nodes[node + 1].next)
    if (same(json, node, key, size)) found = node + 1; /* the last of equal keys, as in Python */
  return found;
}

uint32_t json_get(const struct json *json, uint32_t object, const char *key) { return get(json, object, key, strlen(key)); }

uint32_t json_find(const struct json *json, const char *path) {
  uint32_t node = 0;
  for (;;) {
    const char *dot = strchr(path, '.');
    node = get(json, node, path, dot ? (size_t)(dot - path) : strlen(path));
    if (!dot || !node) return node;
    path = dot + 1;
  }
}

bool json_is(const struct json *json, uint32_t node, const char *string) {
  return node && same(json, node, string, strlen(string));
}

uint32_t json_children(const struct json *json, uint32_t array) {
  uint32_t count = 0;
  for (uint32_t node = array + 1; node < json->nodes[array].next; node = json->nodes[node].next) count++;
  return count;
}

static double power_of_ten(int exponent) {
  double power = 1, base = 10;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

bool json_number(const struct json *json, uint32_t node, double *number) {
  if (!node || json->nodes[node].kind != JSON_NUMBER) return false;
  const char *at = json->text + json->nodes[node].start, *end = json->text + json->nodes[node].end;
  bool negative = at < end && *at == '-';
  uint64_t digits = 0;
  int exponent = 0, point = 0;
  for (at += negative; at < end && (digit(*at) || *at == '.'); at++) {
    if (*at == '.') {
      point = 1;
    } else if (digits < UINT64_MAX / 10 - 1) {
      digits = 10 * digits + (uint64_t)(*at - '0');
      exponent -= point;
    } else {
      exponent += !point && exponent < 100000; /* further digits do not change the value */
    }
  }
  if (at < end) { /* e */
    bool minus = *++at == '-';
    at += minus || *at == '+';
    int written = 0;
    for (; at < end; at++)
      if (written < 100000) written = 10 * written + (*at - '0');
    exponent += minus ? -written : written;
  }
  double value = (double)digits;
  if (!digits || exponent < -400) value = 0;
  else if (exponent < -300) value = value / power_of_ten(300) / power_of_ten(-exponent - 300);
  else if (exponent < 0) value /= power_of_ten(-exponent);
  else if (exponent > 400) return false;
  else if (exponent > 0) value *= power_of_ten(exponent);
  *number = negative ? -value : value;
  return value - value == 0; /* finite */
}

bool json_integer(const struct json *json, uint32_t node, int64_t low, int64_t high, int64_t *integer) {
  double value;
  if (!json_number(json, node, &value)) return false;
  for (uint32_t at = json->nodes[node].start; at < json->nodes[node].end; at++)
    if (!digit(json->text[at]) && json->text[at] != '-') return false;
  if (!(value >= (double)low && value <= (double)high)) return false;
  *integer = (int64_t)value;
  return true;
}

static uint32_t unit(const char *digits) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) value = 16 * value + (uint32_t)hexadecimal(digits[i]);
  return value;
}

size_t json_decode(const struct json *json, uint32_t node, char *to) {
  const char *at = json->text + json->nodes[node].start, *end = json->text + json->nodes[node].end;
  char *out = to;
  while (at < end) {
    if (*at != '\\') {
      *out++ = *at++;
      continue;
    }
    char escaped = at[1];
    if (escaped != 'u') {
      static const char letters[] = "bfnrt", characters[] = "\b\f\n\r\t";
      const char *place = strchr(letters, escaped);
      *out++ = place ? characters[place - letters] : escaped;
      at += 2;
      continue;
    }
    uint32_t code = unit(at + 2);
    at += 6;
    if (code >= 0xDC00 && code < 0xE000) return SIZE_MAX;
    if (code >= 0xD800 && code < 0xDC00) {
      if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return SIZE_MAX;
      uint32_t low = unit(at + 2);
      if (low < 0xDC00 || low >= 0xE000) return SIZE_MAX;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      at += 6;
    }
    if (code < 0x80) {
      *out++ = (char)code;
    } else if (code < 0x800) {
      *out++ = (char)(0xC0 | code >> 6), *out++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      *out++ = (char)(0xE0 | code >> 12), *out++ = (char)(0x80 | (code >> 6 & 0x3F)), *out++ = (char)(0x80 | (code & 0x3F));
    } else {
      *out++ = (char)(0xF0 | code >> 18), *out++ = (char)(0x80 | (code >> 12 & 0x3F));
      *out++ = (char)(0x80 | (code >> 6 & 0x3F)), *out++ = (char)(0x80 | (code & 0x3F));
    }
  }
  return (size_t)(out - to);
}
