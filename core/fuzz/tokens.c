/* Fuzz target: arbitrary text by both token rules, and for a fixed model. The model is the file in CAPSULET_FUZZ_MODEL. */
#include "mutate.h"

#include <stdio.h>

static capsulet_model *model; /* kept for the whole run */
static uint8_t model_bytes[1 << 16] __attribute__((aligned(16)));

static void start(void) {
  char message[CAPSULET_MESSAGE] = "";
  const char *path = getenv("CAPSULET_FUZZ_MODEL");
  FILE *file = path ? fopen(path, "rb") : NULL;
  size_t size = file ? fread(model_bytes, 1, sizeof model_bytes, file) : 0;
  if (file) fclose(file);
  if (capsulet_open(model_bytes, size, CAPSULET_INT8, &model, message)) {
    fprintf(stderr, "CAPSULET_FUZZ_MODEL must name a model file: %s\n", message);
    exit(2);
  }
}

/* Places of the tokens are in order, spellings are UTF-8 without white space, and shapes have no shape but themselves. */
static void read_tokens(const uint8_t *text, size_t size, enum rule rule) {
  struct reader reader = {.text = text, .size = size, .rule = rule};
  struct word word;
  size_t count = 0, end = 0;
  for (; next_word(&reader, &word); count++) {
    expect(word.start < word.end && word.end <= size && word.size >= 1 && word.size <= LONGEST_WORD + 4);
    expect(rule == RULE_PAPER || word.start >= end);
    end = word.end;
    uint32_t left = word.size < LONGEST_WORD ? word.size : LONGEST_WORD, character;
    for (uint32_t at = 0; word.size <= LONGEST_WORD && at < left;) {
      size_t bytes = read_character((const uint8_t *)word.letters + at, left - at, &character);
      expect(character > ' ' || rule == RULE_PAPER);
      expect(bytes > 1 || character < 0x80);
      at += (uint32_t)bytes;
    }
    char shape[LONGEST_SHAPE], again[LONGEST_SHAPE];
    uint32_t shape_size = word_shape(word.letters, word.size, shape);
    expect(shape_size <= LONGEST_SHAPE && (!shape_size || !word_shape(shape, shape_size, again)));
  }
  expect(count <= size + 1);
}

static void encode(const uint8_t *text, size_t size, enum rule rule) {
  struct capsulet_facts facts;
  capsulet_describe(model, &facts);
  model->rule = rule;
  struct capsulet_token *tokens = malloc((size + 1) * sizeof *tokens);
  size_t count = capsulet_tokenize(model, (const char *)text, size, CAPSULET_TEXT, tokens, size + 1);
  expect(count >= 1 && count <= size + 1 && count <= (size_t)facts.max_tokens);
  for (size_t i = 0; i < count; i++) {
    expect(tokens[i].start <= tokens[i].end && tokens[i].end <= size);
    expect(tokens[i].id >= facts.unknown && tokens[i].id < 2 * facts.vocabulary);
    expect(!i || tokens[i].start >= tokens[i - 1].start);
  }
  struct capsulet_token few[2];
  expect(capsulet_tokenize(model, (const char *)text, size, CAPSULET_TEXT, few, 2) == count);
  expect(!memcmp(few, tokens, (count < 2 ? count : 2) * sizeof *few));
  free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!model) start();
  uint8_t *text = exact_copy(data, size);
  for (enum rule rule = RULE_PAPER; rule <= RULE_UNICODE; rule++) {
    read_tokens(text, size, rule);
    encode(text, size, rule);
  }
  free(text);
  return 0;
}
