/* JSON as Python writes it: texts that grow, strings and numbers. */
#include "core.h"

#include <stdio.h>

struct output {
  char *data;
  size_t size, room;
  bool failed; /* no memory */
};

static inline void put_bytes(struct output *output, const char *from, size_t size) {
  if (output->failed) return;
  if (output->room - output->size < size) {
    size_t room = 2 * output->room + size + 256;
    char *data = room > output->room ? realloc(output->data, room) : NULL;
    if (!data) {
      output->failed = true;
      return;
    }
    output->data = data, output->room = room;
  }
  if (size) memcpy(output->data + output->size, from, size);
  output->size += size;
}

static inline void put_text(struct output *output, const char *text) { put_bytes(output, text, strlen(text)); }

/* A string of JSON. Bytes that are not UTF-8 become U+FFFD. */
static inline void put_string(struct output *output, const char *text, size_t size) {
  put_text(output, "\"");
  for (size_t at = 0, bytes; at < size; at += bytes) {
    uint32_t character;
    bytes = read_character((const uint8_t *)text + at, size - at, &character);
    const char *short_form = character == '"' ? "\\\"" : character == '\\' ? "\\\\" : character == '\n' ? "\\n" : character == '\r' ? "\\r"
                             : character == '\t' ? "\\t" : character == '\b' ? "\\b" : character == '\f' ? "\\f" : NULL;
    char escape[8];
    if (short_form) {
      put_text(output, short_form);
    } else if (character < 0x20) {
      snprintf(escape, sizeof escape, "\\u%04x", (unsigned)character);
      put_text(output, escape);
    } else if (bytes == 1 && character >= 0x80) {
      put_text(output, "\xEF\xBF\xBD");
    } else {
      put_bytes(output, text + at, bytes);
    }
  }
  put_text(output, "\"");
}

/* A number with six digits behind the point, and without zeros at its end. */
static inline void put_number(struct output *output, double number) {
  char digits[400];
  int size = snprintf(digits, sizeof digits, "%.6f", number);
  if (!strncmp(digits, "-0.000000", 9) || !strncmp(digits, "0.000000", 8)) {
    put_text(output, digits[0] == '-' ? "-0.0" : "0.0");
    return;
  }
  if (!strncmp(digits + (digits[0] == '-'), "0.0000", 6)) { /* Python writes such numbers with an exponent */
    int millionths = atoi(digits + size - 2);
    snprintf(digits, sizeof digits, millionths % 10 && millionths > 9 ? "%s%d.%de-05" : millionths > 9 ? "%s%de-05" : "%s%de-06",
             number < 0 ? "-" : "", millionths > 9 ? millionths / 10 : millionths, millionths % 10);
    put_text(output, digits);
    return;
  }
  while (digits[size - 1] == '0' && digits[size - 2] != '.') digits[--size] = 0;
  put_text(output, digits);
}
