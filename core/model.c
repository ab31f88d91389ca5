/* Opening a model: the configuration, and weights in the layout of the kernels. */
#include "ngrams.h"

#include "numbers.h"

enum { LARGEST_SIZE = 4096, MOST_ITERATIONS = 100, FEWEST_BITS = 2 };
enum { MOST_ROWS = 1 << 24 }; /* of the n-gram table: a sum of all of them fits into 32 bits */

/* ---- matrices ---- */

struct matrix { /* in the file: floats, or numbers of few bits with a scale per row */
  const float *floats;
  const uint8_t *packed;
  const uint8_t *scales; /* 16-bit floats */
  int bits;
  uint64_t rows, columns;
};

static float row_scale(const struct matrix *matrix, uint64_t row) {
  return half_float((uint16_t)(matrix->scales[2 * row] | matrix->scales[2 * row + 1] << 8));
}

static bool finite(float value) { return value - value == 0; }

static int find_matrix(const struct file *file, const char *name, uint64_t rows, uint64_t columns, struct matrix *matrix, char *message) {
  char scales_name[96];
  size_t size = strlen(name);
  struct tensor tensor = file_tensor(file, name), scales = {0};
  *matrix = (struct matrix){.rows = rows, .columns = columns};
  if (size + 8 <= sizeof scales_name) {
    memcpy(scales_name, name, size);
    memcpy(scales_name + size, ".scales", 8);
    scales = file_tensor(file, scales_name);
  }
  if (tensor.data && tensor.dtype == TYPE_F32 && tensor.count == rows * columns) {
    matrix->floats = (const float *)(const void *)tensor.data;
    return CAPSULET_OK;
  }
  bool fine = tensor.data && tensor.dtype == TYPE_U8 && tensor.axes == 2 && scales.data && scales.dtype == TYPE_F16;
  fine = fine && tensor.shape[1] >= FEWEST_BITS && tensor.shape[1] <= 8 && tensor.shape[0] == (rows * columns + 7) / 8;
  if (!fine || scales.count != rows) return fail(message, "a weight of the network is missing or of another size");
  matrix->packed = tensor.data, matrix->scales = scales.data, matrix->bits = (int)tensor.shape[1];
  for (uint64_t row = 0; row < rows; row++)
    if (!finite(row_scale(matrix, row))) return fail(message, "a scale of its weights is not a finite number");
  return CAPSULET_OK;
}

/* Number `place` of a packed matrix. */
static int32_t level(const struct matrix *matrix, uint64_t place) {
  uint64_t group = 0;
  const uint8_t *bytes = matrix->packed + place / 8 * (uint64_t)matrix->bits;
  for (int i = 0; i < matrix->bits; i++) group |= (uint64_t)bytes[i] << (8 * i);
  int32_t field = (int32_t)(group >> (place % 8 * (uint64_t)matrix->bits)) & ((1 << matrix->bits) - 1);
  return field - (1 << (matrix->bits - 1));
}

static float number(const struct matrix *matrix, uint64_t row, uint64_t column) {
  uint64_t place = row * matrix->columns + column;
  return matrix->floats ? matrix->floats[place] : (float)level(matrix, place) * row_scale(matrix, row);
}

/* All numbers of a matrix as new floats; NULL without memory. */
static float *numbers(const struct matrix *matrix) {
  float *values = reserve(matrix->rows * matrix->columns, sizeof *values);
  for (uint64_t row = 0; values && row < matrix->rows; row++)
    for (uint64_t column = 0; column < matrix->columns; column++)
      values[row * matrix->columns + column] = number(matrix, row, column);
  return values;
}

/* ---- the encoder ---- */

struct shape { /* of the inputs of a layer: `parts` parts of `size`, each padded to `padded` */
  int32_t parts, size, padded;
};

/* Rounds a row to bytes and returns their scale. Two neighbours are at most 128 together, so that pairs of products with
 * unsigned bytes fit into 16 bits (kernels.c). Pairs are counted within a part of the inputs, as in the layout of the kernels.
 * A row of few bits is taken as it is if it keeps that bound. `values` is room for a row. */
