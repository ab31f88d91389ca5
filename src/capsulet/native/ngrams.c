/* Fits the table of n-gram features: counts the features of texts, writes them as a sparse matrix, and solves one logistic
 * regression per class. Features are those of core/ngrams.h. Pointers come from Python as integers. Part of the module _core. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <math.h>

#include "ngrams.h"

/* Texts as numbers of words; word i has the letters from ends[i - 1] to ends[i]. */
struct texts {
  const int32_t *ids;
  const int64_t *starts, *rows; /* of the ids of each text; numbers of the texts to read */
  int64_t count;                /* of rows */
  const char *letters;
  const int64_t *ends;
  int32_t pieces;
};

static void read_features(const struct texts *texts, int64_t place, ngram_emitter *emit, void *to) {
  struct ngrams reader = {.pieces = texts->pieces, .to = to};
  struct word word;
  int64_t row = texts->rows[place];
  for (int64_t at = texts->starts[row]; at < texts->starts[row + 1]; at++) {
    int64_t id = texts->ids[at], start = id ? texts->ends[id - 1] : 0, size = texts->ends[id] - start;
    word.size = (uint32_t)(size > LONGEST_WORD ? 0 : size); /* 0: no word, or one that is too long to have features */
    memcpy(word.letters, texts->letters + start, word.size);
    ngram_word(&reader, &word, emit);
  }
  ngram_end(&reader, emit);
}

/* ---- features that occur in several texts ---- */

struct entry {
  uint64_t hash;
  uint32_t texts, last; /* number of texts; number of the last of them plus 1, 0 in an empty slot */
};

struct counter {
  struct entry *slots;
  uint64_t mask, used, most;
  uint32_t text, dropped; /* number of the text plus 1; entries of at most this many texts have been dropped */
  bool failed;
};

static struct entry *slot_of(struct counter *counter, uint64_t hash) {
  uint64_t slot = hash ^ hash >> 29;
  while (counter->slots[slot & counter->mask].last && counter->slots[slot & counter->mask].hash != hash) slot++;
  return &counter->slots[slot & counter->mask];
}

/* Makes room: more slots, or from `most` entries on by dropping the rarest (lossy counting, Manku and Motwani 2002). */
static bool make_room(struct counter *counter) {
  uint64_t slots = counter->mask + 1;
  struct entry *old = counter->slots;
  if (counter->used >= counter->most) counter->dropped++;
  else counter->mask = 2 * slots - 1;
  counter->slots = calloc(counter->mask + 1, sizeof *counter->slots);
  if (!counter->slots) {
    counter->slots = old;
    return false;
  }
  counter->used = 0;
  for (uint64_t slot = 0; slot < slots; slot++)
    if (old[slot].last && old[slot].texts > counter->dropped) {
      *slot_of(counter, old[slot].hash) = old[slot];
      counter->used++;
    }
  free(old);
  return true;
}

static void count_feature(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  (void)first, (void)tokens;
  struct counter *counter = to;
  struct entry *entry = slot_of(counter, hash);
  if (entry->last) {
    entry->texts += entry->last != counter->text;
    entry->last = counter->text;
    return;
  }
  while (!counter->failed && (counter->used >= counter->most || 2 * counter->used > counter->mask)) {
    counter->failed = !make_room(counter);
    entry = slot_of(counter, hash);
  }
  if (counter->failed) return;
  *entry = (struct entry){hash, counter->dropped + 1, counter->text};
  counter->used++;
}

#define TEXTS "nnnnnni"
#define TEXTS_OF(texts) &ids, &starts, &rows, &(texts).count, &letters, &ends, &(texts).pieces
#define POINTERS(texts) \
  (texts).ids = (const int32_t *)ids, (texts).starts = (const int64_t *)starts, (texts).rows = (const int64_t *)rows, \
  (texts).letters = (const char *)letters, (texts).ends = (const int64_t *)ends

