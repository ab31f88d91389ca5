/* One layer of a bidirectional GRU, forward and backward, on plain float buffers.
 *
 * The equations are PyTorch's, with the reset gate applied after the recurrent product (x input, h previous state):
 *
 *   r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)          reset
 *   z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)          update
 *   q = W_hn h + b_hn                                   recurrent part of the new gate
 *   n = tanh(W_in x + b_in + r q)                       new
 *   h' = n + z (h - n)
 *
 * and backward, from dh' = output gradient + gradient from the next step:
 *
 *   dn = dh' (1 - z) (1 - n^2)      dr = dn q r (1 - r)      dz = dh' (h - n) z (1 - z)      dq = dn r
 *   dh = dh' z + [dr dz dq] W_hh    dx = [dr dz dn] W_ih     dW_ih = [dr dz dn]' x           dW_hh = [dr dz dq]' h
 *
 * Layout of the work. Texts are sorted by length, longest first, and tokens are numbered step by step ("packed rows").
 * The texts that have a token at a step are therefore a prefix, and padding has no number: offsets[step] is the first
 * packed row of a step, positions[row] is its row of (B T, ...). Each direction is one task, with two threads each on its
 * own thread, and the tasks never wait for each other. Forward projects all inputs in one product and then runs the time
 * loop. Backward runs the time loop and then computes the weight gradients in two products over all tokens. Only the
 * gradient of the inputs needs both directions; it is a third product, split by tokens. The computation, and so every
 * byte of the result, does not depend on the number of threads.
 *
 * All products are register-blocked (gru_kernel.h). Weights are packed once per call in the order in which the blocks read
 * them; with 128 units the recurrent weights take 196 kB and stay in the second-level cache for the whole time loop. The
 * gates are computed on the sums while these are still in registers.
 *
 * Only headers of Python and the system are used: pointers are passed as integers, and the caller checks their sizes.
 */
#include "common.h"

/* Shared by both directions. */
struct layer {
  int64_t texts, steps, tokens, input_size, hidden;
  int64_t padded; /* hidden, rounded up to whole register blocks; the added units have zero weights and stay zero */
  int64_t stride; /* floats between the gate gradients of one token and of the next */
  const int64_t *offsets;   /* (steps + 1) */
  const int64_t *positions; /* (tokens) */
  const float *inputs;      /* (texts, steps, input_size) */
  const float *zeros;       /* the state before a text's first token */
  float *input_gradients;   /* (texts, steps, input_size), or NULL if not needed */
};

struct direction {
  const struct layer *layer;
  int reverse;
  const float *weight_ih, *weight_hh, *bias_ih, *bias_hh;
  /* kept from forward to backward */
  float *gates;  /* (padded / LANES, tokens, 4, LANES): r, z, n, q */
  float *states; /* (tokens, padded) */
  /* forward */
  float *outputs; /* (texts, steps, 2 hidden), from this direction's half on */
  /* backward */
  const float *output_gradients; /* as outputs */
  float *weight_ih_gradient, *weight_hh_gradient, *bias_ih_gradient, *bias_hh_gradient;
  float *gate_gradients; /* (tokens, stride): dn, dr, dz, dq of `padded` units each, so that [dn dr dz] and [dr dz dq] are contiguous */
  float *carry;          /* (texts, padded): dh' z */
  int64_t *before;       /* (tokens): packed row of the previous state, or -1 */
  /* scratch memory of forward and backward */
  float *packed_ih, *packed_hh, *biases, *panels;
};

enum {
  CHUNK = 96,  /* tokens of the projections that are multiplied with all weights in turn */
  DEPTH = 128, /* tokens of the weight gradients that are summed in registers at once */
};

#if defined(__x86_64__)
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define LANES 16 /* 32 registers */
#define FORWARD_ROWS 8
#define BACKWARD_ROWS 12
#define MINIMUM(a, b) (VECTOR) _mm512_min_ps((__m512)(a), (__m512)(b))
#define MAXIMUM(a, b) (VECTOR) _mm512_max_ps((__m512)(a), (__m512)(b))
#include "gru_kernel.h"

