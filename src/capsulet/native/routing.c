/* K-means routing by agreement, forward and backward, on plain float buffers.
 *
 * For each text, with votes v_nc (L) of N primary capsules for C classes, |x| = sqrt(x x + EPSILON), d = v / |v|, and a
 * factor f that is C when the coupling is scaled and 1 otherwise:
 *
 *   s^0_c = sum_n v_nc / C
 *   u^t_c = s^(t-1)_c / |s^(t-1)_c|     a^t_nc = d_nc u^t_c     k^t_nc = f softmax_c(a^t_nc)     s^t_c = sum_n k^t_nc v_nc
 *
 * for t = 1 to T. The results are the class capsules squash(s^T) = s^T |s^T| / (1 + |s^T|^2) and the coupling k^T. Backward,
 * from the gradient gs^T and with the gradient of the coupling output added to gk^T, for t = T to 1:
 *
 *   gk^t_nc = gs^t_c v_nc               ga^t_nc = k^t_nc (gk^t_nc - sum_c k^t_nc gk^t_nc / f)
 *   gu^t_c = sum_n ga^t_nc d_nc         gs^(t-1)_c = (gu^t_c - (gu^t_c u^t_c) u^t_c) / |s^(t-1)_c|
 *
 * and at the end, with D_nc = sum_t ga^t_nc u^t_c, whose product with d_nc is sum_t ga^t_nc a^t_nc:
 *
 *   gv_nc = gs^0_c / C + sum_t k^t_nc gs^t_c + (D_nc - (D_nc d_nc) d_nc) / |v_nc|
 *
 * Layout of the work. A block is LANES classes, and all its numbers are vectors over its classes: the votes of a text are
 * transposed once to (blocks, N, L, LANES), so that no product adds across a vector, and any N, L and C work. Lanes after
 * the last class hold zero votes and are left out of the softmax. Only the softmax connects the classes. The work between
 * its sums in one iteration and its sums in the next is one pass over the blocks. Each of the T + 1 passes of a direction
 * reads the votes of a block (8 kB) from memory once, and from the first-level cache afterwards.
 *
 * One thread computes a text from start to end and then takes the next text, so the bytes of the result do not depend on
 * the number of threads.
 *
 * Only headers of Python and the system are used: pointers are passed as integers, and the caller checks their sizes.
 */
#include "common.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define EPSILON 1e-12f /* under square roots, as in model/routing.py */

struct work {
  int64_t texts, primary, classes, length, iterations; /* B, N, C, L, T */
  float factor;
  const float *votes; /* (texts, primary, classes, length); the last two axes are contiguous */
  int64_t text_stride, primary_stride;
  float *kept; /* (texts, kept_size) from forward to backward, or NULL without backward */
  int64_t kept_size;
  /* forward */
  float *capsules; /* (texts, classes, length) */
  float *coupling; /* (texts, primary, classes) */
  /* backward */
  const float *capsule_gradients, *coupling_gradients; /* as in forward, or NULL for zeros */
  float *vote_gradients;                               /* as the votes */
  int64_t text_gradient_stride, primary_gradient_stride;
  /* threads */
  struct room *rooms;    /* (2) */
  _Atomic int64_t *next; /* first text that no thread has taken */
};

/* Scratch memory of a thread. */
struct room {
  float *kept;    /* (kept_size) of the current text, if it is not kept */
  float *votes;   /* forward: (blocks, primary, length, LANES) */
  float *numbers; /* forward: exp(a), (blocks, primary, LANES); backward: (blocks, back_size) */
  float *sums;    /* (primary, LANES): sums over the classes */
  float *means;   /* (primary) */
  float *weights; /* (primary, LANES) */
  float *row;     /* (length rounded up to whole vectors, LANES) */
};

/* Numbers of a block, from forward to backward. After all blocks of a text come f / the softmax's denominators, (iterations,
 * primary). */
struct kept {
  float *capsules;        /* (iterations + 1, length, LANES): u of every iteration, then the last s */
  float *inverse_lengths; /* (iterations, LANES): 1 / |s| */
  float *cosines;         /* (iterations, primary, LANES): a */
  float *inverse_votes;   /* (primary, LANES): 1 / |v| */
};

/* Numbers of a block, in backward. */
struct back {
  float *votes;              /* (primary, length, LANES) */
  float *rows;               /* (2 iterations + 1, length, LANES): gs^0 to gs^T, u^1 to u^T */
  float *weights;            /* (primary, 2 iterations + 1, LANES): of the rows, in the gradient of a vote */
  float *coupling_gradients; /* (primary, LANES) */
  float *along;              /* (primary, LANES): sum of ga a */
};

static int64_t round_up(int64_t size, int64_t lanes) { return (size + lanes - 1) / lanes * lanes; }