static PyObject *count(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t ids, starts, rows, letters, ends, most;
  int least;
  struct texts texts;
  struct counter counter = {.mask = (1 << 16) - 1};
  if (!PyArg_ParseTuple(arguments, TEXTS "in", TEXTS_OF(texts), &least, &most)) return NULL;
  POINTERS(texts);
  counter.most = (uint64_t)most;
  counter.slots = calloc(counter.mask + 1, sizeof *counter.slots);
  counter.failed = !counter.slots;
  uint64_t found = 0;
  Py_BEGIN_ALLOW_THREADS
  for (int64_t place = 0; place < texts.count && !counter.failed; place++) {
    counter.text = (uint32_t)place + 1;
    read_features(&texts, place, count_feature, &counter);
  }
  for (uint64_t slot = 0; !counter.failed && slot <= counter.mask; slot++)
    found += counter.slots[slot].last && counter.slots[slot].texts >= (uint32_t)least;
  Py_END_ALLOW_THREADS
  PyObject *hashes = counter.failed ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(found * sizeof(uint64_t)));
  PyObject *counts = hashes ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(found * sizeof(uint32_t))) : NULL;
  if (counts) {
    char *hash_at = PyBytes_AsString(hashes), *count_at = PyBytes_AsString(counts);
    for (uint64_t slot = 0; slot <= counter.mask; slot++)
      if (counter.slots[slot].last && counter.slots[slot].texts >= (uint32_t)least) {
        memcpy(hash_at, &counter.slots[slot].hash, sizeof(uint64_t)), hash_at += sizeof(uint64_t);
        memcpy(count_at, &counter.slots[slot].texts, sizeof(uint32_t)), count_at += sizeof(uint32_t);
      }
  }
  free(counter.slots);
  if (counts) return Py_BuildValue("NN", hashes, counts);
  Py_XDECREF(hashes);
  return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* ---- sparse matrices: the features of each text ---- */

struct matrix {
  uint32_t *columns; /* of all texts, one after the other */
  uint8_t *times;    /* how often the text has the feature, at most MOST_TIMES */
  uint64_t count, room;
  uint64_t *last; /* per column: its last place in `columns` plus 1 */
  uint64_t start; /* of the text */
  bool failed;
  /* either the hashes of known features, */
  const uint64_t *hashes;
  uint32_t *slots; /* number of a hash plus 1, or 0 */
  uint64_t mask;
  /* or the checks of a table */
  const uint8_t *checks;
  uint32_t rows;
};

static void note_column(struct matrix *matrix, uint64_t column) {
  if (matrix->failed) return;
  if (matrix->last[column] > matrix->start) {
    uint8_t *times = matrix->times + matrix->last[column] - 1;
    *times = (uint8_t)(*times < MOST_TIMES ? *times + 1 : *times);
    return;
  }
  if (matrix->count == matrix->room) {
    uint64_t room = matrix->room ? 2 * matrix->room : 1 << 16;
    uint32_t *columns = realloc(matrix->columns, room * sizeof *columns);
    if (columns) matrix->columns = columns;
    uint8_t *times = realloc(matrix->times, room);
    if (times) matrix->times = times;
    matrix->failed = !columns || !times;
    if (matrix->failed) return;
    matrix->room = room;
  }
  matrix->times[matrix->count] = 1;
  matrix->columns[matrix->count++] = (uint32_t)column;
  matrix->last[column] = matrix->count;
}

static void note_feature(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  (void)first, (void)tokens;
  struct matrix *matrix = to;
  for (uint64_t slot = hash ^ hash >> 29; matrix->slots[slot & matrix->mask]; slot++) {
    uint32_t column = matrix->slots[slot & matrix->mask] - 1;
    if (matrix->hashes[column] == hash) {
      note_column(matrix, column);
      return;
    }
  }
}