#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8 /* 16 registers */
#define FORWARD_ROWS 4
#define BACKWARD_ROWS 6
#define MINIMUM(a, b) (VECTOR) _mm256_min_ps((__m256)(a), (__m256)(b))
#define MAXIMUM(a, b) (VECTOR) _mm256_max_ps((__m256)(a), (__m256)(b))
#include "gru_kernel.h"
#endif

#define NAME(x) x##_portable
#define TARGET
#define LANES 4
#if defined(__aarch64__)
#define FORWARD_ROWS 8 /* 32 registers */
#define BACKWARD_ROWS 12
#else
#define FORWARD_ROWS 4
#define BACKWARD_ROWS 6
#endif
typedef int32_t mask_portable __attribute__((vector_size(16)));
#define SELECT(mask, a, b) (VECTOR)(((mask_portable)(a) & (mask)) | ((mask_portable)(b) & ~(mask)))
#define MINIMUM(a, b) SELECT((mask_portable)((a) < (b)), a, b)
#define MAXIMUM(a, b) SELECT((mask_portable)((a) > (b)), a, b)
#include "gru_kernel.h"

static const struct {
  void (*forward)(const struct direction *);
  void (*backward)(const struct direction *);
  void (*unproject)(const struct direction *, int64_t, int64_t);
} kernels[] = {
#if defined(__x86_64__)
    {forward_avx512, backward_avx512, unproject_avx512},
    {forward_avx2, backward_avx2, unproject_avx2},
#endif
    {forward_portable, backward_portable, unproject_portable},
};

/* ---- the two halves of the work ---- */

static void run_forward(const void *directions, int half) {
  kernels[chosen].forward((const struct direction *)directions + half);
}

static void run_backward(const void *directions, int half) {
  kernels[chosen].backward((const struct direction *)directions + half);
}

static void run_unproject(const void *work, int half) {
  const struct direction *directions = work;
  int64_t tokens = directions->layer->tokens, middle = (tokens / 2 + 11) / 12 * 12; /* whole blocks on both sides */
  if (middle > tokens) middle = tokens;
  kernels[chosen].unproject(directions, half ? middle : 0, half ? tokens : middle);
}

/* ---- memory ---- */

static int64_t padded_size(int64_t size) {
  int64_t width = 2 * instruction_sets[chosen].lanes;
  return (size + width - 1) / width * width;
}

/* Floats to keep from forward to backward, for one direction: gates, then states. */
static int64_t saved_size(int64_t tokens, int64_t hidden) { return 5 * tokens * padded_size(hidden); }

/* Gives the layer and its directions their scratch memory. */
static void take_scratch(struct arena *arena, struct layer *layer, struct direction *directions, int backward) {
  int64_t padded = layer->padded, widest = padded_size(layer->input_size);
  layer->zeros = take(arena, padded > widest ? padded : widest, sizeof(float));
  for (struct direction *one = directions; one < directions + 2; one++) {
    one->packed_ih = take(arena, 3 * padded * widest, sizeof(float));
    one->packed_hh = take(arena, 3 * padded * padded, sizeof(float));
    one->biases = take(arena, 4 * padded, sizeof(float));
    if (!backward) continue;
    one->panels = take(arena, (DEPTH + 1) * (padded > widest ? padded : widest), sizeof(float));
    one->gate_gradients = take(arena, layer->tokens * layer->stride, sizeof(float));
    one->carry = take(arena, layer->texts * padded, sizeof(float));
    one->before = take(arena, layer->tokens, sizeof(int64_t));
  }
}