static float round_row(const struct matrix *matrix, uint64_t row, struct shape shape, float *values, int8_t *bytes) {
  uint64_t columns = matrix->columns, part = (uint64_t)shape.size;
  if (matrix->packed) {
    bool fits = true;
    for (uint64_t column = 0; column < columns; column++) {
      int32_t value = level(matrix, row * columns + column), before = column % part % 2 ? bytes[column - 1] : 0;
      bytes[column] = (int8_t)value;
      fits &= (value < 0 ? -value : value) + (before < 0 ? -before : before) <= 128;
    }
    if (fits) return row_scale(matrix, row);
  }
  for (uint64_t column = 0; column < columns; column++) values[column] = number(matrix, row, column);
  float top = 0, pair = 0;
  for (uint64_t start = 0; start < columns; start += part)
    for (uint64_t i = 0; i < part; i += 2) {
      float left = magnitude(values[start + i]), right = i + 1 < part ? magnitude(values[start + i + 1]) : 0, both = left + right;
      top = left > top ? left : top;
      top = right > top ? right : top;
      pair = both > pair ? both : pair;
    }
  float alone = top * (1.0f / 127), together = pair * (1.0f / 127.4f), largest = together > alone ? together : alone;
  float factor = quotient(1, largest);
  for (uint64_t column = 0; column < columns; column++)
    bytes[column] = (int8_t)((int32_t)bits_of_float(values[column] * factor + ROUND) - ROUND_BITS);
  return largest;
}

/* Fills weights from a matrix (3H, parts * size). */
static int pack_weights(const capsulet_model *model, const struct matrix *matrix, struct shape shape, float state_scale, struct weights *weights) {
  uint64_t blocks = (uint64_t)model->blocks, columns = matrix->columns;
  weights->inputs = shape.parts * shape.padded;
  weights->state_scale = state_scale;
  uint64_t inputs = (uint64_t)weights->inputs, cells = blocks * 3 * UNITS;
  int8_t *row = reserve(columns, 1);
  float *values = reserve(columns, sizeof *values);
  /* all sizes are multiples of LINE */
  uint64_t size = model->integers ? cells * (inputs + sizeof(float) + sizeof(int32_t)) : cells * inputs * sizeof(float);
  weights->memory = reserve_zeros(size + LINE, 1);
  bool memory = row && values && weights->memory, fine = true;
  if (memory && model->integers) {
    weights->bytes = next_line(weights->memory);
    weights->scales = (float *)(void *)(weights->bytes + cells * inputs);
    weights->offsets = (int32_t *)(void *)(weights->scales + cells);
  } else if (memory) {
    weights->floats = next_line(weights->memory);
  }
  for (uint64_t place = 0; memory && place < 3 * (uint64_t)model->hidden; place++) {
    uint64_t gate = place / (uint64_t)model->hidden, unit = place % (uint64_t)model->hidden;
    uint64_t cell = unit / UNITS * 3 + gate, lane = unit % UNITS; /* gate of a block, and place in it */
    if (model->integers) {
      float scale = round_row(matrix, place, shape, values, row);
      int32_t sum = 0;
      fine &= finite(scale);
      weights->scales[cell * UNITS + lane] = scale * state_scale;
      int8_t *to = weights->bytes + cell * inputs * UNITS + lane * 4;
      for (uint64_t part = 0, column = 0; part < (uint64_t)shape.parts; part++)
        for (uint64_t i = 0, input = part * (uint64_t)shape.padded; i < (uint64_t)shape.size; i++, input++, column++) {
          to[input / 4 * UNITS * 4 + input % 4] = row[column];
          sum += row[column];
        }
      if (matrix->floats) fine &= all_finite(matrix->floats + place * columns, columns);
      weights->offsets[cell * UNITS + lane] = -128 * sum;
    } else {
      float *to = weights->floats + cell * inputs * UNITS + lane;
      for (uint64_t part = 0, column = 0; part < (uint64_t)shape.parts; part++)
        for (uint64_t i = 0, input = part * (uint64_t)shape.padded; i < (uint64_t)shape.size; i++, input++, column++) {
          float value = number(matrix, place, column);
          fine &= finite(value);
          to[input * UNITS] = value;
        }
    }
  }
  free(row);
  free(values);
  return !memory ? CAPSULET_NO_MEMORY : fine ? CAPSULET_OK : CAPSULET_DAMAGED;
}