static void note_row(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  (void)first, (void)tokens;
  struct matrix *matrix = to;
  struct ngram_place place = ngram_place(hash, matrix->rows);
  for (int i = 0; i < 2; i++)
    if (matrix->checks[place.rows[i]] == place.check) {
      note_column(matrix, 2 * (uint64_t)place.rows[i] + (hash & 1));
      return;
    }
}

/* Starts of the texts (n + 1), columns and times, as bytes; frees the matrix. */
static PyObject *read_matrix(const struct texts *texts, struct matrix *matrix, ngram_emitter *emit) {
  PyObject *starts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((uint64_t)(texts->count + 1) * sizeof(int64_t))), *columns = NULL, *times = NULL;
  if (starts && !matrix->failed) {
    int64_t *to = (int64_t *)(void *)PyBytes_AsString(starts);
    to[0] = 0;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t place = 0; place < texts->count && !matrix->failed; place++) {
      matrix->start = matrix->count;
      read_features(texts, place, emit, matrix);
      to[place + 1] = (int64_t)matrix->count;
    }
    Py_END_ALLOW_THREADS
    if (!matrix->failed)
      columns = PyBytes_FromStringAndSize((const char *)matrix->columns, (Py_ssize_t)(matrix->count * sizeof *matrix->columns));
    if (columns) times = PyBytes_FromStringAndSize((const char *)matrix->times, (Py_ssize_t)matrix->count);
  }
  free(matrix->columns);
  free(matrix->times);
  free(matrix->last);
  free(matrix->slots);
  if (times) return Py_BuildValue("NNN", starts, columns, times);
  Py_XDECREF(starts);
  Py_XDECREF(columns);
  return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static PyObject *features(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t ids, starts, rows, letters, ends, hashes, number;
  struct texts texts;
  if (!PyArg_ParseTuple(arguments, TEXTS "nn", TEXTS_OF(texts), &hashes, &number)) return NULL;
  POINTERS(texts);
  struct matrix matrix = {.hashes = (const uint64_t *)hashes, .mask = 1};
  while (matrix.mask < 2 * (uint64_t)number) matrix.mask = 2 * matrix.mask + 1;
  matrix.slots = calloc(matrix.mask + 1, sizeof *matrix.slots);
  matrix.last = calloc((size_t)number + 1, sizeof *matrix.last);
  matrix.failed = !matrix.slots || !matrix.last;
  for (uint32_t column = 0; !matrix.failed && column < (uint64_t)number; column++) {
    uint64_t slot = matrix.hashes[column] ^ matrix.hashes[column] >> 29;
    while (matrix.slots[slot & matrix.mask]) slot++;
    matrix.slots[slot & matrix.mask] = column + 1;
  }
  return read_matrix(&texts, &matrix, note_feature);
}

static PyObject *table_rows(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t ids, starts, rows, letters, ends, checks, number;
  struct texts texts;
  if (!PyArg_ParseTuple(arguments, TEXTS "nn", TEXTS_OF(texts), &checks, &number)) return NULL;
  POINTERS(texts);
  struct matrix matrix = {.checks = (const uint8_t *)checks, .rows = (uint32_t)number};
  matrix.last = calloc(2 * (size_t)number + 1, sizeof *matrix.last);
  matrix.failed = !matrix.last;
  return read_matrix(&texts, &matrix, note_row);
}

/* ---- rows of the codes of pieces ---- */

struct rows {
  int64_t *rows;
  uint64_t count, room;
  uint32_t table;
  bool failed;
};

static void note_code(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  (void)first, (void)tokens;
  struct rows *rows = to;
  if (rows->count == rows->room) {
    uint64_t room = rows->room ? 2 * rows->room : 1 << 14;
    int64_t *longer = realloc(rows->rows, room * sizeof *longer);
    rows->failed = rows->failed || !longer;
    if (!longer) return;
    rows->rows = longer, rows->room = room;
  }
  rows->rows[rows->count++] = code_row(hash, rows->table);
}

