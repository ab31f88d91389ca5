/* How many cores this process may use: the smallest of those of the machine, of the affinity mask and of the CPU quota of its
 * control groups, as src/capsulet/cores.py counts them; at least 1. `root` is "/", or another folder in tests. */
#include <stddef.h>

size_t available_cores(const char *root);
