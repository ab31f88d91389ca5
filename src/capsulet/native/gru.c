/* head comment later */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct plan {
  const int64_t *offsets, *positions;
  int64_t steps, tokens;
};

struct forward {
  struct plan plan;
  int64_t input_size, hidden, padded, reverse;
  const float *inputs, *weight_ih, *weight_hh, *bias_ih, *bias_hh, *zeros;
  float *gates, *states, *outputs;
};

struct backward {
  struct plan plan;
  int64_t hidden, padded, stride, reverse;
  const float *output_gradients, *weight_hh, *gates, *states, *zeros;
  float *gate_gradients, *previous, *carry;
};

static void *allocate(int64_t floats) {
  void *memory = NULL;
  return posix_memalign(&memory, 64, sizeof(float) * (size_t)(floats ? floats : 1)) ? NULL : memory;
}

#define UNROLL _Pragma("GCC unroll 16")

#if defined(__x86_64__)
#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define FORWARD_ROWS 4
#define BACKWARD_ROWS 6
#define MINIMUM(a, b) (VECTOR) _mm256_min_ps((__m256)(a), (__m256)(b))
#define MAXIMUM(a, b) (VECTOR) _mm256_max_ps((__m256)(a), (__m256)(b))
#include "gru_kernel.h"
#undef NAME
#undef TARGET
#undef LANES
#undef FORWARD_ROWS
#undef BACKWARD_ROWS
#undef MINIMUM
#undef MAXIMUM

#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define LANES 16
#define FORWARD_ROWS 8
#define BACKWARD_ROWS 12
#define MINIMUM(a, b) (VECTOR) _mm512_min_ps((__m512)(a), (__m512)(b))
#define MAXIMUM(a, b) (VECTOR) _mm512_max_ps((__m512)(a), (__m512)(b))
#include "gru_kernel.h"
#undef NAME
#undef TARGET
#undef LANES
#undef FORWARD_ROWS
#undef BACKWARD_ROWS
#undef MINIMUM
#undef MAXIMUM
#endif

#define NAME(x) x##_portable
#define TARGET
#define LANES 4
#if defined(__aarch64__)
#define FORWARD_ROWS 8 /* 32 vector registers */
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

struct instruction_set {
  const char *name;
  int lanes;
  int (*forward)(const struct forward *);
  int (*backward)(const struct backward *);
};

static const struct instruction_set sets[] = {
#if defined(__x86_64__)
    {"avx512", 16, forward_avx512, backward_avx512},
    {"avx2", 8, forward_avx2, backward_avx2},
#endif
    {"portable", 4, forward_portable, backward_portable},
};
static const struct instruction_set *chosen;

static int supported(const struct instruction_set *set) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (set->lanes == 16) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
  if (set->lanes == 8) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return set->lanes == 4;
}

struct task {
  int (*run)(const void *);
  const void *job;
  int failed;
};

static void *run_task(void *argument) {
  struct task *task = argument;
  task->failed = task->run(task->job);
  return NULL;
}

