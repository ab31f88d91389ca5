/* Random divisions of the texts of two samples, for the permutation test of drifting/permutation.py.
 *
 * The texts of both samples lie in K bins. A division takes as many texts as the second sample has, without putting any
 * back: its counts have a multivariate hypergeometric distribution. Bin after bin is drawn from a hypergeometric
 * distribution by inversion. Weights are computed from the mode outwards as products of ratios, without logarithms.
 * There are only sums, products and quotients of doubles: every machine draws the same divisions.
 *
 * The generator (xoshiro256**, Blackman and Vigna 2018) is seeded by the counts: a comparison is reproducible.
 */
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN 0x9E3779B97F4A7C15u
#define NEGLIGIBLE 1e-18               /* weight relative to the mode: smaller ones are left out */
#define MOST_TEXTS ((int64_t)1 << 50)  /* sums and differences of larger numbers would not be exact in doubles */

enum { BLOCK = 64 }; /* divisions between two looks at the signals of the process */

struct generator {
  uint64_t state[4];
};

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t number) {
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

static uint64_t rotated(uint64_t number, int bits) { return number << bits | number >> (64 - bits); }

static uint64_t next(struct generator *generator) {
  uint64_t *state = generator->state, result = rotated(state[1] * 5, 7) * 9, shifted = state[1] << 17;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= shifted;
  state[3] = rotated(state[3], 45);
  return result;
}

/* At least 0 and less than 1. */
static double uniform(struct generator *generator) { return (double)(next(generator) >> 11) * 0x1p-53; }

/* How many of `taken` texts are in a bin of `inside` texts, if `outside` texts are in other bins. */
static int64_t hypergeometric(struct generator *generator, int64_t inside, int64_t outside, int64_t taken) {
  int64_t low = taken > outside ? taken - outside : 0, high = inside < taken ? inside : taken;
  if (low == high) return low;
  int64_t mode = (int64_t)(((double)inside + 1) * ((double)taken + 1) / ((double)inside + (double)outside + 2));
  mode = mode < low ? low : mode > high ? high : mode;
  double in = (double)inside, all = (double)taken, rest = (double)(outside - taken);
  double above = 0, below = 0, weight = 1; /* sums of weights; that of the mode is 1 */
  int64_t highest = mode, lowest = mode;
  while (highest < high && weight > NEGLIGIBLE) {
    double count = (double)highest++;
    above += weight *= (in - count) * (all - count) / ((count + 1) * (rest + count + 1));
  }
  weight = 1;
  while (lowest > low && weight > NEGLIGIBLE) {
    double count = (double)lowest--;
    below += weight *= count * (rest + count) / ((in - count + 1) * (all - count + 1));
  }
  double target = uniform(generator) * (1 + above + below) - 1;
  if (target < 0) return mode;
  int64_t count = mode;
  weight = 1;
  if (target < above) {
    while (target >= 0 && count < highest) {
      double number = (double)count++;
      target -= weight *= (in - number) * (all - number) / ((number + 1) * (rest + number + 1));
    }
    return count;
  }
  target -= above;
  while (target >= 0 && count > lowest) {
    double number = (double)count--;
    target -= weight *= number * (rest + number) / ((in - number + 1) * (all - number + 1));
  }
  return count;
}

struct test {
  struct generator generator;
  size_t bins;              /* K, without empty bins */
  int64_t *both;            /* (K) texts of both samples */
  double *expected;         /* (K) texts of the second sample, if both are alike */
  int64_t *counts;          /* (K) texts of the second sample of a division */
  int64_t all, size;        /* texts of both samples, and of the second one */
  double observed;          /* difference of the two samples */
  int64_t drawn, as_large;  /* divisions, and those that differ at least as much */
  int64_t decided;          /* divisions after which enough were drawn; 0: not yet */
  double moved;             /* sum over the first divisions of the share of texts in other bins */
};

/* Pearson's chi-square of the second sample; that of both is a multiple of it. */
static double statistic(const struct test *test) {
  double sum = 0;
  for (size_t bin = 0; bin < test->bins; bin++) {
    double difference = (double)test->counts[bin] - test->expected[bin];
    sum += difference * difference / test->expected[bin];
  }
  return sum;
}

/* Total variation distance of the two samples: half the sum of differences of shares. */
static double moved(const struct test *test) {
  double first = (double)(test->all - test->size), second = (double)test->size, sum = 0;
  for (size_t bin = 0; bin < test->bins; bin++) {
    double difference = (double)(test->both[bin] - test->counts[bin]) / first - (double)test->counts[bin] / second;
    sum += difference < 0 ? -difference : difference;
  }
  return 0.5 * sum;
}

/* Draws the second sample of a division. The smaller sample takes fewer steps: the other one is what is left. */
static void divide(struct test *test) {
  int64_t first = test->all - test->size, outside = test->all;
  int is_second = test->size <= first;
  int64_t taken = is_second ? test->size : first;
  for (size_t bin = 0; bin < test->bins; bin++) {
    outside -= test->both[bin];
    int64_t count = hypergeometric(&test->generator, test->both[bin], outside, taken);
    taken -= count;
    test->counts[bin] = is_second ? count : test->both[bin] - count;
  }
}

/* Draws at most BLOCK divisions. Returns whether more are needed. */
static int draw(struct test *test, int64_t most, int64_t enough, int64_t first) {
  for (int number = 0; number < BLOCK; number++) {
    divide(test);
    if (test->drawn++ < first) test->moved += moved(test);
    if (!test->decided) {
      if (statistic(test) >= test->observed) test->as_large++;
      if (test->as_large >= enough || test->drawn >= most) test->decided = test->drawn;
    }
    if (test->decided && test->drawn >= first) return 0;
  }
  return 1;
}

/* Reads counts from bytes and leaves out bins that are empty in both samples. Returns what is wrong, or NULL. */
static const char *prepare(struct test *test, const char *reference, const char *new, size_t bins) {
  uint64_t seed = mix(bins + GOLDEN);
  for (size_t bin = 0; bin < bins; bin++) {
    int64_t one, other;
    memcpy(&one, reference + 8 * bin, 8);
    memcpy(&other, new + 8 * bin, 8);
    if (one < 0 || other < 0 || one > MOST_TEXTS || other > MOST_TEXTS) return "a count is negative or too large";
    seed = mix(mix(seed + GOLDEN + (uint64_t)one) + GOLDEN + (uint64_t)other);
    if (one + other == 0) continue;
    test->both[test->bins] = one + other;
    test->counts[test->bins++] = other;
    test->all += one + other;
    test->size += other;
    if (test->all > MOST_TEXTS) return "a count is negative or too large";
  }
  if (test->size == 0 || test->size == test->all) return "a sample is empty";
  for (int place = 0; place < 4; place++) test->generator.state[place] = mix(seed += GOLDEN);
  for (size_t bin = 0; bin < test->bins; bin++)
    test->expected[bin] = (double)test->both[bin] * ((double)test->size / (double)test->all);
  test->observed = statistic(test) * (1 - 1e-9); /* rounding must not make equal divisions smaller */
  return NULL;
}

static PyObject *run(struct test *test, int64_t most, int64_t enough, int64_t first) {
  for (int more = 1; more;) {
    Py_BEGIN_ALLOW_THREADS
    more = draw(test, most, enough, first);
    Py_END_ALLOW_THREADS
    if (PyErr_CheckSignals()) return NULL;
  }
  double mean = first > 0 ? test->moved / (double)first : 0;
  return Py_BuildValue("LLd", (long long)test->decided, (long long)test->as_large, mean);
}

static PyObject *divisions(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *reference, *new, *problem;
  Py_ssize_t size, other_size;
  long long most, enough, first;
  if (!PyArg_ParseTuple(arguments, "y#y#LLL", &reference, &size, &new, &other_size, &most, &enough, &first)) return NULL;
  if (size != other_size || size % 8 != 0) {
    PyErr_SetString(PyExc_ValueError, "expected the same number of 64-bit counts in both samples");
    return NULL;
  }
  size_t bins = (size_t)size / 8, room = bins ? bins : 1;
  struct test test = {.both = calloc(room, sizeof(int64_t)), .expected = calloc(room, sizeof(double)),
                      .counts = calloc(room, sizeof(int64_t))};
  PyObject *result = NULL;
  if (!test.both || !test.expected || !test.counts)
    PyErr_NoMemory();
  else if ((problem = prepare(&test, reference, new, bins)))
    PyErr_SetString(PyExc_ValueError, problem);
  else
    result = run(&test, most, enough, first);
  free(test.both);
  free(test.expected);
  free(test.counts);
  return result;
}

static PyMethodDef methods[] = {
    {"divisions", divisions, METH_VARARGS,
     "Draw divisions of two samples: number, those that differ as much, mean share of texts in other bins."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_permutation", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__permutation(void) { return PyModuleDef_Init(&module); }
