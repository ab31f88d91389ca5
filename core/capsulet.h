/* capsulet: run a text classifier. C11, no dependency, no global state.
 *
 * A model is the bytes of a model file (docs/reference/format.md). Texts are UTF-8. A model is never changed after
 * capsulet_open, so any number of threads may use it at the same time. The bytes must stay in place until capsulet_close.
 *
 *   capsulet_model *model;
 *   char message[CAPSULET_MESSAGE];
 *   if (capsulet_open(bytes, size, CAPSULET_AUTO, &model, message)) { puts(message); exit(1); }
 *   float lengths[MANY];                                  one per class
 *   capsulet_classify(model, &text, &text_size, 1, CAPSULET_TEXT, lengths, NULL);
 *
 * Letters: n texts, T tokens of a text, C classes, N primary capsules, V entries of the vocabulary.
 */
#ifndef CAPSULET_H
#define CAPSULET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct capsulet_model capsulet_model;

enum { CAPSULET_MESSAGE = 256 }; /* room for a message, with the final 0 */

/* Results of functions that return int. */
enum {
  CAPSULET_OK = 0,
  CAPSULET_DAMAGED = -1,  /* the bytes are not a model, are damaged, or give numbers that are not finite */
  CAPSULET_NO_MEMORY = -2,
  CAPSULET_IMPOSSIBLE = -3, /* the model cannot do what was asked */
};

/* Arithmetic of the network. The integers of CAPSULET_INT8 are the same on every machine, and so is every result. */
enum { CAPSULET_AUTO = 0 /* CAPSULET_INT8 */, CAPSULET_FLOAT32 = 1, CAPSULET_INT8 = 2 };

/* Opens a model; every size in the bytes is checked. `message` (CAPSULET_MESSAGE bytes) says what is wrong. */
int capsulet_open(const void *bytes, size_t size, int precision, capsulet_model **model, char *message);
void capsulet_close(capsulet_model *model);

/* Compares the checksum in the bytes of a model file with the bytes: CAPSULET_OK or CAPSULET_DAMAGED. */
int capsulet_verify(const void *bytes, size_t size);

struct capsulet_facts {
  int32_t classes;     /* C */
  int32_t vocabulary;  /* V; ids from V on are unknown words that are read as the known word id - V */
  int32_t unknown;     /* id of the unknown word; known words have the ids from unknown + 1 to V - 1 */
  int32_t max_tokens;  /* tokens read per text */
  int32_t multi_label; /* 1: a text may have any number of labels */
  int32_t primary;     /* N */
  int32_t codebooks;   /* 0: the words have no codes */
  int32_t codewords;   /* per codebook */
  int32_t calibrated;  /* 1: capsulet_probabilities gives calibrated probabilities */
  int32_t ngrams;      /* 1: the model has n-gram features */
  int32_t linear_only; /* 1: it has n-gram features only, and no network */
  int32_t precision;   /* CAPSULET_FLOAT32 or CAPSULET_INT8 */
  const char *config;  /* the configuration, JSON, inside the bytes of the model */
  size_t config_size;
  const char *kernel;  /* name of the instruction set in use */
};
void capsulet_describe(const capsulet_model *model, struct capsulet_facts *facts);

/* Label of a class, or word of an id below V: UTF-8 without a final 0. NULL for other numbers. */
const char *capsulet_label(const capsulet_model *model, int32_t class, size_t *size);
const char *capsulet_word(const capsulet_model *model, int32_t id, size_t *size);

struct capsulet_token {
  int32_t id;
  uint32_t start, end; /* bytes of the text */
};
/* Forms of a text: as people write it, or its tokens as the model spells them (capsulet_spell), with a space between them. */
enum { CAPSULET_TEXT = 0, CAPSULET_SPELLED = 1 };
/* Tokens of a text, at most max_tokens, and their number. At most `room` of them are written; a text of `size` bytes has
 * at most size + 1. A text without a token has one unknown word at 0 to 0. Bytes that are not UTF-8 are tokens. */
