/* Rows of words from a table, their gradients, and a step of row-wise Adam, on plain float buffers.
 *
 * Word u has its own row o_u of the table and c_u pieces, which have rows p_ui. With f_u = 1 if the own row is read and 0
 * otherwise:
 *
 *   r_u = f_u table[o_u] + sum_i table[p_ui] / c_u
 *
 * This is the product of a sparse matrix of terms (word, row, weight) with the table, and the gradient of the table is the
 * product of its transpose with the gradients of r. The transpose is made by sorting the terms by row. The result then has
 * each row once and in order, and the work does not depend on the size of the table. A term of weight 0 has a row in the
 * result, too: Adam counts its steps. The sort is stable, so every sum adds in the order of the words.
 *
 * One thread computes everything: the rows of a batch take a few tenths of a millisecond.
 *
 * Only headers of Python and the system are used: pointers are passed as integers, and the caller checks their sizes. Numbers
 * of rows are checked here.
 */
#include "instruction_sets.h"

#include <math.h>
#include <stdlib.h>

struct term {
  int64_t from; /* row of the matrix that is summed */
  float weight;
};

/* A term of the sparse matrix. */
struct entry {
  int64_t row;
  struct term term; /* from: the word */
};

struct words {
  int64_t count, pieces, width, table_rows; /* U, number of all pieces, W, rows of the table */
  const int64_t *own;                       /* (U) */
  const unsigned char *reads_own;           /* (U), 0 or 1 */
  const int64_t *starts;                    /* (U + 1) first piece of each word */
  const int64_t *rows;                      /* (pieces) */
};

struct adam {
  float rate, mean_weight, square_decay, square_weight, epsilon;
};

#if defined(__x86_64__)
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define LANES 16
#define ROOT(x) (VECTOR) _mm512_sqrt_ps((__m512)(x))
#include "rows_kernel.h"

#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROOT(x) (VECTOR) _mm256_sqrt_ps((__m256)(x))
#include "rows_kernel.h"
#endif

#define NAME(x) x##_portable
#define TARGET
#define LANES 4
typedef float roots __attribute__((vector_size(16)));
static inline roots root_portable(roots x) { return (roots){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])}; }
#define ROOT(x) (VECTOR) root_portable((roots)(x))
#include "rows_kernel.h"

static const struct {
  void (*weighted_sum)(float *, const float *, const struct term *, int64_t, int64_t);
  void (*adam_row)(const struct adam *, float *, float *, float *, const float *, float, float, int64_t);
} kernels[] = {
#if defined(__x86_64__)
    {weighted_sum_avx512, adam_row_avx512},
    {weighted_sum_avx2, adam_row_avx2},
#endif
    {weighted_sum_portable, adam_row_portable},
};

/* ---- the rows of words ---- */

/* Whether all rows are in the table; if not, IndexError. */
static int check_rows(const int64_t *rows, int64_t count, int64_t table_rows) {
  for (int64_t i = 0; i < count; i++)
    if (rows[i] < 0 || rows[i] >= table_rows) {
      PyErr_Format(PyExc_IndexError, "row %lld of a table of %lld rows", (long long)rows[i], (long long)table_rows);
      return 0;
    }
  return 1;
}

/* Whether the rows of all words are in the table and the starts of their pieces in order; if not, IndexError. */
static int check_words(const struct words *words) {
  if (!check_rows(words->own, words->count, words->table_rows)) return 0;
  int ordered = words->starts[0] == 0 && words->starts[words->count] == words->pieces;
  for (int64_t u = 0; u < words->count; u++) ordered &= words->starts[u] <= words->starts[u + 1];
  if (!ordered) PyErr_SetString(PyExc_IndexError, "the starts of the pieces are not in order");
  return ordered && check_rows(words->rows, words->pieces, words->table_rows);
}

/* The terms of all words, by word: one for the own row and one per piece. */
static void list_terms(const struct words *words, struct entry *entries) {
  for (int64_t u = 0; u < words->count; u++) {
    *entries++ = (struct entry){words->own[u], {u, words->reads_own[u] ? 1.0f : 0.0f}};
    int64_t first = words->starts[u], end = words->starts[u + 1];
    for (int64_t i = first; i < end; i++) *entries++ = (struct entry){words->rows[i], {u, 1.0f / (float)(end - first)}};
  }
}

static void compose_rows(const struct words *words, const float *table, float *results, struct term *terms) {
  for (int64_t u = 0; u < words->count; u++) {
    int64_t count = 0, first = words->starts[u], end = words->starts[u + 1];
    if (words->reads_own[u]) terms[count++] = (struct term){words->own[u], 1.0f};
    for (int64_t i = first; i < end; i++) terms[count++] = (struct term){words->rows[i], 1.0f / (float)(end - first)};
    kernels[chosen].weighted_sum(results + u * words->width, table, terms, count, words->width);
  }
}

enum { DIGIT = 11 }; /* bits per pass of the sort */

