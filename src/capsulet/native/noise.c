/* Dropout in one pass over the values; its random numbers are hashes of their position (model/noise.py explains why).
 *
 * Each row of `width` values has its own random bytes, eight per hash; a value is dropped if its byte is below the
 * threshold. Backward is the same call on gradients, so nothing has to be kept.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define GOLDEN 0x9E3779B97F4A7C15u

/* The finaliser of splitmix64. */
static inline uint64_t mix(uint64_t number) {
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

/* One copy per instruction set if the toolchain supports it; loading the module picks the best one for the processor. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define EVERY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define EVERY_PROCESSOR
#endif

enum { BLOCK = 64 }; /* hashes at a time: their bytes stay in the first-level cache */

EVERY_PROCESSOR static void drop(const float *values, float *results, const int64_t *keys, int64_t texts, int64_t rows,
                                 int64_t width, uint64_t purpose, int threshold) {
  float scale = 256.0f / (float)(256 - threshold);
  uint8_t bytes[8 * BLOCK];
  for (int64_t text = 0; text < texts; text++) {
    uint64_t position = mix((uint64_t)keys[text] ^ purpose << 32);
    for (int64_t row = 0; row < rows; row++, values += width, results += width)
      for (int64_t first = 0; first < width; first += 8 * BLOCK) {
        int64_t count = width - first < 8 * BLOCK ? width - first : 8 * BLOCK;
        for (int64_t eight = 0; 8 * eight < count; eight++) {
          uint64_t number = mix(position += GOLDEN);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
          number = __builtin_bswap64(number);
#endif
          memcpy(bytes + 8 * eight, &number, 8);
        }
        for (int64_t i = 0; i < count; i++) results[first + i] = values[first + i] * ((int)bytes[i] >= threshold ? scale : 0.0f);
      }
  }
}

static PyObject *dropout(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t values, results, keys, texts, rows, width, purpose;
  int threshold;
  if (!PyArg_ParseTuple(arguments, "nnnnnnni", &values, &results, &keys, &texts, &rows, &width, &purpose, &threshold))
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  drop((const float *)values, (float *)results, (const int64_t *)keys, texts, rows, width, (uint64_t)purpose, threshold);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"dropout", dropout, METH_VARARGS, "Values with some of them zero and the others larger for it."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_noise", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__noise(void) { return PyModule_Create(&module); }
