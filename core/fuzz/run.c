/* Fuzz target: a model file, with a text in its tensor "card"; everything that a program can ask for. */
#include "mutate.h"

static void check_finite(const float *values, size_t count) {
  for (size_t i = 0; i < count; i++) expect(values[i] - values[i] == 0);
}

static void answer(const capsulet_model *model, const char *text, size_t size) {
  struct capsulet_facts facts;
  capsulet_describe(model, &facts);
  size_t classes = (size_t)facts.classes, primary = (size_t)facts.primary;
  if (classes > 1000) return; /* answers of many classes are slow, not wrong */
  float *lengths = malloc(2 * classes * sizeof *lengths), unknown[2];
  double *shares = malloc(classes * sizeof *shares), nothing = __builtin_nan("");
  int32_t *set = malloc(classes * sizeof *set);
  uint8_t *given = malloc(classes);
  const char *texts[] = {text, text};
  size_t sizes[] = {size, size / 2};
  int result = capsulet_classify(model, texts, sizes, 2, CAPSULET_TEXT, lengths, unknown);
  expect(result == CAPSULET_OK || result == CAPSULET_DAMAGED);
  if (!result) {
    check_finite(lengths, 2 * classes);
    capsulet_probabilities(model, lengths, 1, shares);
    for (size_t i = 0; i < classes; i++) expect(shares[i] >= 0 && shares[i] <= 1.000001);
    capsulet_given(model, lengths, given);
    struct capsulet_request requests[] = {{1, nothing, nothing, nothing}, {1, 0.9, nothing, 0.9}, {0, nothing, 0.05, nothing}, {0, nothing, 1e-18, nothing}};
    for (int i = 0; i < 4; i++) {
      struct capsulet_rules rules;
      char message[CAPSULET_MESSAGE];
      if (capsulet_rules_for(model, &requests[i], &rules, message)) continue;
      capsulet_abstains(model, &rules, lengths, unknown[0]);
      size_t count = capsulet_label_set(model, &rules, lengths, set);
      expect(count <= classes);
      for (size_t place = 1; place < count; place++) expect(lengths[set[place - 1]] >= lengths[set[place]]);
    }
  }
  size = size < 63 ? size : 63;
  struct capsulet_token tokens[64];
  int32_t wanted[] = {0, facts.classes - 1};
  size_t count = capsulet_tokenize(model, text, size, CAPSULET_TEXT, tokens, 64);
  float contributions[2 * 64], ngrams[2 * 64], *norms = malloc(classes * sizeof *norms);
  char spelled[512];
  size_t spelled_size = capsulet_spell(model, text, size, spelled, sizeof spelled);
  if (spelled_size <= sizeof spelled && capsulet_tokenize(model, text, size, CAPSULET_TEXT, NULL, 0) > 0)
    capsulet_tokenize(model, spelled, spelled_size, CAPSULET_SPELLED, NULL, 0);
  float *coupling = malloc(2 * primary * sizeof *coupling), *parts = malloc(2 * primary * sizeof *parts);
  struct capsulet_explanation explanation = {lengths, norms, contributions, ngrams, coupling, parts};
  if (!capsulet_explain(model, text, size, CAPSULET_TEXT, wanted, 2, &explanation)) {
    check_finite(norms, classes);
    check_finite(contributions, 2 * count);
  }
  size_t codes = (size_t)facts.codebooks * (size_t)facts.codewords;
  float *weights = malloc((codes + 1) * sizeof *weights);
  if (!capsulet_codes(model, tokens[0].id, weights)) check_finite(weights, codes);
  free(weights);
  free(lengths), free(shares), free(set), free(given), free(norms), free(coupling), free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char message[CAPSULET_MESSAGE];
  uint8_t *bytes = exact_copy(data, size);
  for (int precision = CAPSULET_FLOAT32; precision <= CAPSULET_INT8; precision++) {
    capsulet_model *model;
    if (capsulet_open(bytes, size, precision, &model, message)) continue;
    struct tensor card = file_tensor(&model->file, "card");
    size_t text_size = card.count < 255 ? (size_t)card.count : 255;
    uint8_t *text = exact_copy(card.data, card.data ? text_size : 0);
    answer(model, (const char *)text, card.data ? text_size : 0);
    if (!capsulet_choose_kernel(model, "plain")) answer(model, (const char *)text, card.data ? text_size : 0);
    free(text);
    capsulet_close(model);
  }
  free(bytes);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return mutate_model(data, size, most, seed);
}