/* Both tasks: the second on a thread of its own when threads > 1. */
static int run_both(struct task tasks[2], int threads) {
  pthread_t worker;
  sigset_t all, old;
  int started = 0;
  if (threads > 1) {
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    started = pthread_create(&worker, NULL, run_task, &tasks[1]) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  run_task(&tasks[0]);
  if (started)
    pthread_join(worker, NULL);
  else
    run_task(&tasks[1]);
  return tasks[0].failed || tasks[1].failed;
}

static int forward_task(const void *job) { return chosen->forward(job); }
static int backward_task(const void *job) { return chosen->backward(job); }

static PyObject *plan(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t lengths_at, texts, steps, offsets_at, positions_at;
  if (!PyArg_ParseTuple(arguments, "nnnnn", &lengths_at, &texts, &steps, &offsets_at, &positions_at)) return NULL;
  const int64_t *lengths = (const int64_t *)lengths_at;
  int64_t *offsets = (int64_t *)offsets_at, *positions = (int64_t *)positions_at;
  int64_t *ranks = calloc((size_t)(steps + 2), sizeof(int64_t)); /* texts of each length, then the next rank of it */
  if (!ranks) return PyErr_NoMemory();
  for (Py_ssize_t text = 0; text < texts; text++) {
    if (lengths[text] < 0 || lengths[text] > steps) {
      PyErr_Format(PyExc_ValueError, "text %zd has length %lld, expected 0 to %zd (the steps of the inputs)", text,
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
    if (length > 0) offsets[length] = longer; /* texts that have a token at step length - 1 */
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

static PyObject *forward(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t offsets, positions, steps, tokens, input_size, hidden, padded, inputs, outputs, w[2][4], gates[2], states[2];
  int threads;
  if (!PyArg_ParseTuple(arguments, "(nnnn)(nnn)nn(nnnn)(nnnn)(nn)(nn)i", &offsets, &positions, &steps, &tokens, &input_size,
                        &hidden, &padded, &inputs, &outputs, &w[0][0], &w[0][1], &w[0][2], &w[0][3], &w[1][0], &w[1][1],
                        &w[1][2], &w[1][3], &gates[0], &gates[1], &states[0], &states[1], &threads))
    return NULL;
  float *zeros = calloc((size_t)padded, sizeof(float));
  if (!zeros) return PyErr_NoMemory();
  struct forward jobs[2];
  struct task tasks[2];
  for (int reverse = 0; reverse < 2; reverse++) {
    jobs[reverse] = (struct forward){
        .plan = {(const int64_t *)offsets, (const int64_t *)positions, steps, tokens},
        .input_size = input_size, .hidden = hidden, .padded = padded, .reverse = reverse,
        .inputs = (const float *)inputs,
        .weight_ih = (const float *)w[reverse][0], .weight_hh = (const float *)w[reverse][1],
        .bias_ih = (const float *)w[reverse][2], .bias_hh = (const float *)w[reverse][3],
        .zeros = zeros, .gates = (float *)gates[reverse], .states = (float *)states[reverse],
        .outputs = (float *)outputs + reverse * hidden,
    };
    tasks[reverse] = (struct task){forward_task, &jobs[reverse], 0};
  }
  int failed;
  Py_BEGIN_ALLOW_THREADS
  failed = run_both(tasks, threads);
  Py_END_ALLOW_THREADS
  free(zeros);
  if (failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *backward(PyObject *self, PyObject *arguments) {
  (void)self;
  Py_ssize_t offsets, positions, steps, tokens, texts, hidden, padded, stride, outputs, w[2], gates[2], states[2], gradients[2],
      previous[2];
  int threads;
  if (!PyArg_ParseTuple(arguments, "(nnnn)(nnnn)n(nn)(nn)(nn)(nn)(nn)i", &offsets, &positions, &steps, &tokens, &texts, &hidden,
                        &padded, &stride, &outputs, &w[0], &w[1], &gates[0], &gates[1], &states[0], &states[1],
                        &gradients[0], &gradients[1], &previous[0], &previous[1], &threads))
    return NULL;
  float *zeros = calloc((size_t)(padded * (1 + 2 * texts)), sizeof(float));
  if (!zeros) return PyErr_NoMemory();
  struct backward jobs[2];
  struct task tasks[2];
  for (int reverse = 0; reverse < 2; reverse++) {
    jobs[reverse] = (struct backward){
        .plan = {(const int64_t *)offsets, (const int64_t *)positions, steps, tokens},
        .hidden = hidden, .padded = padded, .stride = stride, .reverse = reverse,
        .output_gradients = (const float *)outputs + reverse * hidden,
        .weight_hh = (const float *)w[reverse], .gates = (const float *)gates[reverse],
        .states = (const float *)states[reverse], .zeros = zeros,
        .gate_gradients = (float *)gradients[reverse], .previous = (float *)previous[reverse],
        .carry = zeros + padded * (1 + reverse * texts),
    };
    tasks[reverse] = (struct task){backward_task, &jobs[reverse], 0};
  }
  int failed;
  Py_BEGIN_ALLOW_THREADS
  failed = run_both(tasks, threads);
  Py_END_ALLOW_THREADS
  free(zeros);
  if (failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *instruction_set(PyObject *self, PyObject *arguments) {
  (void)self, (void)arguments;
  return Py_BuildValue("(si)", chosen->name, chosen->lanes);
}

static PyObject *choose(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *name;
  if (!PyArg_ParseTuple(arguments, "s", &name)) return NULL;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (!strcmp(sets[i].name, name) && supported(&sets[i])) {
      chosen = &sets[i];
      Py_RETURN_NONE;
    }
  return PyErr_Format(PyExc_ValueError, "instruction set %s is not supported by this processor", name);
}

static PyMethodDef methods[] = {
    {"plan", plan, METH_VARARGS, ""},
    {"forward", forward, METH_VARARGS, ""},
    {"backward", backward, METH_VARARGS, ""},
    {"instruction_set", instruction_set, METH_NOARGS, ""},
    {"choose", choose, METH_VARARGS, ""},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_gru", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__gru(void) {
  for (size_t i = 0; !chosen; i++)
    if (supported(&sets[i])) chosen = &sets[i];
  return PyModule_Create(&module);
}