static void name_of(char *to, const char *kind, int layer, int direction) {
  const char *start = "encoder.gru.", *end = direction ? "_reverse" : "";
  size_t at = 0;
  for (const char *from = start; *from; from++) to[at++] = *from;
  for (const char *from = kind; *from; from++) to[at++] = *from;
  to[at++] = '_', to[at++] = 'l', to[at++] = (char)('0' + layer);
  for (const char *from = end; *from; from++) to[at++] = *from;
  to[at] = 0;
}

static int open_direction(capsulet_model *model, int layer, int place, char *message) {
  struct direction *direction = &model->directions[layer][place];
  int32_t width = model->blocks * UNITS;
  struct shape input = layer ? (struct shape){2, model->hidden, width} : (struct shape){1, model->size, model->padded_size};
  struct shape recurrent = {1, model->hidden, width};
  uint64_t rows = 3 * (uint64_t)model->hidden, hidden = (uint64_t)model->hidden;
  struct matrix matrix, biases[2];
  char name[64];
  int result;
  name_of(name, "weight_ih", layer, place);
  if ((result = find_matrix(&model->file, name, rows, (uint64_t)input.parts * (uint64_t)input.size, &matrix, message))) return result;
  if ((result = pack_weights(model, &matrix, input, 1, &direction->input))) goto end;
  name_of(name, "weight_hh", layer, place);
  if ((result = find_matrix(&model->file, name, rows, hidden, &matrix, message))) return result;
  if ((result = pack_weights(model, &matrix, recurrent, 1.0f / 127, &direction->recurrent))) goto end;
  for (int kind = 0; kind < 2; kind++) {
    name_of(name, kind ? "bias_hh" : "bias_ih", layer, place);
    if ((result = find_matrix(&model->file, name, 3, hidden, &biases[kind], message))) return result;
  }
  direction->bias = reserve_zeros((uint64_t)model->blocks * 3 * UNITS, sizeof *direction->bias);
  direction->new_bias = reserve_zeros((uint64_t)width, sizeof *direction->new_bias);
  result = CAPSULET_NO_MEMORY;
  if (!direction->bias || !direction->new_bias) goto end;
  result = CAPSULET_OK;
  for (uint64_t gate = 0; gate < 3; gate++)
    for (uint64_t unit = 0; unit < hidden; unit++) {
      float first = number(&biases[0], gate, unit), second = number(&biases[1], gate, unit);
      if (!finite(first) || !finite(second)) result = CAPSULET_DAMAGED;
      if (gate == 2) direction->new_bias[unit] = second, second = 0;
      direction->bias[(unit / UNITS * 3 + gate) * UNITS + unit % UNITS] = first + second;
    }
end:
  return result == CAPSULET_DAMAGED ? fail(message, "a weight of the encoder is not a finite number") : result;
}

/* ---- the other parts ---- */

static int64_t integer(const capsulet_model *model, const char *path, int64_t low, int64_t high, bool *fine) {
  int64_t value = low;
  *fine &= json_integer(&model->config, json_find(&model->config, path), low, high, &value);
  return value;
}

static bool yes(const capsulet_model *model, const char *path, bool *fine) {
  uint32_t node = json_find(&model->config, path);
  *fine &= node && (model->config.nodes[node].kind == JSON_TRUE || model->config.nodes[node].kind == JSON_FALSE);
  return node && model->config.nodes[node].kind == JSON_TRUE;
}

