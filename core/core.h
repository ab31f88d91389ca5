/* What the files of the core share. Axis letters: B texts, T tokens, V vocabulary, M codebooks, K codewords, D embedding,
 * H hidden, N primary capsules, P primary capsule length, C classes, L class capsule length, S rows of the n-gram table. */
#ifndef CAPSULET_CORE_H
#define CAPSULET_CORE_H

#include "capsulet.h"
#include "memory.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the numbers of a model file are little-endian and are read in place"
#endif

/* ---- json.c ---- */

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
  uint32_t start, end; /* of the value in the text; a string without its quotes */
  uint32_t next;       /* node after this value and everything inside it */
  uint32_t kind;
};

struct json {
  const char *text;
  struct json_node *nodes; /* a value, then the values inside it; an object has keys and values in turn */
  uint32_t count;
};

/* Parses a whole text; a text that is not JSON, or nested deeper than 64, is CAPSULET_DAMAGED. */
int json_parse(struct json *json, const char *text, size_t size);
void json_free(struct json *json);
/* Value of a key of an object, 0 if there is none (node 0 is the whole text, so it is never a value of a key). */
uint32_t json_get(const struct json *json, uint32_t object, const char *key);
/* The same, through several objects: "options.model.head". */
uint32_t json_find(const struct json *json, const char *path);
bool json_is(const struct json *json, uint32_t node, const char *string);
uint32_t json_children(const struct json *json, uint32_t array);
bool json_number(const struct json *json, uint32_t node, double *value);
bool json_integer(const struct json *json, uint32_t node, int64_t low, int64_t high, int64_t *value);
/* Writes the characters of a string as UTF-8 to `to`, which has room for end - start bytes; returns how many, or
 * SIZE_MAX for an unpaired surrogate. */
size_t json_decode(const struct json *json, uint32_t node, char *to);

/* ---- file.c ---- */

enum dtype { TYPE_U8, TYPE_I8, TYPE_U16, TYPE_F16, TYPE_U32, TYPE_F32, TYPE_OTHER };

struct tensor {
  const uint8_t *data; /* aligned to the size of its elements; NULL: the file does not have it */
  enum dtype dtype;
  uint32_t axes;
  uint64_t shape[4];
  uint64_t count; /* elements */
};

struct file {
  const uint8_t *bytes;
  size_t size, start; /* start of the tensors */
  struct json header;
  int64_t version;
};

/* Reads the header and checks the place of every tensor. */
int file_open(struct file *file, const void *bytes, size_t size, char *message);
void file_close(struct file *file);
/* The tensor of a name; its data is NULL if there is none. */
struct tensor file_tensor(const struct file *file, const char *name);

int fail(char *message, const char *text); /* copies the text, returns CAPSULET_DAMAGED */

/* ---- inflate.c ---- */

/* Unpacks a raw deflate stream of exactly `size` bytes. The output is allocated, and at most `most` bytes. */
int inflate_raw(const uint8_t *from, size_t size, size_t most, uint8_t **output, size_t *output_size);

/* ---- tokens.c ---- */

#define HASH_START 2166136261u
#define HASH_NEXT(hash, letter) (((hash) ^ (uint8_t)(letter)) * 16777619u) /* FNV-1a */
#define HASH_END(hash) ((hash) ^ (hash) >> 15)                             /* the low bits of FNV are weak */

enum { LONGEST_WORD = 255 }; /* bytes of a word that can be known; a longer token is unknown */

enum rule { RULE_PAPER, RULE_UNICODE, RULE_SPELLED }; /* spelled: tokens with a space between them */
enum kind { KIND_WORD, KIND_NUMBER, KIND_URL, KIND_NAME, KIND_TAG, KIND_ADDRESS, KIND_EMOJI, KIND_SYMBOL, KIND_CHARACTER };

struct reader { /* reads the tokens of a text one by one */
  const uint8_t *text;
  size_t size, at;
  enum rule rule;
  int dot; /* paper's rule, 1: the combining dot of a lower-cased U+0130 is the next token */
};

struct word { /* one token: its place in the text and its spelling */
  size_t start, end;
  enum kind kind; /* KIND_WORD for every token of the paper's rule; KIND_CHARACTER: of a script without spaces */
  uint32_t size; /* bytes of its spelling; more than LONGEST_WORD: cut off */
  uint32_t hash;
  char letters[LONGEST_WORD + 5];
};

bool next_word(struct reader *reader, struct word *word);
/* Reads one character of `left` bytes; returns its bytes. A byte that is not UTF-8 is the character U+FFFD, of one byte. */
size_t read_character(const uint8_t *from, size_t left, uint32_t *character);
uint32_t write_character(uint32_t c, char *to); /* as UTF-8; returns its bytes */
void finish_word(struct word *word);            /* computes the hash of the spelling */
struct reader text_reader(const capsulet_model *model, const char *text, size_t size, int form);
int32_t word_id(const capsulet_model *model, const struct word *word);
bool is_known(const capsulet_model *model, const struct word *word);

/* ---- unicode_tokens.c ---- */