static int64_t scales_size(const struct work *work, int64_t lanes) {
  return round_up(work->iterations * work->primary, lanes);
}

static int64_t kept_block_size(const struct work *work, int64_t lanes) {
  return ((work->iterations + 1) * (work->length + work->primary) + work->iterations) * lanes;
}

static int64_t kept_size(const struct work *work, int64_t lanes) {
  return round_up(work->classes, lanes) / lanes * kept_block_size(work, lanes) + scales_size(work, lanes);
}

static inline struct kept kept_of_block(const struct work *work, float *text, int64_t block, int64_t lanes) {
  struct kept kept;
  kept.capsules = text + block * kept_block_size(work, lanes);
  kept.inverse_lengths = kept.capsules + (work->iterations + 1) * work->length * lanes;
  kept.cosines = kept.inverse_lengths + work->iterations * lanes;
  kept.inverse_votes = kept.cosines + work->iterations * work->primary * lanes;
  return kept;
}

static int64_t back_size(const struct work *work, int64_t lanes) {
  int64_t terms = 2 * work->iterations + 1;
  return (work->primary * (work->length + terms + 2) + terms * work->length) * lanes;
}

static inline struct back back_of_block(const struct work *work, const struct room *room, int64_t block, int64_t lanes) {
  int64_t terms = 2 * work->iterations + 1;
  struct back back;
  back.votes = room->numbers + block * back_size(work, lanes);
  back.rows = back.votes + work->primary * work->length * lanes;
  back.weights = back.rows + terms * work->length * lanes;
  back.coupling_gradients = back.weights + work->primary * terms * lanes;
  back.along = back.coupling_gradients + work->primary * lanes;
  return back;
}

#define FOUR(f, w, from) f(from, w), f(from + 1, w), f(from + 2, w), f(from + 3, w)

#if defined(__x86_64__)
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define LANES 16
#define LANE_NUMBERS(f, w) FOUR(f, w, 0), FOUR(f, w, 4), FOUR(f, w, 8), FOUR(f, w, 12)
#define ROOT(x) (VECTOR) _mm512_sqrt_ps((__m512)(x))
#include "routing_kernel.h"

#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define LANE_NUMBERS(f, w) FOUR(f, w, 0), FOUR(f, w, 4)
#define ROOT(x) (VECTOR) _mm256_sqrt_ps((__m256)(x))
#include "routing_kernel.h"
#endif

#define NAME(x) x##_portable
#define TARGET
#define LANES 4
#define LANE_NUMBERS(f, w) FOUR(f, w, 0)
typedef float roots __attribute__((vector_size(16)));
static inline roots root_portable(roots x) { return (roots){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])}; }
#define ROOT(x) (VECTOR) root_portable((roots)(x))
#include "routing_kernel.h"

static const struct {
  void (*forward)(const struct work *, int64_t, struct room *);
  void (*backward)(const struct work *, int64_t, struct room *);
} kernels[] = {
#if defined(__x86_64__)
    {forward_avx512, backward_avx512},
    {forward_avx2, backward_avx2},
#endif
    {forward_portable, backward_portable},
};

static void run_forward(const void *argument, int half) {
  const struct work *work = argument;
  for (int64_t text; (text = atomic_fetch_add(work->next, 1)) < work->texts;)
    kernels[chosen].forward(work, text, work->rooms + half);
}

static void run_backward(const void *argument, int half) {
  const struct work *work = argument;
  for (int64_t text; (text = atomic_fetch_add(work->next, 1)) < work->texts;)
    kernels[chosen].backward(work, text, work->rooms + half);
}

static void take_scratch(struct arena *arena, const struct work *work, int threads, int backward) {
  const int64_t lanes = instruction_sets[chosen].lanes, primary = work->primary;
  const int64_t blocks = round_up(work->classes, lanes) / lanes;
  for (struct room *room = work->rooms; room < work->rooms + threads; room++) {
    if (backward) {
      room->numbers = take(arena, blocks * back_size(work, lanes), sizeof(float));
    } else {
      if (!work->kept) room->kept = take(arena, work->kept_size, sizeof(float));
      room->votes = take(arena, blocks * primary * work->length * lanes, sizeof(float));
      room->numbers = take(arena, blocks * primary * lanes, sizeof(float));
    }
    room->sums = take(arena, primary * lanes, sizeof(float));
    room->means = take(arena, primary, sizeof(float));
    room->weights = take(arena, primary * lanes, sizeof(float));
    room->row = take(arena, round_up(work->length, lanes) * lanes, sizeof(float));
  }
}