/* Which of the names, ended by NULL, a string is; -1: none. */
static int which(const capsulet_model *model, const char *path, const char *const *names, bool *fine) {
  uint32_t node = json_find(&model->config, path);
  for (int place = 0; names[place]; place++)
    if (json_is(&model->config, node, names[place])) return place;
  *fine = false;
  return 0;
}

/* The options of the embedding, the encoder and the head. */
static void open_network_options(capsulet_model *model, bool *fine) {
  static const char *const embeddings[] = {"cwc", "cc", "plain", NULL}, *const heads[] = {"capsule", "linear", NULL};
  static const char *const routings[] = {"kmeans", "dynamic", NULL}, *const poolings[] = {"mean", "max", "mean+max", NULL};
  static const char *const agreements[] = {"cosine", "dot", NULL};
  static const float mean_shares[] = {1, 0, 0.5f};
  model->embedding = model->packed ? EMBEDDING_PACKED : (int)which(model, "options.model.embedding", embeddings, fine);
  model->size = (int32_t)integer(model, "options.model.embedding_size", 1, LARGEST_SIZE, fine);
  model->padded_size = (model->size + UNITS - 1) / UNITS * UNITS;
  model->hidden = (int32_t)integer(model, "options.model.hidden_size", 1, LARGEST_SIZE, fine);
  model->blocks = (model->hidden + UNITS - 1) / UNITS;
  model->layers = (int32_t)integer(model, "options.model.num_layers", 1, MOST_LAYERS, fine);
  model->mean_share = mean_shares[which(model, "options.model.pooling", poolings, fine)];
  model->capsules = which(model, "options.model.head", heads, fine) == 0;
  model->dynamic = which(model, "options.model.routing", routings, fine) == 1;
  /* files from before this option have cosines */
  model->dot = json_find(&model->config, "options.model.agreement") && which(model, "options.model.agreement", agreements, fine) == 1;
  model->scale_coupling = yes(model, "options.model.scale_coupling", fine);
  model->iterations = (int32_t)integer(model, "options.model.iterations", 1, MOST_ITERATIONS, fine);
  model->primary_length = (int32_t)integer(model, "options.model.primary_length", 1, LARGEST_SIZE, fine);
  model->class_length = (int32_t)integer(model, "options.model.class_length", 1, LARGEST_SIZE, fine);
  if (model->embedding != EMBEDDING_TABLE) {
    model->codebooks = (int32_t)integer(model, model->packed ? "compression.codebooks" : "options.model.num_codebooks", 1, 65536, fine);
    model->codewords = model->packed ? 16 : (int32_t)integer(model, "options.model.num_codewords", 1, 65536, fine);
  }
}

static int open_options(capsulet_model *model, char *message) {
  bool fine = true;
  static const char *const rules[] = {"paper", "unicode", NULL};
  static const char *const unknown_words[] = {"similar", "apart", "pieces", NULL};
  model->packed = json_get(&model->config, 0, "dictionary_words") != 0;
  model->linear_only = json_get(&model->config, 0, "linear_only") && yes(model, "linear_only", &fine);
  model->vocabulary = (int32_t)integer(model, "vocab_size", model->packed ? 1 : 2, 1 << 30, &fine);
  model->unknown = model->packed ? 0 : 1;
  model->first_word = model->unknown + 1;
  model->multi_label = yes(model, "options.model.multi_label", &fine);
  int unknown = which(model, "options.text.unknown_words", unknown_words, &fine);
  model->similar = unknown == 0 || (unknown == 2 && model->packed); /* a compressed file has no codes of pieces */
  if (model->linear_only) model->similar = false;                   /* no word is read as another one */
  model->pieces = (int32_t)integer(model, "options.model.pieces", 0, LONGEST_PIECE, &fine);
  model->rule = which(model, "options.text.tokens", rules, &fine) == 0 ? RULE_PAPER : RULE_UNICODE;
  int64_t tokens = integer(model, "options.text.max_tokens", 1, INT32_MAX, &fine);
  model->max_tokens = tokens > MOST_TOKENS ? MOST_TOKENS : (int32_t)tokens;
  if (!model->linear_only) open_network_options(model, &fine);
  if (!fine) return fail(message, "its options are missing or unknown to this version");
  if (model->capsules && model->hidden % model->primary_length) return fail(message, "its capsules do not divide its states");
  model->primary = model->capsules ? model->hidden / model->primary_length : 1;
  return CAPSULET_OK;
}