enum { LONGEST_SHAPE = 12 };

bool next_unicode_word(struct reader *reader, struct word *word);
/* Whether a spelling is a character of a script without spaces, or a Hangul syllable. */
bool is_lone_character(const char *letters, uint32_t size);
uint32_t word_shape(const char *letters, uint32_t size, char *shape); /* of an unknown number, link, name...; 0: none */

/* ---- words.c ---- */

struct words {
  uint32_t count;         /* W */
  const uint8_t *letters; /* of all words, one after the other */
  const uint32_t *ends;   /* (W) */
  const uint32_t *slots;  /* hash table: number of a word plus 1, or 0 */
  uint32_t mask;          /* number of slots - 1 */
  const uint32_t *order;  /* (W) words sorted by their bytes; NULL: unknown words are not read as known ones */
  size_t letters_size;
  void *own; /* memory of a dictionary that was unpacked */
};

int words_open(struct words *words, const struct file *file, uint32_t count, bool similar, bool packed, char *message);
int64_t words_find(const struct words *words, const struct word *word);    /* number of a word, or -1 */
int64_t words_shape(const struct words *words, const struct word *word);   /* of its shape, -1: unknown, -2: it has none */
int64_t words_similar(const struct words *words, const struct word *word); /* of the known word it is read as, or -1 */

/* ---- model.c ---- */

/* Weights of one direction of a GRU layer. Units are in blocks of 16, padded with zeros. A block has its three gates one
 * after the other (reset, update, new). int8: each gate has, for every four inputs, 16 units x 4 bytes. float: each gate has,
 * for every input, 16 units. */
struct weights {
  int32_t inputs;      /* of the matrix, padded to a multiple of 4 */
  void *memory;        /* of all that follows */
  int8_t *bytes;       /* int8 */
  float *scales;       /* int8: (blocks, 3, 16); of recurrent weights, with the scale of the states */
  float state_scale;   /* 1/127 for recurrent weights, else 1 */
  int32_t *offsets;    /* int8: (blocks, 3, 16) -128 times the sum of the bytes of a row */
  float *floats;       /* float32 */
};

struct direction {
  struct weights input, recurrent;
  float *bias;     /* (blocks, 3, 16): input bias, and for reset and update also the recurrent bias */
  float *new_bias; /* (blocks, 16): recurrent bias of the new gate */
};

enum { MOST_LAYERS = 8, UNITS = 16, MOST_TOKENS = 1 << 20 }; /* per text */

enum scale { SCALE_LENGTH, SCALE_LOG, SCALE_LOGIT, SCALE_NORM };
enum method { METHOD_NONE, METHOD_TEMPERATURE, METHOD_PLATT, METHOD_ISOTONIC, METHOD_EACH };

struct ranking { /* validation texts by a value, highest first */
  uint32_t count;
  double *values;
  double *reached, *wrong; /* how many texts reach each value, and how many of those were wrong */
};

struct capsulet_model {
  struct file file;
  struct json config;
  struct words words;
  bool integers; /* int8 */
  const struct kernel *kernel;
  int32_t classes, vocabulary, unknown, first_word, max_tokens;
  bool similar, multi_label;
  bool packed;      /* a compressed file */
  bool linear_only; /* no network: N is 1, and all sizes of the embedding, the encoder and the head are 0 */
  enum rule rule; /* of the tokens */
  char *label_letters;
  size_t *label_ends; /* (C) */

  /* embedding: weights of codes (M K), or one choice per codebook, or a table */
  enum { EMBEDDING_WEIGHTED, EMBEDDING_CHOSEN, EMBEDDING_TABLE, EMBEDDING_PACKED } embedding;
  int32_t codebooks, codewords, size, padded_size; /* M, K, D, D padded to 16 */
  const float *codes;       /* (V, M K) or the table (V, D) */
  const uint8_t *choices;   /* (V, bytes) packed */
  float *codebook;          /* (M K, padded D) */
  const uint16_t *piece_codes; /* (pieces, M K) or (pieces, D), half floats: rows of the pieces of unknown words; NULL: none */
  uint32_t piece_rows;

  /* encoder */
  int32_t hidden, blocks, layers; /* H, H / 16 rounded up */
  struct direction directions[MOST_LAYERS][2];
  float mean_share; /* of the mean in the pooling; the rest is the maximum */

  /* head */
  bool capsules, dynamic, dot, scale_coupling;
  int32_t primary, primary_length, class_length, iterations; /* N, P, L */
  const float *head;      /* (N, P, C, L) or (C, H) */
  float *own_head;

  /* n-gram features */
  uint32_t ngram_rows; /* S; 0: none */
  bool ngram_counts;   /* a feature counts by its occurrences in the text; else once */
  int32_t ngram_bits;
  size_t ngram_row_bytes;
  const uint8_t *ngram_levels;
  const float *ngram_scales, *ngram_bias;
  const uint8_t *ngram_checks; /* (S) check of the feature in each row; 0: none */
  int32_t pieces;              /* characters of the longest piece of a word; 0: none */

