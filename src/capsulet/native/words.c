/* Texts to numbers, one per distinct word: the rule of the tokenizer, for the characters of nearly all texts.
 *
 *   lower-case; [a-z][a-z0-9]* is a word, every digit and every other visible character is a word of its own
 *
 * tokenizer.json defines the rule, and the Rust library `tokenizers` applies it with a regular expression. That takes
 * several times as long as the rest of reading, so this file applies the rule to ASCII, Latin-1, Greek, Cyrillic, Chinese,
 * Japanese, Korean, common punctuation and emoji. A text with any other character is returned to the caller, which uses
 * the library. A test compares both for every character of Unicode.
 *
 * Words are numbered from 1 in the order of their first appearance; 0 means "no word" (an empty text).
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

#define HASH_START 2166136261u
#define HASH_NEXT(hash, letter) (((hash) ^ (uint8_t)(letter)) * 16777619u) /* FNV-1a */

/* The number of a word, which is added if it is new; 0 without memory or numbers. */
static uint32_t intern(struct table *table, const char *word, uint64_t size, uint32_t hash) {
  hash ^= hash >> 15; /* the low bits of FNV are weak */
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

/* Word for a character beyond ASCII: the character or its lower case; 0 for a space, -1 for "use the library". */
static int32_t fold(int32_t c) {
  if (c == 0x85 || c == 0xA0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F)
    return 0;
  if (c < 0x100) return c >= 0xC0 && c <= 0xDE && c != 0xD7 ? c + 0x20 : c;
  if (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) return c + 0x20; /* Greek capitals */
  if (c >= 0x3B1 && c <= 0x3C9) return c;
  if (c >= 0x400 && c <= 0x40F) return c + 0x50; /* Cyrillic capitals */
  if (c >= 0x410 && c <= 0x42F) return c + 0x20;
  if (c >= 0x430 && c <= 0x45F) return c;
  if (c >= 0x2010 && c <= 0x2027) return c; /* dashes, quotation marks, dots */
  if (c >= 0x20A0 && c <= 0x20BF) return c; /* currencies */
  if (c >= 0x3001 && c <= 0x30FF) return c; /* Chinese and Japanese punctuation, kana */
  if (c >= 0x3400 && c <= 0x9FFF) return c; /* Chinese characters */
  if (c >= 0xAC00 && c <= 0xD7A3) return c; /* Korean syllables */
  if (c >= 0xFF01 && c <= 0xFF20) return c; /* full-width punctuation and digits */
  if (c == 0xFE0F || c == 0x200D) return c; /* between the parts of an emoji */
  if (c >= 0x1F300 && c <= 0x1FAFF) return c;
  return -1;
}

/* Reads one character of valid UTF-8 beyond ASCII; returns its number of bytes. */
static int decode(const uint8_t *from, int32_t *character) {
  if (from[0] < 0xE0) {
    *character = (from[0] & 0x1F) << 6 | (from[1] & 0x3F);
    return 2;
  }
  if (from[0] < 0xF0) {
    *character = (from[0] & 0x0F) << 12 | (from[1] & 0x3F) << 6 | (from[2] & 0x3F);
    return 3;
  }
  *character = (from[0] & 0x07) << 18 | (from[1] & 0x3F) << 12 | (from[2] & 0x3F) << 6 | (from[3] & 0x3F);
  return 4;
}

static int encode(int32_t character, char *to) {
  if (character < 0x800) {
    to[0] = (char)(0xC0 | character >> 6), to[1] = (char)(0x80 | (character & 0x3F));
    return 2;
  }
  if (character < 0x10000) {
    to[0] = (char)(0xE0 | character >> 12), to[1] = (char)(0x80 | (character >> 6 & 0x3F));
    to[2] = (char)(0x80 | (character & 0x3F));
    return 3;
  }
  to[0] = (char)(0xF0 | character >> 18), to[1] = (char)(0x80 | (character >> 12 & 0x3F));
  to[2] = (char)(0x80 | (character >> 6 & 0x3F)), to[3] = (char)(0x80 | (character & 0x3F));
  return 4;
}

enum { SPACE, LETTER, DIGIT, OTHER, BEYOND };
static uint8_t kinds[256], lower[256]; /* filled when the module is imported */

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

enum { FINE = 0, UNSUITABLE = 1, NO_MEMORY = -1 };

/* Appends the ids of one text, at most `limit`. An unsuitable text appends nothing, but its words before the unsuitable
 * character may have been added to the table. */
static int scan_text(struct table *table, const char *text, Py_ssize_t size, int64_t limit, char *folded, struct output *output) {
  const uint8_t *at = (const uint8_t *)text, *end = at + size;
  uint64_t start = output->count;
  for (const uint8_t *byte = at; byte < end; byte++)
    if (*byte >= 0x80) {
      int32_t character;
      byte += decode(byte, &character) - 1;
      if (fold(character) < 0) return UNSUITABLE;
    }
  while (at < end && (int64_t)(output->count - start) < limit) {
    uint32_t hash = HASH_START, id;
    uint64_t length = 0;
    switch (kinds[*at]) {
    case SPACE:
      at++;
      continue;
    case LETTER:
      for (; at < end && (kinds[*at] == LETTER || kinds[*at] == DIGIT); at++) {
        char letter = (char)lower[*at];
        folded[length++] = letter;
        hash = HASH_NEXT(hash, letter);
      }
      break;
    case BEYOND: {
      int32_t character;
      at += decode(at, &character);
      character = fold(character);
      if (!character) continue;
      length = (uint64_t)encode(character, folded);
      for (uint64_t i = 0; i < length; i++) hash = HASH_NEXT(hash, folded[i]);
      break;
    }
    default:
      folded[length++] = (char)*at;
      hash = HASH_NEXT(hash, *at);
      at++;
    }
    id = intern(table, folded, length, hash);
    if (!id || put(output, id)) return NO_MEMORY;
  }
  if (output->count == start && put(output, 0)) return NO_MEMORY;
  return FINE;
}

static int claim(Words *self) {
  if (self->busy) {
    PyErr_SetString(PyExc_RuntimeError, "these words are in use by another thread");
    return -1;
  }
  self->busy = 1;
  return 0;
}

static PyObject *Words_scan(Words *self, PyObject *arguments) {
  PyObject *sequence, *result = NULL;
  Py_ssize_t limit;
  if (!PyArg_ParseTuple(arguments, "On", &sequence, &limit)) return NULL;
  PyObject *texts = PySequence_Tuple(sequence); /* a new tuple, which cannot change while the lock is released */
  if (!texts) return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(texts), longest = 0;
  size_t entries = count ? (size_t)count : 1;
  const char **starts = malloc(entries * sizeof *starts);
  Py_ssize_t *sizes = malloc(entries * sizeof *sizes);
  int32_t *lengths = malloc(entries * sizeof *lengths);
  struct output output = {0};
  char *folded = NULL;
  int state = FINE, claimed = 0;
  if (!starts || !sizes || !lengths) {
    PyErr_NoMemory();
    goto end;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *text = PyTuple_GET_ITEM(texts, i);
    if (!PyUnicode_Check(text)) {
      PyErr_Format(PyExc_TypeError, "text %zd is of type %s: expected str", i, Py_TYPE(text)->tp_name);
      goto end;
    }
    starts[i] = PyUnicode_AsUTF8AndSize(text, &sizes[i]);
    if (!starts[i]) goto end;
    if (sizes[i] > longest) longest = sizes[i];
  }
  folded = malloc((size_t)longest + 8);
  if (!folded) {
    PyErr_NoMemory();
    goto end;
  }
  if (claim(self)) goto end;
  claimed = 1;
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; i < count && state != NO_MEMORY; i++) {
    uint64_t before = output.count;
    state = scan_text(&self->table, starts[i], sizes[i], limit, folded, &output);
    lengths[i] = state == UNSUITABLE ? -1 : (int32_t)(output.count - before);
  }
  Py_END_ALLOW_THREADS
  if (state == NO_MEMORY) {
    PyErr_NoMemory();
    goto end;
  }
  result = Py_BuildValue(
      "NN", PyBytes_FromStringAndSize((const char *)output.ids, (Py_ssize_t)(output.count * sizeof *output.ids)),
      PyBytes_FromStringAndSize((const char *)lengths, (Py_ssize_t)((size_t)count * sizeof *lengths)));
end:
  if (claimed) self->busy = 0;
  free(starts);
  free(sizes);
  free(lengths);
  free(folded);
  free(output.ids);
  Py_DECREF(texts);
  return result;
}