static int open_labels(capsulet_model *model, char *message) {
  uint32_t labels = json_get(&model->config, 0, "labels");
  const struct json *config = &model->config;
  if (!labels || config->nodes[labels].kind != JSON_ARRAY) return fail(message, "it has no labels");
  uint32_t count = json_children(config, labels);
  if (count < 2 || count > 1 << 20) return fail(message, "it has fewer than two labels, or too many");
  size_t room = config->nodes[labels].end - config->nodes[labels].start, at = 0;
  model->classes = (int32_t)count;
  model->label_letters = malloc(room);
  model->label_ends = reserve(count, sizeof *model->label_ends);
  if (!model->label_letters || !model->label_ends) return CAPSULET_NO_MEMORY;
  uint32_t place = 0;
  for (uint32_t node = labels + 1; node < config->nodes[labels].next; node = config->nodes[node].next) {
    size_t size = config->nodes[node].kind == JSON_STRING ? json_decode(config, node, model->label_letters + at) : SIZE_MAX;
    if (size == SIZE_MAX) return fail(message, "a label is not a string");
    at += size;
    model->label_ends[place++] = at;
  }
  return CAPSULET_OK;
}

static int open_embedding(capsulet_model *model, char *message) {
  uint64_t words = (uint64_t)model->vocabulary, books = (uint64_t)model->codebooks * (uint64_t)model->codewords;
  uint64_t size = (uint64_t)model->size;
  if (model->embedding == EMBEDDING_PACKED) {
    struct tensor choices = file_tensor(&model->file, "embedding.choices");
    if (!choices.data || choices.dtype != TYPE_U8 || choices.count != words * (((uint64_t)model->codebooks + 1) / 2))
      return fail(message, "the codes of its words are missing or of another size");
    model->choices = choices.data;
  } else {
    bool table = model->embedding == EMBEDDING_TABLE;
    struct tensor codes = file_tensor(&model->file, table ? "embedding.table" : "embedding.codes");
    if (!codes.data || codes.dtype != TYPE_F32 || codes.count != words * (table ? size : books))
      return fail(message, "the vectors of its words are missing or of another size");
    model->codes = (const float *)(const void *)codes.data;
    struct tensor pieces = file_tensor(&model->file, "embedding.pieces");
    if (pieces.data) {
      uint64_t width = table ? size : books;
      bool fine = pieces.dtype == TYPE_F16 && pieces.axes == 2 && pieces.shape[0] >= 1 && pieces.shape[0] <= 1 << 30 && pieces.shape[1] == width;
      if (!fine) return fail(message, "the codes of its pieces of words are of another size");
      model->piece_codes = (const uint16_t *)(const void *)pieces.data;
      model->piece_rows = (uint32_t)pieces.shape[0];
    }
    if (table) return CAPSULET_OK;
  }
  struct matrix codebooks;
  int result = find_matrix(&model->file, "embedding.codebooks", books, size, &codebooks, message);
  if (result) return result;
  model->codebook = reserve_zeros(books * (uint64_t)model->padded_size, sizeof *model->codebook);
  if (!model->codebook) return CAPSULET_NO_MEMORY;
  for (uint64_t row = 0; row < books; row++)
    for (uint64_t column = 0; column < size; column++)
      model->codebook[row * (uint64_t)model->padded_size + column] = number(&codebooks, row, column);
  if (!all_finite(model->codebook, books * (uint64_t)model->padded_size)) return fail(message, "a codeword is not a finite number");
  return CAPSULET_OK;
}

