/* A text to what a model reads: ids of known words, vectors of unknown words, and n-gram features. */
#include "ngrams.h"

#include "numbers.h"

struct pieces { /* sum of the rows of the pieces of a word */
  const capsulet_model *model;
  size_t size; /* numbers of a row */
  float *sum;
  uint32_t count;
};

static void add_piece(void *to, uint64_t hash, uint32_t first, uint32_t tokens) {
  (void)first, (void)tokens;
  struct pieces *pieces = to;
  const uint16_t *row = pieces->model->piece_codes + code_row(hash, pieces->model->piece_rows) * pieces->size;
  for (size_t i = 0; i < pieces->size; i++) pieces->sum[i] += half_float(row[i]);
  pieces->count++;
}

/* Appends the vector of an unknown word, the mean of the codes of its pieces. Sets its id, unless the word has no pieces. */
static int add_vector(const capsulet_model *model, const struct word *word, struct reading *reading, int32_t *id) {
  size_t codes = (size_t)model->codebooks * (size_t)model->codewords, width = (size_t)model->padded_size;
  struct pieces pieces = {.model = model, .size = model->embedding == EMBEDDING_TABLE ? (size_t)model->size : codes};
  if (!reading->row) {
    reading->row = reserve(pieces.size, sizeof *reading->row);
    reading->weights = reserve(codes + UNITS, sizeof *reading->weights);
    if (!reading->row || !reading->weights) return CAPSULET_NO_MEMORY;
  }
  if (reading->vector_count == reading->vector_room) {
    size_t room = reading->vector_room ? 2 * reading->vector_room : 64;
    float *longer = fits(room, width * sizeof *longer) ? realloc(reading->vectors, room * width * sizeof *longer) : NULL;
    if (!longer) return CAPSULET_NO_MEMORY;
    reading->vectors = longer, reading->vector_room = room;
  }
  memset(reading->row, 0, pieces.size * sizeof *reading->row);
  pieces.sum = reading->row;
  struct ngrams reader = {.pieces = model->pieces, .to = &pieces};
  code_pieces(&reader, word->letters, word->size, add_piece);
  if (!pieces.count) return CAPSULET_OK;
  for (size_t i = 0; i < pieces.size; i++) reading->row[i] /= (float)pieces.count;
  float *vector = reading->vectors + reading->vector_count * width;
  if (!all_finite(reading->row, pieces.size) || !vector_of_row(model, reading->row, reading->weights, vector)) return CAPSULET_DAMAGED;
  *id = -1 - (int32_t)reading->vector_count++;
  return CAPSULET_OK;
}

int read_text(const capsulet_model *model, const char *text, size_t size, int form, struct reading *reading, struct hits *hits,
              int32_t *unknown) {
  struct reader reader = text_reader(model, text, size, form);
  struct word word;
  int result = CAPSULET_OK;
  *unknown = 0;
  if (hits) hits_start(hits, model);
  for (int32_t count = 0; !result && count < model->max_tokens; count++) {
    bool more = next_word(&reader, &word);
    if (!more && count) break;
    int32_t id = more ? word_id(model, &word) : model->unknown; /* a text without a token is one unknown word */
    if (reading->count == reading->room) {
      size_t room = reading->room ? 2 * reading->room : 1024;
      int32_t *longer = fits(room, sizeof *longer) ? realloc(reading->ids, room * sizeof *longer) : NULL;
      if (!longer) return CAPSULET_NO_MEMORY;
      reading->ids = longer, reading->room = room;
    }
    *unknown += id == model->unknown || id >= model->vocabulary;
    if (more && hits) hits_word(hits, &word);
    bool pieces = more && id == model->unknown && model->piece_rows && word.size <= LONGEST_WORD;
    if (pieces) result = add_vector(model, &word, reading, &id);
    reading->ids[reading->count++] = id;
    if (!more) break;
  }
  return hits && !result ? hits_end(hits) : result;
}

int read_ngrams(const capsulet_model *model, const char *text, size_t size, int form, struct hits *hits, int32_t *tokens,
                  int32_t *unknown) {
  struct reader reader = text_reader(model, text, size, form);
  struct word word;
  int32_t count = 0, unknown_words = 0;
  hits_start(hits, model);
  for (; count < model->max_tokens && next_word(&reader, &word); count++) {
    if (unknown) __builtin_prefetch(model->words.slots + (word.hash & model->words.mask)); /* is_known reads it */
    hits_word(hits, &word);
    if (unknown) unknown_words += !is_known(model, &word);
  }
  *tokens = count ? count : 1;                  /* a text without a token is one unknown word */
  if (unknown) *unknown = count ? unknown_words : 1;
  return hits_end(hits);
}

void reading_free(struct reading *reading) {
  free(reading->ids);
  free(reading->vectors);
  free(reading->row);
  free(reading->weights);
}
