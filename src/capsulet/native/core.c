/* The C core (core/) for Python: models and numbered words. Stable ABI; arrays are exchanged as bytes. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "core.h"
#include "mapping.h"

typedef struct {
  PyObject_HEAD
  PyObject *bytes; /* the bytes of the model, or NULL if they are mapped */
  struct mapping mapping;
  capsulet_model *model;
  struct capsulet_facts facts;
} Model;

static PyObject *damaged(int result, const char *message) {
  if (result == CAPSULET_NO_MEMORY) return PyErr_NoMemory();
  PyErr_SetString(PyExc_ValueError, message);
  return NULL;
}

static PyObject *failed(int result) {
  return damaged(result, result == CAPSULET_DAMAGED ? "its weights give numbers that are not finite" : "ids that the model does not have");
}

static PyObject *Model_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)keywords;
  PyObject *source;
  int precision, result;
  const char *kernel = NULL;
  char message[CAPSULET_MESSAGE] = "";
  if (!PyArg_ParseTuple(arguments, "Oi|z", &source, &precision, &kernel)) return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Model *self = (Model *)allocate(type, 0);
  if (!self) return NULL;
  const void *data;
  size_t size;
  if (PyBytes_Check(source)) {
    char *start;
    Py_ssize_t count;
    PyBytes_AsStringAndSize(source, &start, &count);
    Py_INCREF(source);
    self->bytes = source;
    data = start, size = (size_t)count;
  } else {
    PyObject *path = NULL;
    if (!PyUnicode_FSConverter(source, &path)) goto error;
    const char *problem = map_file(PyBytes_AsString(path), &self->mapping);
    Py_DECREF(path);
    if (problem) {
      PyErr_SetString(PyExc_OSError, problem);
      goto error;
    }
    data = self->mapping.data, size = self->mapping.size;
  }
  Py_BEGIN_ALLOW_THREADS
  result = capsulet_open(data, size, precision, &self->model, message);
  if (!result) result = capsulet_verify(data, size);
  if (result && self->model) strcpy(message, "its bytes do not match its checksum");
  if (!result && kernel) {
    result = capsulet_choose_kernel(self->model, kernel);
    if (result) strcpy(message, "this processor or build does not have that kernel");
  }
  Py_END_ALLOW_THREADS
  if (result) {
    damaged(result, message);
    goto error;
  }
  capsulet_describe(self->model, &self->facts);
  return (PyObject *)self;
error:
  Py_DECREF(self);
  return NULL;
}