static struct scratch *allocate_scratch(struct layer *layer, struct direction *directions, int backward) {
  struct arena arena = {NULL, 64};
  take_scratch(&arena, layer, directions, backward);
  struct scratch *scratch = borrow_scratch(arena.used);
  if (!scratch) return NULL;
  arena = (struct arena){(char *)scratch, 64};
  take_scratch(&arena, layer, directions, backward);
  memset((void *)layer->zeros, 0, (size_t)((char *)directions[0].packed_ih - (char *)layer->zeros));
  return scratch;
}

/* ---- the module ---- */

/* plan(lengths, texts, steps, offsets, positions) -> tokens; a counting sort, stable, longest text first. */
static PyObject *plan(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t lengths_at, texts, steps, offsets_at, positions_at;
  if (!PyArg_ParseTuple(arguments, "nnnnn", &lengths_at, &texts, &steps, &offsets_at, &positions_at)) return NULL;
  const int64_t *lengths = (const int64_t *)lengths_at;
  int64_t *offsets = (int64_t *)offsets_at, *positions = (int64_t *)positions_at;
  int64_t *ranks = calloc((size_t)steps + 1, sizeof(int64_t)); /* texts of each length, then the next rank of the length */
  if (!ranks) return PyErr_NoMemory();
  for (Py_ssize_t text = 0; text < texts; text++) {
    if (lengths[text] < 0 || lengths[text] > steps) {
      PyErr_Format(PyExc_ValueError, "text %zd of the batch has length %lld, expected 0 to %zd", text,
                   (long long)lengths[text], steps);
      free(ranks);
      return NULL;
    }
    ranks[lengths[text]]++;
  }
  int64_t longer = 0;
  for (int64_t length = steps; length >= 0; length--) {
    int64_t same = ranks[length];
    ranks[length] = longer;
    longer += same;
    if (length) offsets[length] = longer; /* texts with a token at step length - 1 */
  }
  offsets[0] = 0;
  for (int64_t step = 0; step < steps; step++) offsets[step + 1] += offsets[step];
  for (Py_ssize_t text = 0; text < texts; text++) {
    int64_t rank = ranks[lengths[text]]++;
    for (int64_t step = 0; step < lengths[text]; step++) positions[offsets[step] + rank] = text * steps + step;
  }
  free(ranks);
  return PyLong_FromLongLong(offsets[steps]);
}

static PyObject *saved(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t tokens, hidden;
  if (!PyArg_ParseTuple(arguments, "nn", &tokens, &hidden)) return NULL;
  return PyLong_FromLongLong(saved_size(tokens, hidden));
}

#define PLAN "(nnnnnnnn)"
#define EIGHT "(nnnnnnnn)"
#define EIGHT_OF(x) &x[0], &x[1], &x[2], &x[3], &x[4], &x[5], &x[6], &x[7]

/* The arguments that forward and backward share, in their order in Python. */
struct arguments {
  Py_ssize_t texts, steps, tokens, input_size, hidden, lengths, offsets, positions, inputs, weights[8], saved;
};

#define SHARED PLAN "n" EIGHT "n"
#define SHARED_OF(x)                                                                                                       \
  &x.texts, &x.steps, &x.tokens, &x.input_size, &x.hidden, &x.lengths, &x.offsets, &x.positions, &x.inputs,                \
      EIGHT_OF(x.weights), &x.saved

static void fill(const struct arguments *from, struct layer *layer, struct direction *directions) {
  int64_t padded = padded_size(from->hidden);
  *layer = (struct layer){
      .texts = from->texts,
      .steps = from->steps,
      .tokens = from->tokens,
      .input_size = from->input_size,
      .hidden = from->hidden,
      .padded = padded,
      .stride = 4 * padded + 16, /* an odd number of cache lines, so that neighbouring rows fall into different sets */
      .offsets = (const int64_t *)from->offsets,
      .positions = (const int64_t *)from->positions,
      .inputs = (const float *)from->inputs,
  };
  for (int reverse = 0; reverse < 2; reverse++) {
    const Py_ssize_t *weights = from->weights + 4 * reverse;
    float *kept = (float *)from->saved + reverse * saved_size(from->tokens, from->hidden);
    directions[reverse] = (struct direction){
        .layer = layer,
        .reverse = reverse,
        .weight_ih = (const float *)weights[0],
        .weight_hh = (const float *)weights[1],
        .bias_ih = (const float *)weights[2],
        .bias_hh = (const float *)weights[3],
        .gates = kept,
        .states = kept + 4 * from->tokens * padded,
    };
  }
}

