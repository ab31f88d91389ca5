/* Runs a fuzz target on files, without libFuzzer: main FILE... */
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) { /* only libFuzzer mutates */
  (void)data, (void)most;
  return size;
}

int main(int count, char **paths) {
  for (int i = 1; i < count; i++) {
    FILE *file = fopen(paths[i], "rb");
    uint8_t *data = malloc(1 << 20);
    size_t size = file && data ? fread(data, 1, 1 << 20, file) : 0;
    if (!file) return perror(paths[i]), 2;
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
  }
  return 0;
}
