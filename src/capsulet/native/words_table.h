/* Distinct words of many texts, numbered from 1 in the order of their first appearance; the core finds the words. Number 0 means
 * "no word": an empty text, or a word that is too long to be known. */

/* A hash table with open addressing; `letters` has the letters of all words, one word after the other. */
struct table {
  uint32_t *slots;  /* (capacity) number of the word, or 0 */
  uint32_t *hashes; /* (count + 1) by number */
  uint64_t *ends;   /* (count + 1) end of each word in `letters`, where the next one begins */
  char *letters;
  uint64_t capacity, count, room; /* slots, words, words that hashes and ends have room for */
  uint64_t letters_room;
};

typedef struct {
  PyObject_HEAD
  struct table table;
  enum rule rule;
  int busy; /* a scan is running without the interpreter's lock; nothing else may use the table */
} Words;

enum { FIRST_CAPACITY = 1 << 12, FIRST_ROOM = 1 << 11, FIRST_LETTERS = 1 << 14 };

static int table_start(struct table *table) {
  *table = (struct table){.capacity = FIRST_CAPACITY, .room = FIRST_ROOM, .letters_room = FIRST_LETTERS};
  table->slots = calloc(table->capacity, sizeof *table->slots);
  table->hashes = malloc((table->room + 1) * sizeof *table->hashes);
  table->ends = malloc((table->room + 1) * sizeof *table->ends);
  table->letters = malloc(table->letters_room);
  if (!table->slots || !table->hashes || !table->ends || !table->letters) return -1;
  table->ends[0] = 0;
  return 0;
}

static void table_end(struct table *table) {
  free(table->slots);
  free(table->hashes);
  free(table->ends);
  free(table->letters);
}

/* Doubles the slots. */
static int widen(struct table *table) {
  uint64_t capacity = 2 * table->capacity;
  uint32_t *slots = calloc(capacity, sizeof *slots);
  if (!slots) return -1;
  for (uint64_t number = 1; number <= table->count; number++) {
    uint64_t at = table->hashes[number] & (capacity - 1);
    while (slots[at]) at = (at + 1) & (capacity - 1);
    slots[at] = (uint32_t)number;
  }
  free(table->slots);
  table->slots = slots, table->capacity = capacity;
  return 0;
}

/* Appends the letters and the hash of a new word. */
static int append(struct table *table, const char *word, uint64_t size, uint32_t hash) {
  if (table->count == table->room) {
    uint32_t *hashes = realloc(table->hashes, (2 * table->room + 1) * sizeof *hashes);
    if (hashes) table->hashes = hashes;
    uint64_t *ends = realloc(table->ends, (2 * table->room + 1) * sizeof *ends);
    if (ends) table->ends = ends;
    if (!hashes || !ends) return -1;
    table->room *= 2;
  }
  uint64_t start = table->ends[table->count], room = table->letters_room;
  while (start + size > room) room *= 2;
  if (room > table->letters_room) {
    char *letters = realloc(table->letters, room);
    if (!letters) return -1;
    table->letters = letters, table->letters_room = room;
  }
  memcpy(table->letters + start, word, size);
  table->count++;
  table->hashes[table->count] = hash;
  table->ends[table->count] = start + size;
  return 0;
}

/* The number of a word, which is added if it is new; 0 without memory or numbers. */
static uint32_t intern(struct table *table, const char *word, uint64_t size, uint32_t hash) {
  uint64_t at = hash & (table->capacity - 1);
  for (uint32_t number; (number = table->slots[at]); at = (at + 1) & (table->capacity - 1))
    if (table->hashes[number] == hash) {
      uint64_t start = table->ends[number - 1];
      if (table->ends[number] - start == size && !memcmp(table->letters + start, word, size)) return number;
    }
  if (table->count >= INT32_MAX - 1 || append(table, word, size, hash)) return 0;
  table->slots[at] = (uint32_t)table->count;
  if (2 * table->count > table->capacity && widen(table)) return 0;
  return (uint32_t)table->count;
}

struct output {
  int32_t *ids;
  uint64_t count, room;
};

static int put(struct output *output, uint32_t id) {
  if (output->count == output->room) {
    uint64_t room = output->room ? 2 * output->room : 1 << 16;
    int32_t *ids = realloc(output->ids, room * sizeof *ids);
    if (!ids) return -1;
    output->ids = ids, output->room = room;
  }
  output->ids[output->count++] = (int32_t)id;
  return 0;
}

/* Appends the numbers of one text, at most `limit`; -1 without memory. */
static int scan_text(struct table *table, enum rule rule, const char *text, size_t size, int64_t limit, struct output *output) {
  struct reader reader = {.text = (const uint8_t *)text, .size = size, .rule = rule};
  struct word word;
  uint64_t start = output->count;
  while ((int64_t)(output->count - start) < limit && next_word(&reader, &word)) {
    uint32_t number = word.size > LONGEST_WORD ? 0 : intern(table, word.letters, word.size, word.hash);
    if ((!number && word.size <= LONGEST_WORD) || put(output, number)) return -1;
  }
  return output->count == start ? put(output, 0) : 0;
}