/* Runs the work on `threads` threads, without Python's lock; NULL and MemoryError without memory. */
static PyObject *run(struct work *work, int threads, int backward) {
  _Atomic int64_t next = 0;
  struct room rooms[2] = {{0}};
  work->next = &next;
  work->rooms = rooms;
  /* less than a few tenths of a millisecond of work is not worth a thread */
  int64_t size = work->primary * work->classes * work->length * (work->iterations + 1);
  threads = threads > 1 && work->texts > 1 && work->texts * size >= 1 << 20 ? 2 : 1;
  struct arena arena = {NULL, 64};
  take_scratch(&arena, work, threads, backward);
  struct scratch *scratch = borrow_scratch(arena.used);
  if (!scratch) return NULL;
  arena = (struct arena){(char *)scratch, 64};
  take_scratch(&arena, work, threads, backward);
  Py_BEGIN_ALLOW_THREADS
  run_both(backward ? run_backward : run_forward, work, threads);
  Py_END_ALLOW_THREADS
  return_scratch(scratch);
  Py_RETURN_NONE;
}

/* Requests large pages for a new buffer. A buffer of more than 32 MB comes from the system in every call, and its 8000
 * page faults can take longer than the routing itself. */
static void advise_large_pages(float *buffer, int64_t count) {
#if defined(MADV_HUGEPAGE)
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), large = (uintptr_t)4 << 20;
  uintptr_t start = ((uintptr_t)buffer + page - 1) / page * page, end = (uintptr_t)(buffer + count) / page * page;
  if (end > start && end - start >= large) madvise((void *)start, end - start, MADV_HUGEPAGE); /* only a hint */
#else
  (void)buffer, (void)count;
#endif
}

/* ---- the module ---- */

#define SHARED "(nnnnn)p(nnn)n" /* sizes, scale, votes with their strides, kept */

struct arguments {
  Py_ssize_t texts, primary, classes, length, iterations;
  int scale;
  Py_ssize_t votes, text_stride, primary_stride, kept;
};

#define SHARED_OF(x)                                                                                                     \
  &x.texts, &x.primary, &x.classes, &x.length, &x.iterations, &x.scale, &x.votes, &x.text_stride, &x.primary_stride,     \
      &x.kept

static struct work work_of(const struct arguments *from) {
  struct work work = {
      .texts = from->texts,
      .primary = from->primary,
      .classes = from->classes,
      .length = from->length,
      .iterations = from->iterations,
      .factor = from->scale ? (float)from->classes : 1.0f,
      .votes = (const float *)from->votes,
      .text_stride = from->text_stride,
      .primary_stride = from->primary_stride,
      .kept = (float *)from->kept,
  };
  work.kept_size = kept_size(&work, instruction_sets[chosen].lanes);
  return work;
}

static PyObject *kept(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t texts, primary, classes, length, iterations;
  if (!PyArg_ParseTuple(arguments, "(nnnnn)", &texts, &primary, &classes, &length, &iterations)) return NULL;
  struct work work = {.primary = primary, .classes = classes, .length = length, .iterations = iterations};
  return PyLong_FromLongLong(texts * kept_size(&work, instruction_sets[chosen].lanes));
}

static PyObject *forward(PyObject *self, PyObject *arguments) {
  (void)self;
  struct arguments shared;
  Py_ssize_t capsules, coupling;
  int threads;
  if (!PyArg_ParseTuple(arguments, SHARED "nni", SHARED_OF(shared), &capsules, &coupling, &threads)) return NULL;
  struct work work = work_of(&shared);
  if (work.kept) advise_large_pages(work.kept, work.texts * work.kept_size);
  work.capsules = (float *)capsules;
  work.coupling = (float *)coupling;
  return run(&work, threads, 0);
}

static PyObject *backward(PyObject *self, PyObject *arguments) {
  (void)self;
  struct arguments shared;
  Py_ssize_t capsule_gradients, coupling_gradients, vote_gradients, text_stride, primary_stride;
  int threads;
  if (!PyArg_ParseTuple(arguments, SHARED "nn(nnn)i", SHARED_OF(shared), &capsule_gradients, &coupling_gradients,
                        &vote_gradients, &text_stride, &primary_stride, &threads))
    return NULL;
  struct work work = work_of(&shared);
  work.capsule_gradients = (const float *)capsule_gradients;
  work.coupling_gradients = (const float *)coupling_gradients;
  work.vote_gradients = (float *)vote_gradients;
  advise_large_pages(work.vote_gradients, work.texts * work.primary * work.classes * work.length);
  work.text_gradient_stride = text_stride;
  work.primary_gradient_stride = primary_stride;
  return run(&work, threads, 1);
}

static PyMethodDef methods[] = {
    {"kept_size", kept, METH_VARARGS, "Floats to keep from forward to backward."},
    {"forward", forward, METH_VARARGS, "Class capsules and coupling."},
    {"backward", backward, METH_VARARGS, "Gradients of the votes."},
    INSTRUCTION_SET_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_routing", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__routing(void) {
  choose_best();
  return PyModule_Create(&module);
}