static void Model_dealloc(PyObject *object) {
  Model *self = (Model *)object;
  PyTypeObject *type = Py_TYPE(object);
  capsulet_close(self->model);
  unmap_file(&self->mapping);
  Py_XDECREF(self->bytes);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static PyObject *Model_facts(Model *self, PyObject *nothing) {
  (void)nothing;
  const struct capsulet_facts *facts = &self->facts;
  return Py_BuildValue("{si si si si si si si si si si si ss}", "classes", facts->classes, "vocabulary", facts->vocabulary, "unknown",
                       facts->unknown, "max_tokens", facts->max_tokens, "primary", facts->primary, "multi_label", facts->multi_label, "codebooks", facts->codebooks,
                       "codewords", facts->codewords, "calibrated", facts->calibrated, "ngrams", facts->ngrams,
                       "linear_only", facts->linear_only, "kernel", facts->kernel);
}

static PyObject *Model_labels(Model *self, PyObject *nothing) {
  (void)nothing;
  PyObject *labels = PyTuple_New(self->facts.classes);
  for (int32_t class = 0; labels && class < self->facts.classes; class++) {
    size_t size;
    const char *label = capsulet_label(self->model, class, &size);
    PyObject *text = PyUnicode_DecodeUTF8(label, (Py_ssize_t)size, NULL);
    if (!text || PyTuple_SetItem(labels, class, text)) Py_CLEAR(labels);
  }
  return labels;
}

static PyObject *Model_config(Model *self, PyObject *nothing) {
  (void)nothing;
  return PyBytes_FromStringAndSize(self->facts.config, (Py_ssize_t)self->facts.config_size);
}

static PyObject *Model_file(Model *self, PyObject *nothing) {
  (void)nothing;
  if (!self->bytes) return PyBytes_FromStringAndSize(self->mapping.data, (Py_ssize_t)self->mapping.size);
  Py_INCREF(self->bytes);
  return self->bytes;
}

/* ---- texts ---- */

struct texts {
  PyObject *owner; /* a tuple of the texts, which keeps their UTF-8 alive */
  const char **starts;
  size_t *sizes;
  size_t count;
};

static void texts_end(struct texts *texts) {
  Py_XDECREF(texts->owner);
  free(texts->starts);
  free(texts->sizes);
}

static int texts_start(struct texts *texts, PyObject *sequence) {
  *texts = (struct texts){.owner = PySequence_Tuple(sequence)};
  if (!texts->owner) return -1;
  texts->count = (size_t)PyTuple_Size(texts->owner);
  texts->starts = malloc((texts->count + 1) * sizeof *texts->starts);
  texts->sizes = malloc((texts->count + 1) * sizeof *texts->sizes);
  if (!texts->starts || !texts->sizes) {
    PyErr_NoMemory();
    texts_end(texts);
    return -1;
  }
  for (size_t i = 0; i < texts->count; i++) {
    PyObject *text = PyTuple_GetItem(texts->owner, (Py_ssize_t)i);
    Py_ssize_t size;
    texts->starts[i] = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    if (!texts->starts[i]) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected str");
      texts_end(texts);
      return -1;
    }
    texts->sizes[i] = (size_t)size;
  }
  return 0;
}

static PyObject *Model_classify(Model *self, PyObject *arguments) {
  PyObject *sequence;
  int spelled;
  struct texts texts;
  if (!PyArg_ParseTuple(arguments, "Op", &sequence, &spelled) || texts_start(&texts, sequence)) return NULL;
  size_t bytes = texts.count * (size_t)self->facts.classes * sizeof(float);
  PyObject *lengths = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
  PyObject *unknown = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(texts.count * sizeof(float)));
  int result = CAPSULET_NO_MEMORY;
  if (lengths && unknown) {
    float *to = (float *)(void *)PyBytes_AsString(lengths), *shares = (float *)(void *)PyBytes_AsString(unknown);
    Py_BEGIN_ALLOW_THREADS
    result = capsulet_classify(self->model, texts.starts, texts.sizes, texts.count, spelled, to, shares);
    Py_END_ALLOW_THREADS
  }
  texts_end(&texts);
  if (!result) return Py_BuildValue("NN", lengths, unknown);
  Py_XDECREF(lengths);
  Py_XDECREF(unknown);
  return failed(result);
}

static PyObject *Model_ngrams(Model *self, PyObject *arguments) {
  PyObject *sequence;
  int spelled, result = 0;
  struct texts texts;
  size_t classes = (size_t)self->facts.classes;
  if (!PyArg_ParseTuple(arguments, "Op", &sequence, &spelled) || texts_start(&texts, sequence)) return NULL;
  PyObject *scores = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(texts.count * classes * sizeof(float)));
  float *to = scores ? (float *)(void *)PyBytes_AsString(scores) : NULL;
  Py_BEGIN_ALLOW_THREADS
  for (size_t i = 0; to && !result && i < texts.count; i++)
    result = capsulet_ngrams(self->model, texts.starts[i], texts.sizes[i], spelled, to + i * classes);
  Py_END_ALLOW_THREADS
  texts_end(&texts);
  if (!scores || !result) return scores;
  Py_DECREF(scores);
  return failed(result);
}