/* Sorts entries by row and keeps the order of equal rows; returns where the result is, `entries` or `spare`. */
static struct entry *sort_by_row(struct entry *entries, struct entry *spare, int64_t count, int64_t table_rows) {
  for (int shift = 0; shift < 63 && (table_rows - 1) >> shift > 0; shift += DIGIT) {
    int64_t places[1 << DIGIT] = {0}, place = 0;
    for (int64_t i = 0; i < count; i++) places[entries[i].row >> shift & ((1 << DIGIT) - 1)]++;
    for (int64_t digit = 0; digit < 1 << DIGIT; digit++) {
      int64_t number = places[digit];
      places[digit] = place;
      place += number;
    }
    for (int64_t i = 0; i < count; i++) spare[places[entries[i].row >> shift & ((1 << DIGIT) - 1)]++] = entries[i];
    struct entry *sorted = spare;
    spare = entries;
    entries = sorted;
  }
  return entries;
}

/* Distinct rows and their gradients; returns how many there are. `terms` has room for all entries. */
static int64_t sum_by_row(const struct entry *entries, int64_t count, const float *gradients, int64_t width,
                          struct term *terms, int64_t *rows, float *values) {
  int64_t found = 0;
  for (int64_t first = 0, end; first < count; first = end, found++) {
    for (end = first; end < count && entries[end].row == entries[first].row; end++) terms[end - first] = entries[end].term;
    rows[found] = entries[first].row;
    kernels[chosen].weighted_sum(values + found * width, gradients, terms, end - first, width);
  }
  return found;
}

/* ---- Adam ---- */

/* base^exponent by squaring: the same on every machine. */
static double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

/* ---- the module ---- */

#define WORDS "(nnnn)(nnnn)"

struct arguments {
  Py_ssize_t count, pieces, width, table_rows, own, reads_own, starts, rows;
};

#define WORDS_OF(x) &x.count, &x.pieces, &x.width, &x.table_rows, &x.own, &x.reads_own, &x.starts, &x.rows

static struct words words_of(const struct arguments *from) {
  return (struct words){
      .count = from->count,
      .pieces = from->pieces,
      .width = from->width,
      .table_rows = from->table_rows,
      .own = (const int64_t *)from->own,
      .reads_own = (const unsigned char *)from->reads_own,
      .starts = (const int64_t *)from->starts,
      .rows = (const int64_t *)from->rows,
  };
}

static PyObject *compose(PyObject *self, PyObject *arguments) {
  (void)self;
  struct arguments shared;
  Py_ssize_t table, results;
  if (!PyArg_ParseTuple(arguments, WORDS "nn", WORDS_OF(shared), &table, &results)) return NULL;
  struct words words = words_of(&shared);
  if (!check_words(&words)) return NULL;
  struct term *terms = malloc((size_t)(words.pieces + 1) * sizeof *terms);
  if (!terms) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS
  compose_rows(&words, (const float *)table, (float *)results, terms);
  Py_END_ALLOW_THREADS
  free(terms);
  Py_RETURN_NONE;
}

static PyObject *add_gradients(PyObject *self, PyObject *arguments) {
  (void)self;
  struct arguments shared;
  Py_ssize_t gradients, rows, values;
  if (!PyArg_ParseTuple(arguments, WORDS "nnn", WORDS_OF(shared), &gradients, &rows, &values)) return NULL;
  struct words words = words_of(&shared);
  if (!check_words(&words)) return NULL;
  int64_t count = words.count + words.pieces, found;
  struct entry *entries = malloc(2 * (size_t)(count + 1) * sizeof *entries);
  struct term *terms = malloc((size_t)(count + 1) * sizeof *terms);
  if (!entries || !terms) {
    free(entries);
    free(terms);
    return PyErr_NoMemory();
  }
  Py_BEGIN_ALLOW_THREADS
  list_terms(&words, entries);
  const struct entry *sorted = sort_by_row(entries, entries + count, count, words.table_rows);
  found = sum_by_row(sorted, count, (const float *)gradients, words.width, terms, (int64_t *)rows, (float *)values);
  Py_END_ALLOW_THREADS
  free(entries);
  free(terms);
  return PyLong_FromLongLong(found);
}

static PyObject *adam(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t count, width, table_rows, rows_at, gradients, table, mean, square, steps_at;
  double rate, beta1, beta2, epsilon;
  if (!PyArg_ParseTuple(arguments, "(nnn)nn(nnnn)(dddd)", &count, &width, &table_rows, &rows_at, &gradients, &table, &mean,
                        &square, &steps_at, &rate, &beta1, &beta2, &epsilon))
    return NULL;
  const int64_t *rows = (const int64_t *)rows_at;
  float *steps = (float *)steps_at;
  struct adam settings = {(float)rate, (float)(1 - beta1), (float)beta2, (float)(1 - beta2), (float)epsilon};
  if (!check_rows(rows, count, table_rows)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  for (int64_t i = 0; i < count; i++) {
    int64_t start = rows[i] * width, step = (int64_t)(steps[rows[i]] += 1);
    /* the powers are rounded as torch rounds them */
    float mean_bias = 1 - (float)power((float)beta1, step), square_bias = 1 - (float)power((float)beta2, step);
    kernels[chosen].adam_row(&settings, (float *)table + start, (float *)mean + start, (float *)square + start,
                             (const float *)gradients + i * width, 1 / mean_bias, 1 / square_bias, width);
  }
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"compose", compose, METH_VARARGS, "Rows of words."},
    {"add_gradients", add_gradients, METH_VARARGS, "Distinct rows of the table and their gradients; returns their number."},
    {"adam", adam, METH_VARARGS, "One step of Adam for some rows of a table."},
    INSTRUCTION_SET_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_rows", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__rows(void) {
  choose_best();
  return PyModule_Create(&module);
}