static PyObject *piece_rows(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t words, number, letters, ends, table;
  int longest;
  if (!PyArg_ParseTuple(arguments, "nnnnin", &words, &number, &letters, &ends, &longest, &table)) return NULL;
  PyObject *starts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((size_t)(number + 1) * sizeof(int64_t))), *found = NULL;
  if (!starts) return NULL;
  int64_t *start = (int64_t *)(void *)PyBytes_AsString(starts);
  struct rows rows = {.table = (uint32_t)table};
  start[0] = 0;
  for (Py_ssize_t i = 0; i < number; i++) {
    int64_t word = ((const int64_t *)words)[i], first = word ? ((const int64_t *)ends)[word - 1] : 0;
    int64_t size = ((const int64_t *)ends)[word] - first;
    struct ngrams reader = {.pieces = longest, .to = &rows};
    code_pieces(&reader, (const char *)letters + first, (uint32_t)(size < LONGEST_WORD ? size : LONGEST_WORD), note_code);
    start[i + 1] = (int64_t)rows.count;
  }
  if (!rows.failed) found = PyBytes_FromStringAndSize((const char *)rows.rows, (Py_ssize_t)(rows.count * sizeof *rows.rows));
  free(rows.rows);
  if (found) return Py_BuildValue("NN", starts, found);
  Py_DECREF(starts);
  return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* What a feature counts by its occurrences (MOST_TIMES + 1). */
static PyObject *count_factors(PyObject *self, PyObject *arguments) {
  (void)self, (void)arguments;
  float factors[MOST_TIMES + 1] = {0};
  for (uint32_t times = 1; times <= MOST_TIMES; times++) factors[times] = (float)ngram_factor(times) / 16;
  return PyBytes_FromStringAndSize((const char *)factors, sizeof factors);
}

/* ---- logistic regression ---- */

struct problem { /* texts as sparse rows; columns below `pieces` are words and pairs, the others pieces of words */
  const int64_t *starts;
  const uint32_t *columns;
  int64_t texts, pieces, classes;
  const float *weights; /* per column: the value of the feature before its text is divided by its norm; 0: none */
  const uint8_t *times; /* how often a text has each feature */
  const float *factors; /* (MOST_TIMES + 1) of the value, by these times */
};

/* 1 / norm of the factors of a text, of words and pairs, and of pieces. */
static void divisors(const struct problem *problem, int64_t text, float under[2]) {
  float squares[2] = {0, 0};
  for (int64_t at = problem->starts[text]; at < problem->starts[text + 1]; at++) {
    float factor = problem->factors[problem->times[at]];
    squares[problem->columns[at] >= problem->pieces] += problem->weights[problem->columns[at]] > 0 ? factor * factor : 0;
  }
  for (int block = 0; block < 2; block++) under[block] = squares[block] > 0 ? 1 / sqrtf(squares[block]) : 0;
}

static float value_at(const struct problem *problem, int64_t at, const float under[2]) {
  uint32_t column = problem->columns[at];
  return problem->weights[column] * problem->factors[problem->times[at]] * under[column >= problem->pieces];
}

/* Scores (classes) of a text and the square of its norm, without the constant. */
static float score(const struct problem *problem, int64_t text, const float under[2], const float *table, const float *bias, float *scores) {
  int64_t classes = problem->classes, end = problem->starts[text + 1];
  float square = 0;
  for (int64_t class = 0; class < classes; class++) scores[class] = bias[class];
  for (int64_t at = problem->starts[text]; at < end; at++) {
    if (at + 8 < end) __builtin_prefetch(table + problem->columns[at + 8] * classes);
    const float *row = table + problem->columns[at] * classes;
    float value = value_at(problem, at, under);
    square += value * value;
    for (int64_t class = 0; class < classes; class++) scores[class] += value * row[class];
  }
  return square;
}