/* Writes zeros after the end of each text in rows (texts, steps, width): the kernels write only the rows of tokens. */
static void clear_padding(const struct arguments *from, float *rows, int64_t width) {
  const int64_t *lengths = (const int64_t *)from->lengths;
  for (int64_t text = 0; text < from->texts; text++)
    memset(rows + (text * from->steps + lengths[text]) * width, 0,
           sizeof(float) * (size_t)((from->steps - lengths[text]) * width));
}

static PyObject *forward(PyObject *self, PyObject *arguments) {
  (void)self;
  struct arguments shared;
  Py_ssize_t outputs;
  int threads;
  if (!PyArg_ParseTuple(arguments, SHARED "ni", SHARED_OF(shared), &outputs, &threads)) return NULL;
  struct layer layer;
  struct direction directions[2];
  fill(&shared, &layer, directions);
  directions[0].outputs = (float *)outputs;
  directions[1].outputs = (float *)outputs + layer.hidden;
  struct scratch *scratch = allocate_scratch(&layer, directions, 0);
  if (!scratch) return NULL;
  Py_BEGIN_ALLOW_THREADS
  clear_padding(&shared, (float *)outputs, 2 * layer.hidden);
  run_both(run_forward, directions, threads);
  Py_END_ALLOW_THREADS
  return_scratch(scratch);
  Py_RETURN_NONE;
}

static PyObject *backward(PyObject *self, PyObject *arguments) {
  (void)self;
  struct arguments shared;
  Py_ssize_t output_gradients, input_gradients, weight_gradients[8];
  int threads;
  if (!PyArg_ParseTuple(arguments, SHARED "nn" EIGHT "i", SHARED_OF(shared), &output_gradients, &input_gradients,
                        EIGHT_OF(weight_gradients), &threads))
    return NULL;
  struct layer layer;
  struct direction directions[2];
  fill(&shared, &layer, directions);
  layer.input_gradients = (float *)input_gradients;
  for (int reverse = 0; reverse < 2; reverse++) {
    const Py_ssize_t *gradients = weight_gradients + 4 * reverse;
    directions[reverse].output_gradients = (const float *)output_gradients + reverse * layer.hidden;
    directions[reverse].weight_ih_gradient = (float *)gradients[0];
    directions[reverse].weight_hh_gradient = (float *)gradients[1];
    directions[reverse].bias_ih_gradient = (float *)gradients[2];
    directions[reverse].bias_hh_gradient = (float *)gradients[3];
  }
  struct scratch *scratch = allocate_scratch(&layer, directions, 1);
  if (!scratch) return NULL;
  Py_BEGIN_ALLOW_THREADS
  run_both(run_backward, directions, threads);
  if (layer.input_gradients) {
    clear_padding(&shared, layer.input_gradients, layer.input_size);
    run_both(run_unproject, directions, threads);
  }
  Py_END_ALLOW_THREADS
  return_scratch(scratch);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"plan", plan, METH_VARARGS, "Number the tokens step by step, longest text first; answer how many there are."},
    {"saved_size", saved, METH_VARARGS, "Floats to keep from forward to backward for one direction."},
    {"forward", forward, METH_VARARGS, "States of both directions."},
    {"backward", backward, METH_VARARGS, "Gradients of the inputs and of the weights."},
    INSTRUCTION_SET_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_gru", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__gru(void) {
  choose_best();
  return PyModule_Create(&module);
}
