/* N-gram features without a network: scores of a text, and the answers of models that have nothing else. */
#include "ngrams.h"

#include "numbers.h"

int capsulet_ngrams(const capsulet_model *model, const char *text, size_t size, int form, float *scores) {
  memset(scores, 0, (size_t)model->classes * sizeof *scores);
  if (!model->ngram_rows) return CAPSULET_OK;
  struct hits hits = {0};
  int64_t *sums = reserve(2 * (uint64_t)model->classes, sizeof *sums);
  int32_t tokens;
  int result = sums ? read_ngrams(model, text, size, form, &hits, &tokens, NULL) : CAPSULET_NO_MEMORY;
  if (!result) ngram_scores(model, &hits, sums, scores);
  hits_free(&hits);
  free(sums);
  return result;
}

int classify_features(const capsulet_model *model, const char *const *texts, const size_t *sizes, size_t n, int form, float *lengths,
                      float *unknown) {
  size_t classes = (size_t)model->classes;
  struct hits hits = {0};
  int64_t *sums = reserve(2 * (uint64_t)classes, sizeof *sums);
  int32_t tokens, unknown_words;
  float *scores = reserve(classes + head_room(model), sizeof *scores);
  int result = sums && scores ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  for (size_t i = 0; !result && i < n; i++) {
    struct classes answer = {.lengths = lengths + i * classes};
    result = read_ngrams(model, texts[i], sizes[i], form, &hits, &tokens, unknown ? &unknown_words : NULL);
    if (result) break;
    if (unknown) unknown[i] = (float)unknown_words / (float)tokens;
    ngram_scores(model, &hits, sums, scores);
    result = head_run(model, NULL, scores, scores + classes, &answer);
  }
  hits_free(&hits);
  free(sums);
  free(scores);
  return result;
}

int explain_features(const capsulet_model *model, const char *text, size_t size, int form, const int32_t *wanted_classes, size_t wanted,
                     const struct capsulet_explanation *explanation) {
  size_t classes = (size_t)model->classes;
  struct hits hits = {.keep = true};
  int64_t *sums = reserve(2 * (uint64_t)classes, sizeof *sums);
  int32_t tokens = 0;
  float *scores = reserve(2 * (uint64_t)classes + head_room(model), sizeof *scores);
  int result = sums && scores ? read_ngrams(model, text, size, form, &hits, &tokens, NULL) : CAPSULET_NO_MEMORY;
  float *parts = result ? NULL : reserve((uint64_t)tokens * wanted, sizeof *parts);
  if (!result && !parts) result = CAPSULET_NO_MEMORY;
  if (!result) {
    struct classes answer = {.lengths = scores + classes};
    ngram_scores(model, &hits, sums, scores);
    result = head_run(model, NULL, scores, answer.lengths + classes, &answer);
    ngram_parts(model, &hits, (size_t)tokens, wanted_classes, wanted, parts);
    if (!all_finite(answer.norms, classes) || !all_finite(parts, (uint64_t)tokens * wanted)) result = CAPSULET_DAMAGED;
    if (explanation->lengths) memcpy(explanation->lengths, answer.lengths, classes * sizeof *scores);
    if (explanation->norms) memcpy(explanation->norms, answer.norms, classes * sizeof *scores);
    if (explanation->contributions) memcpy(explanation->contributions, parts, (size_t)tokens * wanted * sizeof *parts);
    if (explanation->ngrams) memcpy(explanation->ngrams, parts, (size_t)tokens * wanted * sizeof *parts);
    for (size_t i = 0; i < wanted; i++) { /* the one primary capsule has nothing but the features */
      if (explanation->coupling) explanation->coupling[i] = 1;
      if (explanation->shares) explanation->shares[i] = 0;
    }
  }
  hits_free(&hits);
  free(sums);
  free(scores);
  free(parts);
  return result;
}