/* The new dual variable in (0, cost): the root of square (z - old) + margin + log(z / (cost - z)), by Newton's method on the
 * logit of z / cost, kept inside a bracket. */
static float solve(float square, float margin, float old, float cost) {
  float low = -margin - square * (cost - old), high = -margin + square * old, share = old / cost;
  share = share < 1e-6f ? 1e-6f : share > 1 - 1e-6f ? 1 - 1e-6f : share;
  float logit = logf(share / (1 - share));
  logit = logit < low ? low : logit > high ? high : logit;
  for (int step = 0; step < 12; step++) {
    float part = 1 / (1 + expf(-logit)), slope = square * (cost * part - old) + margin + logit;
    if (slope > 0) high = logit;
    else low = logit;
    float next = logit - slope / (square * cost * part * (1 - part) + 1);
    if (!(next > low && next < high)) next = 0.5f * (low + high);
    float change = next - logit;
    logit = next;
    if (change < 1e-3f && change > -1e-3f) break;
  }
  return cost / (1 + expf(-logit));
}

struct fit {
  const int64_t *order; /* of the texts to read */
  int64_t count;
  const int64_t *label_starts;
  const int32_t *labels;
  const float *costs;
  int shared;
  float constant; /* square of the value of the feature that all texts have, whose weights are the bias */
  float *table, *bias, *duals;
  const float *priors; /* variances (F, C) of the weights before the fit; NULL: all are 1 */
  const float *worth;  /* (n): factor of the costs of each text; NULL: all are 1 */
  const float *bases;  /* (n, C): scores that the fit starts from and does not change; NULL: all are 0 */
};

/* One pass of dual coordinate descent (Yu, Huang and Lin 2011) over texts in the order given, for every class at once: a text of
 * the class against all others. Returns the mean change per text of its dual variables, relative to their range. */
static double descend(const struct problem *problem, const struct fit *fit, float *room) {
  int64_t classes = problem->classes;
  float *scores = room, *changes = room + classes, *squares = room + 2 * classes;
  double moved = 0;
  for (int64_t place = 0; place < fit->count; place++) {
    int64_t text = fit->order[place], labels_end = fit->label_starts[text + 1];
    float under[2], *own = fit->duals + text * classes;
    divisors(problem, text, under);
    float square = score(problem, text, under, fit->table, fit->bias, scores), worth = fit->worth ? fit->worth[text] : 1;
    for (int64_t class = 0; fit->bases && class < classes; class++) scores[class] += fit->bases[text * classes + class];
    for (int64_t class = 0; class < classes; class++) squares[class] = fit->constant + (fit->priors ? 0 : square);
    for (int64_t at = problem->starts[text]; fit->priors && at < problem->starts[text + 1]; at++) {
      const float *prior = fit->priors + problem->columns[at] * classes;
      float value = value_at(problem, at, under), own_square = value * value;
      for (int64_t class = 0; class < classes; class++) squares[class] += own_square * prior[class];
    }
    for (int64_t class = 0; class < classes; class++) changes[class] = -1;
    for (int64_t at = fit->label_starts[text]; at < labels_end; at++) changes[fit->labels[at]] = 1;
    for (int64_t class = 0; class < classes; class++) {
      float sign = changes[class];
      if (!(squares[class] > 0)) {
        changes[class] = 0;
        continue;
      }
      /* single-label: every class costs what the class of the text costs; multi-label: only its labels do */
      float cost = worth * fit->costs[fit->shared ? fit->labels[fit->label_starts[text]] : sign > 0 ? class : classes];
      float next = solve(squares[class], sign * scores[class], own[class], cost);
      moved += fabs((double)(next - own[class]) / (double)cost);
      changes[class] = sign * (next - own[class]);
      own[class] = next;
      fit->bias[class] += fit->constant * changes[class];
    }
    for (int64_t at = problem->starts[text]; at < problem->starts[text + 1]; at++) {
      float *row = fit->table + problem->columns[at] * classes, value = value_at(problem, at, under);
      const float *prior = fit->priors ? fit->priors + problem->columns[at] * classes : NULL;
      if (prior)
        for (int64_t class = 0; class < classes; class++) row[class] += value * prior[class] * changes[class];
      else
        for (int64_t class = 0; class < classes; class++) row[class] += value * changes[class];
    }
  }
  return moved / (double)fit->count;
}