size_t capsulet_tokenize(const capsulet_model *model, const char *text, size_t size, int form, struct capsulet_token *tokens, size_t room);
/* Writes the tokens of a text as the model spells them, with a space after each, if `room` is enough; returns the bytes needed.
 * A token of more than 255 bytes is cut off there, with an ellipsis. */
size_t capsulet_spell(const capsulet_model *model, const char *text, size_t size, char *spelled, size_t room);

/* Class lengths (n, C) of texts and, unless it is NULL, the share of unknown words (n). */
int capsulet_classify(const capsulet_model *model, const char *const *texts, const size_t *sizes, size_t n, int form, float *lengths,
                      float *unknown);

/* Scores (C) of the n-gram features of a text with their bias; zeros if the model has no such features. An ONNX export needs
 * them as its input `ngrams`. */
int capsulet_ngrams(const capsulet_model *model, const char *text, size_t size, int form, float *scores);

/* Probabilities (n, C) of class lengths (n, C). */
void capsulet_probabilities(const capsulet_model *model, const float *lengths, size_t n, double *probabilities);

/* Whether each label is given at these lengths (C): the longest, or with multi_label all that reach their threshold. */
void capsulet_given(const capsulet_model *model, const float *lengths, uint8_t *given);

struct capsulet_request { /* NAN: not requested */
  int abstain;            /* 1: abstain on texts unlike the training texts */
  double coverage;        /* answer at least this share of texts */
  double max_error;       /* at most this share of the answers is wrong */
  double sets;            /* label sets that contain the true label with at least this probability */
};
struct capsulet_rules { /* the smallest values of a text that gets an answer; -INFINITY: none. NAN: not requested */
  double confidence, certainty, set_score;
  int32_t texts; /* validation texts behind the values */
};
/* Thresholds for a request, from the values of the validation texts in the model. CAPSULET_IMPOSSIBLE and a message if the model
 * has none, or too few. */
int capsulet_rules_for(const capsulet_model *model, const struct capsulet_request *request, struct capsulet_rules *rules,
                       char *message);
/* How similar a text of these lengths (C) and share of unknown words is to any of the classes, and to exactly one. */
double capsulet_confidence(const capsulet_model *model, const float *lengths, double unknown);
double capsulet_certainty(const capsulet_model *model, const float *lengths, double unknown);
/* Whether the model abstains on a text of these lengths (C) and share of unknown words: 0 no, 1 low confidence, 2 unknown words. */
int capsulet_abstains(const capsulet_model *model, const struct capsulet_rules *rules, const float *lengths, double unknown);
/* The label set of a text, most probable first: writes classes (room for C), returns how many. */
size_t capsulet_label_set(const capsulet_model *model, const struct capsulet_rules *rules, const float *lengths, int32_t *classes);

/* Where to write an explanation of one text of T tokens for `wanted` classes; pointers may be NULL. */
struct capsulet_explanation {
  float *lengths;       /* (C) */
  float *norms;         /* (C) lengths before squash; linear head: logits */
  float *contributions; /* (T, wanted) of each token; they sum to norms */
  float *ngrams;        /* (T, wanted) part of the n-gram features in contributions */
  float *coupling;      /* (N, wanted) of each primary capsule with each class */
  float *shares;        /* (N, wanted) of each primary capsule in norms; with ngrams they sum to norms */
};
/* T is what capsulet_tokenize returns. After an error, what was written means nothing. */
int capsulet_explain(const capsulet_model *model, const char *text, size_t size, int form, const int32_t *classes, size_t wanted,
                     const struct capsulet_explanation *explanation);

/* Weights of all codewords (codebooks * codewords) for the word of an id. */
int capsulet_codes(const capsulet_model *model, int32_t id, float *weights);
/* Known words with the most similar codes, most similar first: `count` is the room in `nearest`, then how many there are. */
int capsulet_nearest(const capsulet_model *model, int32_t id, int32_t *nearest, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