static PyObject *Model_encode(Model *self, PyObject *arguments) {
  PyObject *sequence;
  int spelled;
  struct texts texts;
  if (!PyArg_ParseTuple(arguments, "Op", &sequence, &spelled) || texts_start(&texts, sequence)) return NULL;
  int32_t *counts = malloc((texts.count + 1) * sizeof *counts), *ids = NULL;
  struct capsulet_token *tokens = NULL;
  size_t used = 0, room = 0, tokens_room = 0;
  int fine = counts != NULL;
  Py_BEGIN_ALLOW_THREADS
  for (size_t i = 0; fine && i < texts.count; i++) {
    size_t most = texts.sizes[i] + 1 < (size_t)self->facts.max_tokens ? texts.sizes[i] + 1 : (size_t)self->facts.max_tokens;
    if (most > tokens_room) {
      free(tokens);
      tokens_room = most;
      tokens = malloc(tokens_room * sizeof *tokens);
    }
    size_t count = tokens ? capsulet_tokenize(self->model, texts.starts[i], texts.sizes[i], spelled, tokens, tokens_room) : 0;
    if (used + count > room) {
      room = 2 * (used + count) + 1024;
      int32_t *more = realloc(ids, room * sizeof *ids);
      if (more) ids = more;
      else count = 0;
    }
    fine = count > 0;
    for (size_t token = 0; token < count; token++) ids[used + token] = tokens[token].id;
    if (fine) counts[i] = (int32_t)count;
    used += count;
  }
  Py_END_ALLOW_THREADS
  PyObject *answer = NULL;
  if (fine)
    answer = Py_BuildValue("NN", PyBytes_FromStringAndSize((const char *)ids, (Py_ssize_t)(used * sizeof *ids)),
                           PyBytes_FromStringAndSize((const char *)counts, (Py_ssize_t)(texts.count * sizeof *counts)));
  else PyErr_NoMemory();
  texts_end(&texts);
  free(counts);
  free(ids);
  free(tokens);
  return answer;
}

/* The UTF-8 of a text; NULL and an error if it is not a string. */
static const char *utf8_of(PyObject *text, Py_ssize_t *size) {
  const char *start = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, size) : NULL;
  if (!start && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected str");
  return start;
}

static PyObject *Model_spell(Model *self, PyObject *text) {
  Py_ssize_t size;
  const char *start = utf8_of(text, &size);
  if (!start) return NULL;
  size_t room = capsulet_spell(self->model, start, (size_t)size, NULL, 0), at = 0;
  char *spelled = malloc(room + 1);
  PyObject *words = spelled ? PyList_New(0) : PyErr_NoMemory();
  if (spelled) capsulet_spell(self->model, start, (size_t)size, spelled, room);
  for (size_t end = 0; words && end < room; end++) {
    if (spelled[end] != ' ') continue;
    PyObject *word = PyUnicode_DecodeUTF8(spelled + at, (Py_ssize_t)(end - at), "replace");
    if (!word || PyList_Append(words, word)) Py_CLEAR(words);
    Py_XDECREF(word);
    at = end + 1;
  }
  free(spelled);
  return words;
}

static PyObject *Model_tokens(Model *self, PyObject *arguments) {
  Py_ssize_t size;
  PyObject *text;
  int spelled;
  if (!PyArg_ParseTuple(arguments, "Op", &text, &spelled)) return NULL;
  const char *start = utf8_of(text, &size);
  if (!start) return NULL;
  size_t room = (size_t)size + 1 < (size_t)self->facts.max_tokens ? (size_t)size + 1 : (size_t)self->facts.max_tokens;
  struct capsulet_token *tokens = malloc(room * sizeof *tokens);
  if (!tokens) return PyErr_NoMemory();
  size_t count = capsulet_tokenize(self->model, start, (size_t)size, spelled, tokens, room);
  PyObject *list = PyList_New((Py_ssize_t)count);
  size_t byte = 0;
  uint32_t character = 0; /* number of the character that begins at `byte` */
  for (size_t i = 0; list && i < count; i++) {
    uint32_t places[2];
    for (int end = 0; end < 2; end++) {
      size_t wanted = end ? tokens[i].end : tokens[i].start;
      for (; byte > wanted; byte--) character -= (start[byte - 1] & 0xC0) != 0x80; /* the second token of U+0130 */
      for (; byte < wanted; byte++) character += (start[byte] & 0xC0) != 0x80;
      places[end] = character;
    }
    PyObject *token = Py_BuildValue("iII", tokens[i].id, places[0], places[1]);
    if (!token || PyList_SetItem(list, (Py_ssize_t)i, token)) Py_CLEAR(list);
  }
  free(tokens);
  return list;
}

