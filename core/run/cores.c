#define _GNU_SOURCE      /* Linux: the affinity mask */
#define _DARWIN_C_SOURCE /* macOS: the number of cores */
#include "cores.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>

/* Reads up to two numbers of a file; returns how many it has. */
static int numbers_of(const char *folder, const char *name, double *first, double *second) {
  char path[4096 + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  int found = fscanf(file, "%lf %lf", first, second); /* `max` is no number */
  fclose(file);
  return found < 0 ? 0 : found;
}

/* The smaller of `least` and the cores that the control group of a folder may use. */
static double least_quota(const char *folder, double least) {
  double quota = 0, period = 0, nothing;
  if (numbers_of(folder, "cpu.max", &quota, &period) < 2 &&
      (!numbers_of(folder, "cpu.cfs_quota_us", &quota, &nothing) || !numbers_of(folder, "cpu.cfs_period_us", &period, &nothing)))
    return least;
  return quota > 0 && period > 0 && quota / period < least ? quota / period : least; /* -1: no quota */
}

/* The smallest quota of a control group below `mount` and of the groups above it. */
static double quota_along(const char *root, const char *mount, const char *group, double least) {
  char folder[4096];
  int base = snprintf(folder, sizeof folder, "%ssys/fs/cgroup/%s", root, mount);
  int size = snprintf(folder, sizeof folder, "%ssys/fs/cgroup/%s%s", root, mount, group);
  if (size < base || size >= (int)sizeof folder) return least;
  while (size > base) {
    least = least_quota(folder, least);
    while (size > base && folder[size - 1] != '/') size--;
    while (size > base && folder[size - 1] == '/') size--;
    folder[size] = 0;
  }
  return least_quota(folder, least);
}

static double cpu_quota(const char *root, double least) {
  char path[4096], line[4096];
  snprintf(path, sizeof path, "%sproc/self/cgroup", root);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) { /* number:controllers:group */
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = 0, controllers++;
    if (!*controllers) { /* version 2 */
      least = quota_along(root, "unified", group, quota_along(root, "", group, least));
      continue;
    }
    char list[4096 + 2];
    snprintf(list, sizeof list, ",%s,", controllers);
    if (strstr(list, ",cpu,")) least = quota_along(root, "cpu", group, quota_along(root, controllers, group, least));
  }
  if (file) fclose(file);
  return least;
}
#endif

size_t available_cores(const char *root) {
  long machine = sysconf(_SC_NPROCESSORS_ONLN);
  double cores = machine < 1 ? 1 : (double)machine;
#ifdef __linux__
  cpu_set_t mask;
  if (!sched_getaffinity(0, sizeof mask, &mask) && CPU_COUNT(&mask) < cores) cores = CPU_COUNT(&mask);
  cores = cpu_quota(root, cores);
#else
  (void)root;
#endif
  return cores < 1 ? 1 : (size_t)cores;
}