static int open_head(capsulet_model *model, char *message) {
  uint64_t classes = (uint64_t)model->classes, hidden = (uint64_t)model->hidden, length = (uint64_t)model->class_length;
  uint64_t primary = (uint64_t)model->primary, inside = (uint64_t)model->primary_length, count = classes * hidden;
  struct matrix matrix;
  int result;
  if (!model->capsules) {
    if ((result = find_matrix(&model->file, "head.weight", classes, hidden, &matrix, message))) return result;
    if (matrix.packed && !(model->own_head = numbers(&matrix))) return CAPSULET_NO_MEMORY;
  } else { /* floats: (N, P, C, L); few bits: rows (N, C) of (P, L) */
    count *= length;
    if ((result = find_matrix(&model->file, "head.transforms", primary * classes, inside * length, &matrix, message))) return result;
    if (matrix.packed) {
      if (!(model->own_head = reserve(count, sizeof *model->own_head))) return CAPSULET_NO_MEMORY;
      for (uint64_t n = 0; n < primary; n++)
        for (uint64_t c = 0; c < classes; c++)
          for (uint64_t p = 0; p < inside; p++)
            for (uint64_t l = 0; l < length; l++)
              model->own_head[((n * inside + p) * classes + c) * length + l] = number(&matrix, n * classes + c, p * length + l);
    }
  }
  model->head = matrix.packed ? model->own_head : matrix.floats;
  return all_finite(model->head, count) ? CAPSULET_OK : fail(message, "a weight of the head is not a finite number");
}

static int open_ngrams(capsulet_model *model, char *message) {
  struct tensor levels = file_tensor(&model->file, "ngrams.levels"), scales = file_tensor(&model->file, "ngrams.scales");
  struct tensor checks = file_tensor(&model->file, "ngrams.checks"), bias = file_tensor(&model->file, "ngrams.bias");
  uint64_t classes = (uint64_t)model->classes;
  int64_t bits = 8;
  if (!levels.data) return model->linear_only ? fail(message, "it has neither a network nor n-gram features") : CAPSULET_OK;
  json_integer(&model->config, json_find(&model->config, "ngrams.bits"), 2, 8, &bits);
  model->ngram_bits = (int32_t)bits;
  uint32_t node = json_find(&model->config, "ngrams.counts");
  bool counts_fine = true;
  model->ngram_counts = node && yes(model, "ngrams.counts", &counts_fine);
  if (!counts_fine) return fail(message, "ngrams.counts is neither true nor false");
  model->ngram_row_bytes = (size_t)((classes * (uint64_t)bits + 7) / 8);
  bool fine = levels.axes == 2 && levels.dtype == (bits == 8 ? TYPE_I8 : TYPE_U8) && (bits == 8 || bits == 4 || bits == 2);
  fine = fine && levels.shape[0] >= 1 && levels.shape[0] <= MOST_ROWS && levels.shape[1] == model->ngram_row_bytes;
  fine = fine && scales.data && scales.dtype == TYPE_F32 && scales.count == classes;
  fine = fine && bias.data && bias.dtype == TYPE_F32 && bias.count == classes;
  fine = fine && checks.data && checks.dtype == TYPE_U8 && checks.count == levels.shape[0];
  if (!fine) return fail(message, "its n-gram features are missing or of another size");
  model->ngram_rows = (uint32_t)levels.shape[0];
  model->ngram_levels = levels.data;
  model->ngram_checks = checks.data;
  model->ngram_scales = (const float *)(const void *)scales.data;
  model->ngram_bias = (const float *)(const void *)bias.data;
  if (all_finite(model->ngram_scales, classes) && all_finite(model->ngram_bias, classes)) return CAPSULET_OK;
  return fail(message, "a scale or a bias of its n-gram features is not a finite number");
}