/* ---- numbers ---- */

/* The bytes of an argument as numbers of a size; NULL and an error if they are not whole. */
static const void *numbers(PyObject *bytes, size_t size, size_t *count) {
  char *start;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(bytes, &start, &length)) return NULL;
  if ((size_t)length % size) {
    PyErr_SetString(PyExc_ValueError, "the bytes are not whole numbers");
    return NULL;
  }
  *count = (size_t)length / size;
  return start;
}

/* Arguments (ids, counts), checked to belong together. */
static int ids_and_counts(PyObject *arguments, const int32_t **ids, const int32_t **counts, size_t *texts) {
  PyObject *first, *second;
  size_t all, sum = 0;
  if (!PyArg_ParseTuple(arguments, "SS", &first, &second)) return -1;
  if (!(*ids = numbers(first, sizeof **ids, &all)) || !(*counts = numbers(second, sizeof **counts, texts))) return -1;
  for (size_t i = 0; i < *texts; i++) sum += (*counts)[i] < 1 ? all + 1 : (size_t)(*counts)[i];
  if (sum == all) return 0;
  PyErr_SetString(PyExc_ValueError, "the counts do not add up to the ids");
  return -1;
}

static PyObject *Model_probabilities(Model *self, PyObject *bytes) {
  size_t count;
  const float *lengths = numbers(bytes, sizeof *lengths * (size_t)self->facts.classes, &count);
  if (!lengths) return NULL;
  PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * (size_t)self->facts.classes * sizeof(double)));
  if (answer) capsulet_probabilities(self->model, lengths, count, (double *)(void *)PyBytes_AsString(answer));
  return answer;
}

/* Arguments (lengths, unknown): rows of lengths (n, C) and shares (n) of 32 bits. */
static int lengths_and_shares(Model *self, PyObject *first, PyObject *second, const float **lengths, const float **shares, size_t *texts) {
  size_t count;
  if (!(*lengths = numbers(first, sizeof **lengths * (size_t)self->facts.classes, texts))) return -1;
  if (!(*shares = numbers(second, sizeof **shares, &count))) return -1;
  if (count == *texts) return 0;
  PyErr_SetString(PyExc_ValueError, "not as many shares as rows");
  return -1;
}

typedef double similarity(const capsulet_model *model, const float *lengths, double unknown);

static PyObject *similarities(Model *self, PyObject *arguments, similarity *function) {
  PyObject *first, *second;
  const float *lengths, *shares;
  size_t texts;
  if (!PyArg_ParseTuple(arguments, "SS", &first, &second)) return NULL;
  if (lengths_and_shares(self, first, second, &lengths, &shares, &texts)) return NULL;
  PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(texts * sizeof(double)));
  double *to = answer ? (double *)(void *)PyBytes_AsString(answer) : NULL;
  for (size_t i = 0; to && i < texts; i++) to[i] = function(self->model, lengths + i * (size_t)self->facts.classes, shares[i]);
  return answer;
}

static PyObject *Model_confidence(Model *self, PyObject *arguments) { return similarities(self, arguments, capsulet_confidence); }
static PyObject *Model_certainty(Model *self, PyObject *arguments) { return similarities(self, arguments, capsulet_certainty); }

