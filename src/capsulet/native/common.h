/* Shared code of the compiled kernels: two halves of work on one or two threads, and scratch memory. Each module that
 * includes this file has its own copy of the variables. */
#ifndef CAPSULET_COMMON_H
#define CAPSULET_COMMON_H

#include "instruction_sets.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

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