#define PROBLEM "nnnnnnnn"
#define PROBLEM_OF(problem) &starts, &columns, &(problem).texts, &(problem).pieces, &(problem).classes, &weights, &times, &factors
#define PROBLEM_POINTERS(problem) \
  (problem).starts = (const int64_t *)starts, (problem).columns = (const uint32_t *)columns, (problem).weights = (const float *)weights, \
  (problem).times = (const uint8_t *)times, (problem).factors = (const float *)factors

static PyObject *fit_pass(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t starts, columns, weights, times, factors, order, label_starts, labels, costs, table, bias, duals, priors, worth, bases;
  struct problem problem;
  struct fit fit;
  if (!PyArg_ParseTuple(arguments, PROBLEM "nnnnnifnnnnnn", PROBLEM_OF(problem), &order, &fit.count, &label_starts, &labels, &costs, &fit.shared,
                        &fit.constant, &table, &bias, &duals, &priors, &worth, &bases))
    return NULL;
  PROBLEM_POINTERS(problem);
  fit.priors = (const float *)priors, fit.worth = (const float *)worth, fit.bases = (const float *)bases;
  fit.order = (const int64_t *)order, fit.label_starts = (const int64_t *)label_starts, fit.labels = (const int32_t *)labels;
  fit.costs = (const float *)costs, fit.table = (float *)table, fit.bias = (float *)bias, fit.duals = (float *)duals;
  float *room = malloc(3 * (size_t)problem.classes * sizeof *room);
  if (!room) return PyErr_NoMemory();
  double moved;
  Py_BEGIN_ALLOW_THREADS
  moved = descend(&problem, &fit, room);
  Py_END_ALLOW_THREADS
  free(room);
  return PyFloat_FromDouble(moved);
}