static PyObject *Model_rules(Model *self, PyObject *arguments) {
  struct capsulet_request request;
  struct capsulet_rules rules;
  char message[CAPSULET_MESSAGE] = "";
  if (!PyArg_ParseTuple(arguments, "pddd", &request.abstain, &request.coverage, &request.max_error, &request.sets)) return NULL;
  int result = capsulet_rules_for(self->model, &request, &rules, message);
  if (result) return damaged(result, message);
  return Py_BuildValue("dddi", rules.confidence, rules.certainty, rules.set_score, rules.texts);
}

static PyObject *Model_reasons(Model *self, PyObject *arguments) {
  PyObject *first, *second;
  const float *lengths, *shares;
  size_t texts;
  struct capsulet_rules rules = {0};
  if (!PyArg_ParseTuple(arguments, "SSdd", &first, &second, &rules.confidence, &rules.certainty)) return NULL;
  if (lengths_and_shares(self, first, second, &lengths, &shares, &texts)) return NULL;
  PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)texts);
  char *to = answer ? PyBytes_AsString(answer) : NULL;
  for (size_t i = 0; to && i < texts; i++)
    to[i] = (char)capsulet_abstains(self->model, &rules, lengths + i * (size_t)self->facts.classes, shares[i]);
  return answer;
}

static PyObject *Model_label_sets(Model *self, PyObject *arguments) {
  PyObject *bytes;
  struct capsulet_rules rules = {0};
  size_t texts, classes = (size_t)self->facts.classes;
  if (!PyArg_ParseTuple(arguments, "Sd", &bytes, &rules.set_score)) return NULL;
  const float *lengths = numbers(bytes, sizeof *lengths * classes, &texts);
  int32_t *chosen = lengths ? malloc(classes * sizeof *chosen) : NULL;
  PyObject *list = chosen ? PyList_New((Py_ssize_t)texts) : NULL;
  for (size_t i = 0; list && i < texts; i++) {
    size_t count = capsulet_label_set(self->model, &rules, lengths + i * classes, chosen);
    PyObject *set = PyTuple_New((Py_ssize_t)count);
    for (size_t place = 0; set && place < count; place++) PyTuple_SetItem(set, (Py_ssize_t)place, PyLong_FromLong(chosen[place]));
    if (!set || PyList_SetItem(list, (Py_ssize_t)i, set)) Py_CLEAR(list);
  }
  free(chosen);
  return list || PyErr_Occurred() ? list : PyErr_NoMemory();
}

static PyObject *Model_explain(Model *self, PyObject *arguments) {
  PyObject *text, *numbered;
  Py_ssize_t size;
  int spelled;
  size_t wanted, classes = (size_t)self->facts.classes, primary = (size_t)self->facts.primary;
  if (!PyArg_ParseTuple(arguments, "OSp", &text, &numbered, &spelled)) return NULL;
  const char *start = utf8_of(text, &size);
  const int32_t *chosen = start ? numbers(numbered, sizeof *chosen, &wanted) : NULL;
  if (!chosen) return NULL;
  size_t tokens = capsulet_tokenize(self->model, start, (size_t)size, spelled, NULL, 0);
  const char *names[] = {"lengths", "norms", "contributions", "ngrams", "coupling", "shares"};
  size_t counts[] = {classes, classes, tokens * wanted, tokens * wanted, primary * wanted, primary * wanted};
  float *rooms[6];
  PyObject *answer = PyDict_New();
  for (int i = 0; answer && i < 6; i++) {
    PyObject *room = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(counts[i] * sizeof(float)));
    if (!room || PyDict_SetItemString(answer, names[i], room)) Py_CLEAR(answer);
    else rooms[i] = (float *)(void *)PyBytes_AsString(room);
    Py_XDECREF(room);
  }
  if (!answer) return NULL;
  struct capsulet_explanation explanation = {rooms[0], rooms[1], rooms[2], rooms[3], rooms[4], rooms[5]};
  int result;
  Py_BEGIN_ALLOW_THREADS
  result = capsulet_explain(self->model, start, (size_t)size, spelled, chosen, wanted, &explanation);
  Py_END_ALLOW_THREADS
  if (!result) return answer;
  Py_DECREF(answer);
  return failed(result);
}

