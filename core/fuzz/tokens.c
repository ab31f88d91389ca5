/* Fuzz target: arbitrary text for a fixed model. The model is the file in CAPSULET_FUZZ_MODEL. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!model) start();
  struct capsulet_facts facts;
  capsulet_describe(model, &facts);
  uint8_t *text = exact_copy(data, size);
  struct capsulet_token *tokens = malloc((size + 1) * sizeof *tokens);
  size_t count = capsulet_tokenize(model, (const char *)text, size, tokens, size + 1);
  expect(count >= 1 && count <= size + 1 && count <= (size_t)facts.max_tokens);
  for (size_t i = 0; i < count; i++) {
    expect(tokens[i].start <= tokens[i].end && tokens[i].end <= size);
    expect(tokens[i].id >= facts.unknown && tokens[i].id < 2 * facts.vocabulary);
    expect(!i || tokens[i].start >= tokens[i - 1].start);
  }
  struct capsulet_token few[2];
  expect(capsulet_tokenize(model, (const char *)text, size, few, 2) == count);
  expect(!memcmp(few, tokens, (count < 2 ? count : 2) * sizeof *few));
  free(tokens);
  free(text);
  return 0;
}
