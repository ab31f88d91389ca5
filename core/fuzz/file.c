/* Fuzz target: arbitrary bytes as a model file. */
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char message[CAPSULET_MESSAGE];
  uint8_t *bytes = exact_copy(data, size);
  capsulet_verify(bytes, size);
  for (int precision = CAPSULET_FLOAT32; precision <= CAPSULET_INT8; precision++) {
    capsulet_model *model;
    struct capsulet_facts facts;
    size_t length, sum = 0;
    if (capsulet_open(bytes, size, precision, &model, message)) {
      expect(!model && strlen(message) > 0);
      continue;
    }
    capsulet_describe(model, &facts);
    for (int32_t class = -1; class <= facts.classes; class++) check_utf8(capsulet_label(model, class, &length), &length);
    for (int32_t id = -1; id <= facts.vocabulary && id < 1000; id++) sum += read_all(capsulet_word(model, id, &length), &length);
    expect(sum + 1 > 0 && facts.config_size > 0);
    capsulet_close(model);
  }
  free(bytes);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return mutate_model(data, size, most, seed);
}