static size_t codes_of(const Model *self) { return (size_t)self->facts.codebooks * (size_t)self->facts.codewords; }

static PyObject *Model_codes(Model *self, PyObject *number) {
  long id = PyLong_AsLong(number);
  if (id == -1 && PyErr_Occurred()) return NULL;
  PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(codes_of(self) * sizeof(float)));
  if (!answer) return NULL;
  if (id < 0 || id > INT32_MAX || capsulet_codes(self->model, (int32_t)id, (float *)(void *)PyBytes_AsString(answer))) {
    Py_DECREF(answer);
    return failed(CAPSULET_IMPOSSIBLE);
  }
  return answer;
}

/* Mean weight of each codeword over the known words of each text, NAN if there is none. */
static PyObject *Model_usage(Model *self, PyObject *arguments) {
  const int32_t *ids, *counts;
  size_t texts, codes = codes_of(self);
  if (ids_and_counts(arguments, &ids, &counts, &texts)) return NULL;
  PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(texts * codes * sizeof(double)));
  float *weights = answer ? malloc((codes + 1) * sizeof *weights) : NULL;
  if (!weights) {
    Py_XDECREF(answer);
    return PyErr_NoMemory();
  }
  double *to = (double *)(void *)PyBytes_AsString(answer);
  int fine = 1;
  Py_BEGIN_ALLOW_THREADS
  for (size_t text = 0; text < texts; ids += counts[text++], to += codes) {
    int64_t known = 0;
    for (size_t i = 0; i < codes; i++) to[i] = 0;
    for (int32_t token = 0; token < counts[text]; token++) {
      if (ids[token] <= self->facts.unknown || ids[token] >= self->facts.vocabulary) continue;
      fine &= !capsulet_codes(self->model, ids[token], weights);
      for (size_t i = 0; i < codes; i++) to[i] += weights[i];
      known++;
    }
    for (size_t i = 0; i < codes; i++) to[i] = known ? to[i] / (double)known : Py_NAN;
  }
  Py_END_ALLOW_THREADS
  free(weights);
  if (fine) return answer;
  Py_DECREF(answer);
  return failed(CAPSULET_IMPOSSIBLE);
}

static PyObject *Model_nearest(Model *self, PyObject *arguments) {
  int id;
  Py_ssize_t room;
  if (!PyArg_ParseTuple(arguments, "in", &id, &room)) return NULL;
  if (room < 0 || room > 1 << 20) return failed(CAPSULET_IMPOSSIBLE);
  size_t count = (size_t)room;
  int32_t *found = malloc((count + 1) * sizeof *found);
  int result = CAPSULET_NO_MEMORY;
  if (found) {
    Py_BEGIN_ALLOW_THREADS
    result = capsulet_nearest(self->model, id, found, &count);
    Py_END_ALLOW_THREADS
  }
  PyObject *list = result ? failed(result) : PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromLong(found[i]));
  free(found);
  return list;
}

static PyObject *Model_word(Model *self, PyObject *number) {
  long id = PyLong_AsLong(number);
  size_t size;
  if (id == -1 && PyErr_Occurred()) return NULL;
  const char *word = id < 0 || id > INT32_MAX ? NULL : capsulet_word(self->model, (int32_t)id, &size);
  if (!word) return failed(CAPSULET_IMPOSSIBLE);
  return PyUnicode_DecodeUTF8(word, (Py_ssize_t)size, "replace");
}

