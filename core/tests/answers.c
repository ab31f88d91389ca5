/* Prints every answer of a model for the lines of a text file, in bits: answers MODEL TEXTS [KERNEL]. Builds for other
 * processors and with sanitizers must print the same. */
#include "../core.h"

#include <stdio.h>

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *data = malloc(1 << 24);
  *size = file && data ? fread(data, 1, 1 << 24, file) : 0;
  if (!file) return perror(path), NULL;
  fclose(file);
  char *exact = malloc(*size); /* so that a sanitizer sees reads behind it */
  if (exact && data) memcpy(exact, data, *size);
  free(data);
  return exact;
}

static void print(const char *name, const float *values, size_t count) {
  printf(" %s", name);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], 4);
    printf(" %08x", (unsigned)(bits == 0x80000000 ? 0 : bits));
  }
}

static int explain(const capsulet_model *model, const char *text, size_t size) {
  struct capsulet_facts facts;
  capsulet_describe(model, &facts);
  size_t classes = (size_t)facts.classes, primary = (size_t)facts.primary, room = size + 1;
  struct capsulet_token *tokens = malloc(room * sizeof *tokens);
  size_t count = capsulet_tokenize(model, text, size, CAPSULET_TEXT, tokens, room);
  int32_t *all = malloc(classes * sizeof *all);
  for (size_t i = 0; i < classes; i++) all[i] = (int32_t)i;
  float *lengths = malloc(classes * sizeof(float)), *norms = malloc(classes * sizeof(float));
  float *parts = malloc(count * classes * sizeof(float)), *shares = malloc(primary * classes * sizeof(float));
  struct capsulet_explanation explanation = {.lengths = lengths, .norms = norms, .contributions = parts, .shares = shares};
  int result = capsulet_explain(model, text, size, CAPSULET_TEXT, all, classes, &explanation);
  if (!result) print("explained", lengths, classes), print("norms", norms, classes), print("parts", parts, count * classes), print("shares", shares, primary * classes);
  free(tokens), free(all), free(lengths), free(norms), free(parts), free(shares);
  return result;
}

static int run(const capsulet_model *model, const char *texts, size_t size) {
  struct capsulet_facts facts;
  capsulet_describe(model, &facts);
  size_t classes = (size_t)facts.classes, lines = 0, at = 0;
  const char **starts = malloc((size + 1) * sizeof *starts);
  size_t *sizes = malloc((size + 1) * sizeof *sizes);
  while (at < size) {
    const char *end = memchr(texts + at, '\n', size - at);
    starts[lines] = texts + at;
    sizes[lines] = end ? (size_t)(end - texts) - at : size - at;
    at += sizes[lines++] + 1;
  }
  float *lengths = malloc(lines * classes * sizeof *lengths), *unknown = malloc(lines * sizeof *unknown);
  int result = capsulet_classify(model, starts, sizes, lines, CAPSULET_TEXT, lengths, unknown);
  for (size_t line = 0; !result && line < lines; line++) {
    printf("%zu", line);
    print("lengths", lengths + line * classes, classes);
    print("unknown", unknown + line, 1);
    result = explain(model, starts[line], sizes[line]);
    puts("");
  }
  free(starts), free(sizes), free(lengths), free(unknown);
  return result;
}

int main(int count, char **words) {
  static const char *const kernels[] = {"avx512vnni", "avx512", "avxvnni", "avx2", "neon-dotprod", "neon", "wasm-simd128", "plain"};
  size_t size, texts_size;
  if (count < 3) return 2;
  void *bytes = read_file(words[1], &size);
  char *texts = read_file(words[2], &texts_size);
  int result = bytes && texts ? 0 : 2;
  for (int precision = CAPSULET_FLOAT32; !result && precision <= CAPSULET_INT8; precision++)
    for (size_t kernel = 0; !result && kernel < sizeof kernels / sizeof *kernels; kernel++) {
      capsulet_model *model;
      char message[CAPSULET_MESSAGE];
      if (count > 3 && strcmp(words[3], kernels[kernel])) continue;
      result = capsulet_open(bytes, size, precision, &model, message);
      if (result) {
        fprintf(stderr, "%s: %s\n", words[1], message);
        break;
      }
      if (!capsulet_choose_kernel(model, kernels[kernel])) {
        printf("kernel %s %s\n", kernels[kernel], precision == CAPSULET_INT8 ? "int8" : "float32");
        result = run(model, texts, texts_size);
      }
      capsulet_close(model);
    }
  free(bytes);
  free(texts);
  return result ? 1 : 0;
}
