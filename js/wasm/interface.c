/* What src/index.js calls: the functions of core/capsulet.h with numbers and places in memory only.
 *
 * JavaScript writes texts and reads results in the memory of the module. Functions that return int return a result of
 * capsulet.h. */
#include "capsulet.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name), used))

_Static_assert(sizeof(struct capsulet_facts) == 15 * 4, "index.js reads 15 numbers");
_Static_assert(sizeof(struct capsulet_token) == 3 * 4, "index.js reads 3 numbers");

EXPORT(allocate) void *allocate_bytes(size_t size) { return malloc(size); }
EXPORT(release) void release_bytes(void *memory) { free(memory); }

/* Opens a model and compares its checksum; NULL and a message if that fails. */
EXPORT(open) capsulet_model *open_model(const void *bytes, size_t size, int precision, char *message) {
  capsulet_model *model;
  if (capsulet_open(bytes, size, precision, &model, message)) return NULL;
  int result = capsulet_verify(bytes, size);
  if (!result) return model;
  const char *problem = result == CAPSULET_DAMAGED ? "its bytes do not match its checksum" : "there is not enough memory for it";
  memcpy(message, problem, strlen(problem) + 1);
  capsulet_close(model);
  return NULL;
}

EXPORT(close) void close_model(capsulet_model *model) { capsulet_close(model); }
EXPORT(describe) void describe_model(const capsulet_model *model, struct capsulet_facts *facts) { capsulet_describe(model, facts); }

EXPORT(word) const char *word_of(const capsulet_model *model, int32_t id, size_t *size) { return capsulet_word(model, id, size); }

static uint32_t utf16_units(unsigned char byte) { return (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1; }

/* Tokens of a text. Their places count UTF-16 units, as strings of JavaScript do. */
EXPORT(tokenize) size_t tokenize(const capsulet_model *model, const char *text, size_t size, struct capsulet_token *tokens, size_t room) {
  size_t count = capsulet_tokenize(model, text, size, CAPSULET_TEXT, tokens, room);
  uint32_t byte = 0, unit = 0;
  for (size_t i = 0; i < count && i < room; i++) {
    uint32_t *places[] = {&tokens[i].start, &tokens[i].end};
    for (int end = 0; end < 2; end++) {
      while (byte < *places[end]) unit += utf16_units((unsigned char)text[byte++]);
      while (byte > *places[end]) unit -= utf16_units((unsigned char)text[--byte]); /* two tokens of one character */
      *places[end] = unit;
    }
  }
  return count;
}

/* Class lengths (n, C) and shares of unknown words (n) of texts: their bytes one after the other, and their sizes (n). */
EXPORT(classify) int classify(const capsulet_model *model, const char *letters, const size_t *sizes, size_t n, float *lengths, float *unknown) {
  const char **texts = malloc((n + 1) * sizeof *texts);
  if (!texts) return CAPSULET_NO_MEMORY;
  for (size_t i = 0; i < n; letters += sizes[i++]) texts[i] = letters;
  int result = capsulet_classify(model, texts, sizes, n, CAPSULET_TEXT, lengths, unknown);
  free(texts);
  return result;
}

EXPORT(probabilities) void probabilities(const capsulet_model *model, const float *lengths, size_t n, double *values) {
  capsulet_probabilities(model, lengths, n, values);
}

EXPORT(given) void given(const capsulet_model *model, const float *lengths, uint8_t *classes) { capsulet_given(model, lengths, classes); }

/* Thresholds (3) of confidence, certainty and set score. */
EXPORT(rules) int rules(const capsulet_model *model, int abstain, double coverage, double max_error, double sets, double *thresholds,
                        char *message) {
  struct capsulet_request request = {abstain, coverage, max_error, sets};
  struct capsulet_rules found;
  int result = capsulet_rules_for(model, &request, &found, message);
  thresholds[0] = found.confidence, thresholds[1] = found.certainty, thresholds[2] = found.set_score;
  return result;
}

EXPORT(abstains) int abstains(const capsulet_model *model, const double *thresholds, const float *lengths, double unknown) {
  struct capsulet_rules rules = {thresholds[0], thresholds[1], thresholds[2], 0};
  return capsulet_abstains(model, &rules, lengths, unknown);
}

EXPORT(label_set) size_t label_set(const capsulet_model *model, const double *thresholds, const float *lengths, int32_t *classes) {
  struct capsulet_rules rules = {thresholds[0], thresholds[1], thresholds[2], 0};
  return capsulet_label_set(model, &rules, lengths, classes);
}

/* Lengths and norms (C each), and contributions and their n-gram part (T, wanted each), of a text for some classes. */
EXPORT(explain) int explain(const capsulet_model *model, const char *text, size_t size, const int32_t *classes, size_t wanted,
                            float *lengths, float *norms, float *contributions, float *ngrams) {
  struct capsulet_explanation explanation = {.lengths = lengths, .norms = norms, .contributions = contributions, .ngrams = ngrams};
  return capsulet_explain(model, text, size, CAPSULET_TEXT, classes, wanted, &explanation);
}