static PyObject *Words_number(Words *self, PyObject *word) {
  Py_ssize_t size;
  const char *letters = PyUnicode_AsUTF8AndSize(word, &size);
  if (!letters || claim(self)) return NULL;
  uint32_t hash = HASH_START;
  for (Py_ssize_t i = 0; i < size; i++) hash = HASH_NEXT(hash, letters[i]);
  uint32_t id = intern(&self->table, letters, (uint64_t)size, hash);
  self->busy = 0;
  return id ? PyLong_FromUnsignedLong(id) : PyErr_NoMemory();
}

static PyObject *Words_spelling(Words *self, PyObject *number) {
  int64_t id = PyLong_AsLongLong(number);
  if (id == -1 && PyErr_Occurred()) return NULL;
  if (id < 1 || (uint64_t)id > self->table.count) return PyErr_Format(PyExc_IndexError, "no word has the number %lld", (long long)id);
  uint64_t start = self->table.ends[id - 1], size = self->table.ends[id] - start;
  return PyUnicode_DecodeUTF8(self->table.letters + start, (Py_ssize_t)size, "strict");
}

static Py_ssize_t Words_length(PyObject *self) { return (Py_ssize_t)((Words *)self)->table.count; }

static PyObject *Words_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)keywords;
  if (!PyArg_ParseTuple(arguments, "")) return NULL;
  Words *self = (Words *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  if (table_start(&self->table)) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  return (PyObject *)self;
}

