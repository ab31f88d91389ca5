/* The choice of an instruction set when a module of kernels is imported. Each module that includes this file has its own
 * copy of the variable. */
#ifndef CAPSULET_INSTRUCTION_SETS_H
#define CAPSULET_INSTRUCTION_SETS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu.h"
#endif

#define UNROLL _Pragma("GCC unroll 16")

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

#endif