static PyObject *Words_scan(Words *self, PyObject *arguments) {
  PyObject *sequence, *result = NULL;
  Py_ssize_t limit;
  struct texts texts;
  struct output output = {0};
  int state = 0;
  if (!PyArg_ParseTuple(arguments, "On", &sequence, &limit)) return NULL;
  if (self->busy) return PyErr_Format(PyExc_RuntimeError, "these words are in use by another thread");
  if (texts_start(&texts, sequence)) return NULL;
  int32_t *lengths = malloc((texts.count + 1) * sizeof *lengths);
  self->busy = 1;
  Py_BEGIN_ALLOW_THREADS
  for (size_t i = 0; lengths && i < texts.count && !state; i++) {
    uint64_t before = output.count;
    state = scan_text(&self->table, self->rule, texts.starts[i], texts.sizes[i], limit, &output);
    lengths[i] = (int32_t)(output.count - before);
  }
  Py_END_ALLOW_THREADS
  self->busy = 0;
  if (lengths && !state)
    result = Py_BuildValue("NN", PyBytes_FromStringAndSize((const char *)output.ids, (Py_ssize_t)(output.count * sizeof *output.ids)),
                           PyBytes_FromStringAndSize((const char *)lengths, (Py_ssize_t)(texts.count * sizeof *lengths)));
  else PyErr_NoMemory();
  texts_end(&texts);
  free(lengths);
  free(output.ids);
  return result;
}

static PyObject *Words_spelling(Words *self, PyObject *argument) {
  unsigned long number = PyLong_AsUnsignedLong(argument);
  if (PyErr_Occurred()) return NULL;
  if (self->busy || number < 1 || number > self->table.count) return PyErr_Format(PyExc_IndexError, "no word has the number %lu", number);
  uint64_t start = self->table.ends[number - 1];
  return PyUnicode_DecodeUTF8(self->table.letters + start, (Py_ssize_t)(self->table.ends[number] - start), NULL);
}

/* For each word, the number of its shape, which is added if it is new; 0 if it has none. */
static PyObject *Words_shapes(Words *self, PyObject *nothing) {
  (void)nothing;
  struct table *table = &self->table;
  uint64_t count = table->count;
  if (self->busy) return PyErr_Format(PyExc_RuntimeError, "these words are in use by another thread");
  int32_t *shapes = calloc(count + 1, sizeof *shapes);
  for (uint64_t number = 1; shapes && self->rule == RULE_UNICODE && number <= count; number++) {
    struct word shape;
    uint64_t start = table->ends[number - 1];
    shape.size = word_shape(table->letters + start, (uint32_t)(table->ends[number] - start), shape.letters);
    if (!shape.size) continue;
    finish_word(&shape);
    shapes[number] = (int32_t)intern(table, shape.letters, shape.size, shape.hash);
    if (!shapes[number]) free(shapes), shapes = NULL;
  }
  if (!shapes) return PyErr_NoMemory();
  PyObject *result = PyBytes_FromStringAndSize((const char *)shapes, (Py_ssize_t)((count + 1) * sizeof *shapes));
  free(shapes);
  return result;
}

static Py_ssize_t Words_length(PyObject *self) { return (Py_ssize_t)((Words *)self)->table.count; }

static PyObject *Words_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)keywords;
  const char *rule;
  if (!PyArg_ParseTuple(arguments, "s", &rule)) return NULL;
  if (strcmp(rule, "paper") && strcmp(rule, "unicode")) return PyErr_Format(PyExc_ValueError, "the token rule %s is unknown", rule);
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Words *self = (Words *)allocate(type, 0);
  if (self && table_start(&self->table)) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  if (self) self->rule = strcmp(rule, "paper") ? RULE_UNICODE : RULE_PAPER;
  return (PyObject *)self;
}

static void Words_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  table_end(&((Words *)self)->table);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMethodDef words_methods[] = {
    {"scan", (PyCFunction)(void (*)(void))Words_scan, METH_VARARGS,
     "Numbers of the words of the texts one after the other, and how many each text has, both as int32 bytes."},
    {"spelling", (PyCFunction)(void (*)(void))Words_spelling, METH_O, "The word of a number."},
    {"shapes", (PyCFunction)(void (*)(void))Words_shapes, METH_NOARGS,
     "For number 0 and each word the number of its shape, which is added, or 0, as int32 bytes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot words_slots[] = {
    {Py_tp_doc, "Words(rule): distinct words, numbered from 1 in the order of their first appearance."},
    {Py_tp_new, Words_new},
    {Py_tp_dealloc, Words_dealloc},
    {Py_tp_methods, words_methods},
    {Py_sq_length, Words_length},
    {0, NULL},
};
static PyType_Spec words_specification = {"capsulet.native._core.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT, words_slots};