#define METHOD(name, flags, text) {#name, (PyCFunction)(void (*)(void))Model_##name, flags, text}
static PyMethodDef model_methods[] = {
    METHOD(facts, METH_NOARGS, "Sizes of the model and the name of the kernel."),
    METHOD(labels, METH_NOARGS, "The labels."),
    METHOD(config, METH_NOARGS, "The configuration: JSON."),
    METHOD(file, METH_NOARGS, "The bytes of the model file."),
    METHOD(classify, METH_VARARGS, "Class lengths (n, C) and shares of unknown words (n) of texts, both of 32 bits."),
    METHOD(ngrams, METH_VARARGS, "Scores (n, C) of the n-gram features of texts."),
    METHOD(encode, METH_VARARGS, "Ids of all texts one after the other, and how many each has."),
    METHOD(tokens, METH_VARARGS, "Id, start and end of each token of a text, in characters."),
    METHOD(spell, METH_O, "Tokens of a text as the model spells them."),
    METHOD(probabilities, METH_O, "Probabilities (n, C) of 64 bits of class lengths (n, C)."),
    METHOD(confidence, METH_VARARGS, "Confidence (n) of 64 bits of class lengths and shares of unknown words."),
    METHOD(certainty, METH_VARARGS, "Certainty (n) of 64 bits of class lengths and shares of unknown words."),
    METHOD(rules, METH_VARARGS, "Thresholds for abstain, coverage, max_error and sets, and the number of texts behind them."),
    METHOD(reasons, METH_VARARGS, "Per text: 0 it gets an answer, 1 low confidence, 2 unknown words."),
    METHOD(label_sets, METH_VARARGS, "Classes of the label set of each text, most probable first."),
    METHOD(explain, METH_VARARGS, "Lengths, norms, contributions, ngrams, coupling and shares for some classes of a text."),
    METHOD(codes, METH_O, "Weights of all codewords for the word of an id."),
    METHOD(usage, METH_VARARGS, "Mean weights (n, codes) of 64 bits of the codewords over the known words of each text."),
    METHOD(nearest, METH_VARARGS, "Ids of the words with the most similar codes to those of an id, at most a number."),
    METHOD(word, METH_O, "The word of an id."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, "A model: Model(path or bytes, precision, kernel=None)."},
    {Py_tp_new, Model_new},
    {Py_tp_dealloc, Model_dealloc},
    {Py_tp_methods, model_methods},
    {0, NULL},
};
static PyType_Spec model_specification = {"capsulet.native._core.Model", sizeof(Model), 0, Py_TPFLAGS_DEFAULT, model_slots};

/* ---- numbered words, for training ---- */

#include "words_table.h"

static PyObject *shape(PyObject *nothing, PyObject *word) {
  (void)nothing;
  Py_ssize_t size;
  char letters[LONGEST_SHAPE];
  const char *start = PyUnicode_Check(word) ? PyUnicode_AsUTF8AndSize(word, &size) : NULL;
  if (!start) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected str");
  uint32_t used = size > LONGEST_WORD ? 0 : word_shape(start, (uint32_t)size, letters);
  if (used) return PyUnicode_DecodeUTF8(letters, (Py_ssize_t)used, NULL);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"shape", shape, METH_O, "The word that stands for unknown words of the kind of a word, or None."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", "The C core.", 0, functions, NULL, NULL, NULL, NULL};

extern PyMethodDef ngram_functions[]; /* ngrams.c, for training */

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *created = PyModule_Create(&module);
  PyType_Spec *specifications[] = {&model_specification, &words_specification};
  const char *names[] = {"Model", "Words"};
  if (created && PyModule_AddFunctions(created, ngram_functions)) Py_CLEAR(created);
  for (int i = 0; created && i < 2; i++) {
    PyObject *type = PyType_FromSpec(specifications[i]);
    if (!type || PyModule_AddObject(created, names[i], type)) {
      Py_XDECREF(type);
      Py_CLEAR(created);
    }
  }
  return created;
}
