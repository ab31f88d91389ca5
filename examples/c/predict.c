// Label the texts of the command line:
//   cc -O3 -ffp-contract=off -fno-math-errno -Icore core/*.c examples/c/predict.c -o predict
//   ./predict model/model.safetensors "what a match" "shares fell"
#include "capsulet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
  capsulet_model *model;
  struct capsulet_facts facts;
  char message[CAPSULET_MESSAGE];
  FILE *file = count > 1 ? fopen(words[1], "rb") : NULL;
  if (!file || fseek(file, 0, SEEK_END)) return fputs("usage: predict MODEL TEXT...\n", stderr), 2;
  size_t size = (size_t)ftell(file);
  void *bytes = malloc(size); /* must stay until capsulet_close */
  rewind(file);
  if (!bytes || fread(bytes, 1, size, file) != size) return fputs("the model cannot be read\n", stderr), 2;
  fclose(file);
  if (capsulet_open(bytes, size, CAPSULET_AUTO, &model, message)) return fprintf(stderr, "%s\n", message), 2;
  capsulet_describe(model, &facts);
  float *lengths = malloc((size_t)facts.classes * sizeof *lengths);
  for (int i = 2; i < count; i++) {
    const char *text = words[i];
    size_t text_size = strlen(text), label_size;
    if (!lengths || capsulet_classify(model, &text, &text_size, 1, CAPSULET_TEXT, lengths, NULL)) return 2;
    int32_t best = 0;
    for (int32_t class = 1; class < facts.classes; class++)
      if (lengths[class] > lengths[best]) best = class;
    const char *label = capsulet_label(model, best, &label_size);
    printf("%.*s\t%.6f\t%s\n", (int)label_size, label, lengths[best], text);
  }
  free(lengths);
  capsulet_close(model);
  free(bytes);
  return 0;
}