  /* answers */
  double *thresholds; /* (C) multi-label */
  enum method method;
  enum scale scale;
  double factor, slope, offset;
  uint32_t knots;
  double *knot_places, *knot_values;
  struct ranking confidence, certainty, set_score;
  bool ranked;
};

/* ---- network.c ---- */

int32_t known_id(const capsulet_model *model, int32_t id); /* the id that the network reads */
void code_weights(const capsulet_model *model, int32_t id, float *weights); /* (M K) of a known id */
/* The vector (padded D) of a row of codes (M K) or of a table (D); `weights` is room for M K + 16. False: it is not finite. */
bool vector_of_row(const capsulet_model *model, const float *row, float *weights, float *vector);

/* What the network reads of some texts. A negative id is an unknown word, whose vector was made of its pieces: -1 the first. */
struct reading {
  int32_t *ids;
  size_t count, room;
  float *vectors; /* (padded D) each */
  size_t vector_count, vector_room;
  float *row, *weights; /* scratch memory */
};

struct hits;
/* Appends the tokens of a text; `hits`, unless it is NULL, gets its n-gram features. `unknown` is the number of unknown words. */
int read_text(const capsulet_model *model, const char *text, size_t size, int form, struct reading *reading, struct hits *hits,
              int32_t *unknown);
void reading_free(struct reading *reading);
/* The n-gram features of a text, and its tokens. `unknown` is the number of unknown words, unless it is NULL. */
int read_ngrams(const capsulet_model *model, const char *text, size_t size, int form, struct hits *hits, int32_t *tokens,
                  int32_t *unknown);

/* What the encoder computed for one text: states, gates, and what enters and leaves tanh; each (T, blocks, 16). */
struct trace {
  float *states[MOST_LAYERS][2], *reset[MOST_LAYERS][2], *update[MOST_LAYERS][2];
  float *before[MOST_LAYERS][2], *after[MOST_LAYERS][2]; /* of tanh */
  float *embedded;                                       /* (T, padded D) */
};

struct classes;
/* Runs one text with the scores of its n-gram features, or NULL, and keeps what it computed. It writes the pooled state (H) to
 * `pooled`. `head` is scratch memory of the head; afterwards `classes` points into it. */
int trace_text(const capsulet_model *model, const struct reading *reading, const float *ngrams, struct trace *trace, float *pooled,
               float *head, struct classes *classes);

/* ---- linear.c ---- */

/* What capsulet_classify and capsulet_explain do for a model without a network. */
int classify_features(const capsulet_model *model, const char *const *texts, const size_t *sizes, size_t n, int form, float *lengths,
                      float *unknown);
int explain_features(const capsulet_model *model, const char *text, size_t size, int form, const int32_t *wanted_classes, size_t wanted,
                     const struct capsulet_explanation *explanation);

/* ---- head.c ---- */

struct classes { /* of one text; only lengths must have room, the others are set to parts of the scratch memory */
  float *lengths;  /* (C) */
  float *norms;    /* (C) */
  float *coupling; /* (N, C) */
  float *capsules; /* (C, L) before squash */
};

uint64_t head_room(const capsulet_model *model); /* floats of scratch memory */
/* CAPSULET_DAMAGED if a length is not finite. Without a network, `pooled` is not read. */
int head_run(const capsulet_model *model, const float *pooled, const float *ngrams, float *scratch, struct classes *classes);

/* ---- calibration.c ---- */

int calibration_open(capsulet_model *model, char *message);

/* ---- kernels.c ---- */

enum { MOST_TEXTS = 8 }; /* texts that one step of the encoder runs together */

struct step_trace { /* where a step of one text writes its gates and what enters and leaves tanh; each (blocks, 16) */
  float *reset, *update, *before, *after;
};

struct kernel { /* functions of an instruction set; those in pairs are for float32 and for int8 */
  const char *name;
  uint8_t flip; /* a quantised number q is stored as q ^ flip: 0x80 if the kernel multiplies unsigned by signed bytes */
  /* y (n, blocks, 3, 16) = weights x + bias of n rows x; int8: with the scale of each row (n) */
  void (*project[2])(const capsulet_model *model, const struct direction *direction, const void *const *rows, const float *scales,
                     int64_t n, float *y);
  /* One step of some texts: `projected` has the row of y of each. int8: changes `states` (texts, blocks, 16), and reads and
   * writes quantised states. float32: reads states in `before` and writes them to `after`. */
  void (*step[2])(const capsulet_model *model, const struct direction *direction, const float *const *projected, int32_t texts,
                  float *states, const uint8_t *before, uint8_t *after, const struct step_trace *trace);
  /* Sum of `count` rows (size) times their weights; size is a multiple of 16. */
  void (*combine)(const float *weights, const float *rows, int64_t count, int64_t size, float *sum);
};

const struct kernel *best_kernel(void);
/* For tests: makes a model use the kernel of this name; CAPSULET_IMPOSSIBLE if there is none. */
int capsulet_choose_kernel(capsulet_model *model, const char *name);
const struct kernel *kernel_named(const char *name); /* NULL: this processor or build does not have it */

#endif
