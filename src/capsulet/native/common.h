/* Shared code of the compiled kernels: the choice of an instruction set, two halves of work on one or two threads, and
 * scratch memory. Each module that includes this file has its own copy of the variables. */
#ifndef CAPSULET_COMMON_H
#define CAPSULET_COMMON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu.h"
#endif

#define UNROLL _Pragma("GCC unroll 16")

/* ---- the instruction set ---- */

/* Best first; a module's tables of functions are in the same order. */
static const struct {
  const char *name;
  int lanes; /* floats in one vector */
} instruction_sets[] = {
#if defined(__x86_64__)
    {"avx512", 16},
    {"avx2", 8},
#endif
    {"portable", 4},
};
static int chosen; /* set when the module is imported */

static int supported(int set) {
#if defined(__x86_64__)
  if (instruction_sets[set].lanes == 16) return cpu_facts().avx512 && cpu_facts().fma;
  if (instruction_sets[set].lanes == 8) return cpu_facts().fma;
#endif
  return instruction_sets[set].lanes == 4;
}

static void choose_best(void) {
  for (chosen = 0; !supported(chosen);) chosen++;
}

static PyObject *instruction_set(PyObject *self, PyObject *arguments) {
  (void)self, (void)arguments;
  return PyUnicode_FromString(instruction_sets[chosen].name);
}

static PyObject *choose_instruction_set(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *name;
  if (!PyArg_ParseTuple(arguments, "s", &name)) return NULL;
  for (int set = 0; set < (int)(sizeof instruction_sets / sizeof *instruction_sets); set++)
    if (!strcmp(instruction_sets[set].name, name) && supported(set)) {
      chosen = set;
      Py_RETURN_NONE;
    }
  return PyErr_Format(PyExc_ValueError, "this processor or build has no instruction set %s", name);
}

#define INSTRUCTION_SET_METHODS                                                                            \
  {"instruction_set", instruction_set, METH_NOARGS, "Name of the instruction set in use."},                \
  {"choose_instruction_set", choose_instruction_set, METH_VARARGS,                                         \
   "Use the named instruction set, between a backward and a forward."}

/* ---- two halves, on one or two threads ---- */

struct task {
  void (*run)(const void *work, int half);
  const void *work;
  atomic_flag taken; /* the second half, by one of the two threads */
};

static void *run_second(void *argument) {
  struct task *task = argument;
  if (atomic_flag_test_and_set(&task->taken))
    free(task); /* too late: the first thread has done both halves */
  else
    task->run(task->work, 1);
  return NULL;
}

/* The second half gets a new thread: a pool would not survive a fork, and starting a thread takes microseconds while the
 * work takes milliseconds. On a busy machine the new thread may start milliseconds later. If it has not started when the
 * first half is done, the first thread does the second half too and does not wait. Signals stay with the threads that
 * Python knows. */
static void run_both(void (*run)(const void *work, int half), const void *work, int threads) {
  pthread_t second;
  int started = 0;
  struct task *task = threads > 1 ? malloc(sizeof *task) : NULL;
  if (task) {
    sigset_t all, old;
    *task = (struct task){run, work, ATOMIC_FLAG_INIT};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    started = pthread_create(&second, NULL, run_second, task) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  run(work, 0);
  if (started && atomic_flag_test_and_set(&task->taken)) {
    pthread_join(second, NULL);
    free(task);
    return;
  }
  run(work, 1);
  if (started)
    pthread_detach(second); /* it frees the task */
  else
    free(task);
}

/* ---- memory ---- */

struct arena {
  char *memory; /* NULL while the sizes are added up */
  size_t used;
};

static void *take(struct arena *arena, int64_t count, size_t size) {
  size_t start = arena->used;
  arena->used += ((size_t)count * size + 63) / 64 * 64;
  return arena->memory ? arena->memory + start : NULL;
}

/* Scratch memory of the last call, kept for the next one: new pages from the system would cost a tenth of the time. A call
 * that takes it leaves NULL, so that calls from several threads never share it. Its first field is its size. */
struct scratch {
  size_t size;
};

static _Atomic(struct scratch *) spare;
static const size_t largest_spare = (size_t)64 << 20;

/* At least `size` bytes; the first 64 are reserved for the bookkeeping. NULL and MemoryError without memory. */
static struct scratch *borrow_scratch(size_t size) {
  struct scratch *scratch = atomic_exchange(&spare, NULL);
  if (!scratch || scratch->size < size) {
    void *memory;
    free(scratch);
    if (posix_memalign(&memory, 64, size)) {
      PyErr_NoMemory();
      return NULL;
    }
    scratch = memory;
    scratch->size = size;
  }
  return scratch;
}

static void return_scratch(struct scratch *scratch) {
  if (scratch->size <= largest_spare) scratch = atomic_exchange(&spare, scratch);
  free(scratch);
}

#endif