static void Words_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  table_end(&((Words *)self)->table);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"scan", (PyCFunction)(void (*)(void))Words_scan, METH_VARARGS,
     "Ids of the texts one after the other and how many each has (-1: unsuitable), both as int32 bytes."},
    {"number", (PyCFunction)(void (*)(void))Words_number, METH_O, "The number of a word, a new one if it was not known."},
    {"spelling", (PyCFunction)(void (*)(void))Words_spelling, METH_O, "The word of a number."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Distinct words, numbered from 1 in the order of their first appearance."},
    {Py_tp_new, Words_new},
    {Py_tp_dealloc, Words_dealloc},
    {Py_tp_methods, methods},
    {Py_sq_length, Words_length},
    {0, NULL},
};

static PyType_Spec specification = {"capsulet.native._words.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT, slots};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_words", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__words(void) {
  for (int byte = 0; byte < 256; byte++) {
    int letter = byte | 0x20;
    lower[byte] = (uint8_t)(byte >= 'A' && byte <= 'Z' ? letter : byte);
    kinds[byte] = byte >= 0x80                              ? BEYOND
                  : (byte >= 9 && byte <= 13) || byte == 32 ? SPACE
                  : byte >= '0' && byte <= '9'              ? DIGIT
                  : byte < 0x80 && letter >= 'a' && letter <= 'z' ? LETTER
                                                            : OTHER;
  }
  PyObject *created = PyModule_Create(&module);
  if (!created) return NULL;
  PyObject *type = PyType_FromSpec(&specification);
  if (!type || PyModule_AddObject(created, "Words", type)) {
    Py_XDECREF(type);
    Py_DECREF(created);
    return NULL;
  }
  return created;
}
