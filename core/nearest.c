/* Words with similar codes: by the cosine of their code weights, without the part that all words share. */
#include "core.h"

#include "numbers.h"

/* Weights of a word minus their means, of length one. */
static void centred(const capsulet_model *model, int32_t id, const double *means, size_t codes, float *weights) {
  double square = 0;
  code_weights(model, id, weights);
  for (size_t i = 0; i < codes; i++) {
    weights[i] -= (float)means[i];
    square += (double)weights[i] * (double)weights[i];
  }
  float factor = (float)(1 / __builtin_sqrt(square > 1e-24 ? square : 1e-24));
  for (size_t i = 0; i < codes; i++) weights[i] *= factor;
}

int capsulet_nearest(const capsulet_model *model, int32_t id, int32_t *nearest, size_t *count) {
  size_t codes = (size_t)model->codebooks * (size_t)model->codewords, found = 0, room = *count;
  if (!codes || id < model->first_word || id >= model->vocabulary) return CAPSULET_IMPOSSIBLE;
  double *means = calloc(codes, sizeof *means), *cosines = malloc((room + 1) * sizeof *cosines);
  float *own = malloc(codes * sizeof *own), *other = malloc(codes * sizeof *other);
  int result = means && cosines && own && other ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  if (!result) {
    for (int32_t word = model->first_word; word < model->vocabulary; word++) {
      code_weights(model, word, other);
      for (size_t i = 0; i < codes; i++) means[i] += (double)other[i];
    }
    for (size_t i = 0; i < codes; i++) means[i] /= (double)(model->vocabulary - model->first_word);
    centred(model, id, means, codes, own);
    for (int32_t word = model->first_word; word < model->vocabulary && room; word++) {
      double cosine = 0;
      if (word == id) continue;
      centred(model, word, means, codes, other);
      for (size_t i = 0; i < codes; i++) cosine += (double)own[i] * (double)other[i];
      if (found == room && !(cosine > cosines[found - 1])) continue;
      size_t place = found < room ? found++ : found - 1; /* sorted in, largest first */
      for (; place && cosines[place - 1] < cosine; place--) cosines[place] = cosines[place - 1], nearest[place] = nearest[place - 1];
      cosines[place] = cosine, nearest[place] = word;
    }
    *count = found;
  }
  free(means);
  free(cosines);
  free(own);
  free(other);
  return result;
}