/* Texts (F, C + 2) of each feature, among the texts given: with each class, without a class, and all. */
static PyObject *class_counts(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t starts, columns, weights, times, factors, rows, label_starts, labels, results;
  int64_t count;
  struct problem problem;
  if (!PyArg_ParseTuple(arguments, PROBLEM "nnnnn", PROBLEM_OF(problem), &rows, &count, &label_starts, &labels, &results)) return NULL;
  PROBLEM_POINTERS(problem);
  Py_BEGIN_ALLOW_THREADS
  for (int64_t place = 0; place < count; place++) {
    int64_t text = ((const int64_t *)rows)[place], first = ((const int64_t *)label_starts)[text];
    int64_t end = ((const int64_t *)label_starts)[text + 1];
    for (int64_t at = problem.starts[text]; at < problem.starts[text + 1]; at++) {
      float *counts = (float *)results + problem.columns[at] * (problem.classes + 2);
      for (int64_t label = first; label < end; label++) counts[((const int32_t *)labels)[label]]++;
      counts[problem.classes] += first == end;
      counts[problem.classes + 1]++;
    }
  }
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyObject *scores_of(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t starts, columns, weights, times, factors, rows, table, bias, results;
  int64_t count;
  struct problem problem;
  if (!PyArg_ParseTuple(arguments, PROBLEM "nnnnn", PROBLEM_OF(problem), &rows, &count, &table, &bias, &results)) return NULL;
  PROBLEM_POINTERS(problem);
  Py_BEGIN_ALLOW_THREADS
  for (int64_t place = 0; place < count; place++) {
    int64_t text = ((const int64_t *)rows)[place];
    float under[2];
    divisors(&problem, text, under);
    score(&problem, text, under, (const float *)table, (const float *)bias, (float *)results + place * problem.classes);
  }
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

/* Scores (n, C) of texts by a table of 8-bit levels, as core/features.c computes them; without times, rows count once. */
static PyObject *table_scores(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t starts, columns, texts, classes, levels, scales, results, times;
  if (!PyArg_ParseTuple(arguments, "nnnnnnnn", &starts, &columns, &texts, &classes, &levels, &scales, &times, &results)) return NULL;
  const int64_t *start = (const int64_t *)starts;
  int64_t *sums = malloc(2 * (size_t)classes * sizeof *sums);
  if (!sums) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS
  for (int64_t text = 0; text < texts; text++) {
    int64_t squares[2] = {0, 0};
    memset(sums, 0, 2 * (size_t)classes * sizeof *sums);
    for (int64_t at = start[text]; at < start[text + 1]; at++) {
      uint32_t column = ((const uint32_t *)columns)[at];
      const int8_t *row = (const int8_t *)levels + (int64_t)(column >> 1) * classes;
      int64_t *sum = sums + (column & 1) * classes, factor = times ? ngram_factor(((const uint8_t *)times)[at]) : 1;
      squares[column & 1] += factor * factor;
      for (int64_t class = 0; class < classes; class++) sum[class] += factor * row[class];
    }
    float first = sqrtf((float)(squares[0] ? squares[0] : 1)), second = sqrtf((float)(squares[1] ? squares[1] : 1));
    for (int64_t class = 0; class < classes; class++)
      ((float *)results)[text * classes + class] =
          ((float)sums[class] / first + (float)sums[classes + class] / second) * ((const float *)scales)[class];
  }
  Py_END_ALLOW_THREADS
  free(sums);
  Py_RETURN_NONE;
}

/* Rows of features in a table, most important first; -1: both rows of a feature are taken. */
static PyObject *place(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t hashes, number, rows, places, checks;
  if (!PyArg_ParseTuple(arguments, "nnnnn", &hashes, &number, &rows, &places, &checks)) return NULL;
  uint8_t *taken = (uint8_t *)checks;
  for (Py_ssize_t i = 0; i < number; i++) {
    struct ngram_place found = ngram_place(((const uint64_t *)hashes)[i], (uint32_t)rows);
    int64_t row = -1;
    for (int choice = 0; row < 0 && choice < 2; choice++) {
      if (taken[found.rows[choice]] == found.check) break; /* it would be read as the feature that is there */
      if (!taken[found.rows[choice]]) row = found.rows[choice];
    }
    if (row >= 0) taken[row] = found.check;
    ((int64_t *)places)[i] = row;
  }
  Py_RETURN_NONE;
}

PyMethodDef ngram_functions[] = {
    {"count", count, METH_VARARGS, "Hashes of the features that occur in enough texts, and in how many texts each occurs."},
    {"features", features, METH_VARARGS, "Sparse matrix of the known features of texts: starts, columns and times."},
    {"table_rows", table_rows, METH_VARARGS, "Sparse matrix of the table rows of texts: starts, columns (2 row + block) and times."},
    {"count_factors", count_factors, METH_NOARGS, "What a feature counts by its occurrences, from 0 to 255."},
    {"piece_rows", piece_rows, METH_VARARGS, "Rows of the codes of the pieces of words: starts and rows."},
    {"fit_pass", fit_pass, METH_VARARGS, "One pass of the fit; returns the mean change per text of its dual variables."},
    {"class_counts", class_counts, METH_VARARGS, "Texts of each feature by class."},
    {"scores", scores_of, METH_VARARGS, "Scores (n, C) of texts."},
    {"table_scores", table_scores, METH_VARARGS, "Scores (n, C) of texts by a table of 8-bit levels."},
    {"place", place, METH_VARARGS, "Rows of features in a table, and the checks of the table."},
    {NULL, NULL, 0, NULL},
};