static int open_parts(capsulet_model *model, char *message) {
  struct tensor config = file_tensor(&model->file, "config");
  if (!config.data || config.dtype != TYPE_U8) return fail(message, "it has no configuration");
  int result = json_parse(&model->config, (const char *)config.data, (size_t)config.count);
  if (result == CAPSULET_NO_MEMORY) return result;
  if (result) return fail(message, "its configuration is not JSON");
  if ((result = open_options(model, message)) || (result = open_labels(model, message))) return result;
  if (!model->linear_only && (result = open_embedding(model, message))) return result;
  uint32_t words = (uint32_t)(model->vocabulary - model->first_word);
  if ((result = words_open(&model->words, &model->file, words, model->similar, model->packed, message))) return result;
  for (int layer = 0; layer < model->layers; layer++)
    for (int direction = 0; direction < 2; direction++)
      if ((result = open_direction(model, layer, direction, message))) return result;
  if (!model->linear_only && (result = open_head(model, message))) return result;
  if ((result = open_ngrams(model, message))) return result;
  return calibration_open(model, message);
}

int capsulet_open(const void *bytes, size_t size, int precision, capsulet_model **opened, char *message) {
  char own[CAPSULET_MESSAGE];
  message = message ? message : own;
  message[0] = 0;
  *opened = NULL;
  capsulet_model *model = calloc(1, sizeof *model);
  int result = CAPSULET_NO_MEMORY;
  if (model) {
    model->integers = precision != CAPSULET_FLOAT32;
    model->kernel = best_kernel();
    result = file_open(&model->file, bytes, size, message);
    if (!result) result = open_parts(model, message);
  }
  if (result == CAPSULET_NO_MEMORY) fail(message, "there is not enough memory for it");
  if (result) capsulet_close(model);
  else *opened = model;
  return result;
}

static void free_ranking(struct ranking *ranking) {
  free(ranking->values);
  free(ranking->reached);
  free(ranking->wrong);
}

void capsulet_close(capsulet_model *model) {
  if (!model) return;
  file_close(&model->file);
  json_free(&model->config);
  if (model->words.own) free((void *)(uintptr_t)model->words.letters);
  free(model->words.own);
  free(model->label_letters);
  free(model->label_ends);
  free(model->codebook);
  for (int layer = 0; layer < MOST_LAYERS; layer++)
    for (int direction = 0; direction < 2; direction++) {
      struct direction *own = &model->directions[layer][direction];
      free(own->input.memory);
      free(own->recurrent.memory);
      free(own->bias);
      free(own->new_bias);
    }
  free(model->own_head);
  free(model->thresholds);
  free(model->knot_places);
  free(model->knot_values);
  free_ranking(&model->confidence);
  free_ranking(&model->certainty);
  free_ranking(&model->set_score);
  free(model);
}

void capsulet_describe(const capsulet_model *model, struct capsulet_facts *facts) {
  struct tensor config = file_tensor(&model->file, "config");
  *facts = (struct capsulet_facts){
      .classes = model->classes,
      .vocabulary = model->vocabulary,
      .unknown = model->unknown,
      .max_tokens = model->max_tokens,
      .multi_label = model->multi_label,
      .primary = model->primary,
      .codebooks = model->codebooks,
      .codewords = model->codewords,
      .calibrated = model->method != METHOD_NONE,
      .ngrams = model->ngram_rows > 0,
      .linear_only = model->linear_only,
      .precision = model->integers ? CAPSULET_INT8 : CAPSULET_FLOAT32,
      .config = (const char *)config.data,
      .config_size = (size_t)config.count,
      .kernel = model->kernel->name,
  };
}

const char *capsulet_label(const capsulet_model *model, int32_t class, size_t *size) {
  if (class < 0 || class >= model->classes) return NULL;
  size_t start = class ? model->label_ends[class - 1] : 0;
  *size = model->label_ends[class] - start;
  return model->label_letters + start;
}

int capsulet_choose_kernel(capsulet_model *model, const char *name) {
  const struct kernel *kernel = kernel_named(name);
  if (!kernel) return CAPSULET_IMPOSSIBLE;
  model->kernel = kernel;
  return CAPSULET_OK;
}
