/* capsulet-run: labels for the lines of standard input, as JSON lines, without Python.
 *
 * One thread reads, N threads answer, the main thread writes in order. Lines travel in batches through a ring of slots, so
 * memory is bounded: a slot has one line of at most 64 MB, or several of at most 1 MB together. */
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE
#include "cores.h"
#include "mapping.h"
#include "output.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

enum { LONGEST_LINE = 64 << 20, BATCH_BYTES = 1 << 20, BATCH_LINES = 256, MOST_THREADS = 256, MOST_LENGTHS = 1 << 22 };

static const char usage[] =
    "usage: capsulet-run MODEL [--top K] [--abstain] [--explain] [--threads N] < TEXTS > LABELS.jsonl\n"
    "\n"
    "Label texts, one per line, and write one JSON object per text, in order.\n"
    "  MODEL         a model file, or a folder with model.safetensors\n"
    "  --top K       also list the K best labels\n"
    "  --abstain     give no label to texts of unknown words, nor to the 5 % of texts that are least like any class\n"
    "  --explain     add the contribution of each token to the label\n"
    "  --threads N   threads that answer (default: one per core)\n";

struct batch {
  enum { EMPTY, FILLED, ANSWERED } state;
  char *text;
  size_t starts[BATCH_LINES], sizes[BATCH_LINES];
  size_t lines;
  struct output output;
  const char *problem;
};

static struct {
  capsulet_model *model;
  struct capsulet_facts facts;
  struct capsulet_rules rules;
  size_t top, batch_lines, threads, slots;
  bool abstain, explain;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct batch *batches;        /* a ring of `slots` */
  uint64_t read, taken, written; /* batches so far */
  bool ended;                   /* nothing more will be read */
  const char *problem;          /* of the input */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int complain(const char *about, const char *problem) {
  fprintf(stderr, "capsulet-run: %s%s%s\n", about, *about ? ": " : "", problem);
  return 2;
}

/* ---- answers ---- */

static void put_label(struct output *output, int32_t class) {
  size_t size = 0;
  const char *label = capsulet_label(all.model, class, &size);
  put_string(output, label, size);
}

static void put_labels(struct output *output, const int32_t *classes, size_t count, const double *probabilities) {
  put_text(output, "[");
  for (size_t i = 0; i < count; i++) {
    put_text(output, i ? ", {\"label\": " : "{\"label\": ");
    put_label(output, classes[i]);
    put_text(output, ", \"probability\": ");
    put_number(output, probabilities[classes[i]]);
    put_text(output, "}");
  }
  put_text(output, "]");
}

static int put_explanation(struct output *output, const char *text, size_t size, int32_t class) {
  size_t most = (size_t)all.facts.max_tokens < size + 1 ? (size_t)all.facts.max_tokens : size + 1;
  struct capsulet_token *tokens = reserve(most, sizeof *tokens);
  float *parts = reserve(most, sizeof *parts);
  int result = tokens && parts ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  size_t count = result ? 0 : capsulet_tokenize(all.model, text, size, CAPSULET_TEXT, tokens, most);
  struct capsulet_explanation wanted = {.contributions = parts};
  if (!result) result = capsulet_explain(all.model, text, size, CAPSULET_TEXT, &class, 1, &wanted);
  put_text(output, ", \"tokens\": [");
  for (size_t i = 0; !result && i < count; i++) {
    put_text(output, i ? ", {\"text\": " : "{\"text\": ");
    put_string(output, text + tokens[i].start, tokens[i].end - tokens[i].start);
    put_text(output, ", \"contribution\": ");
    put_number(output, parts[i]);
    put_text(output, "}");
  }
  put_text(output, "]");
  free(tokens), free(parts);
  return result;
}

/* The line of one text. `order` and `given` are room for the classes. */
static int put_answer(struct output *output, const char *text, size_t size, const float *lengths, double unknown, double *probabilities,
                      int32_t *order, uint8_t *given) {
  static const char *const reasons[] = {"", "low confidence", "unknown words"};
  static const struct capsulet_rules everything = {.set_score = -1};
  size_t classes = (size_t)all.facts.classes, count = 0;
  capsulet_probabilities(all.model, lengths, 1, probabilities);
  if (all.facts.multi_label || all.top > 1) {
    capsulet_label_set(all.model, &everything, lengths, order);
  } else {
    order[0] = 0;
    for (size_t i = 1; i < classes; i++)
      if (lengths[i] > lengths[order[0]]) order[0] = (int32_t)i;
  }
  int32_t best = order[0];
  if (all.facts.multi_label) {
    int32_t *chosen = order + classes;
    capsulet_given(all.model, lengths, given);
    for (size_t i = 0; i < classes; i++)
      if (given[order[i]]) chosen[count++] = order[i];
    put_text(output, "{\"labels\": ");
    put_labels(output, chosen, count, probabilities);
  } else {
    int reason = all.abstain ? capsulet_abstains(all.model, &all.rules, lengths, unknown) : 0;
    put_text(output, "{\"label\": ");
    if (reason) put_text(output, "null");
    else put_label(output, best);
    put_text(output, ", \"probability\": ");
    put_number(output, probabilities[best]);
    if (reason) {
      put_text(output, ", \"reason\": ");
      put_string(output, reasons[reason], strlen(reasons[reason]));
      put_text(output, ", \"guess\": ");
      put_label(output, best);
    }
  }
  if (all.top > 1) {
    put_text(output, ", \"top\": ");
    put_labels(output, order, all.top < classes ? all.top : classes, probabilities);
  }
  int result = all.explain ? put_explanation(output, text, size, best) : CAPSULET_OK;
  put_text(output, "}\n");
  return result;
}

static void answer(struct batch *batch) {
  size_t classes = (size_t)all.facts.classes;
  float *lengths = reserve((uint64_t)batch->lines * classes, sizeof *lengths), unknown[BATCH_LINES];
  double *probabilities = reserve(classes, sizeof *probabilities);
  int32_t *order = reserve(2 * (uint64_t)classes, sizeof *order);
  uint8_t *given = reserve(classes, 1);
  const char *texts[BATCH_LINES];
  int result = lengths && probabilities && order && given ? CAPSULET_OK : CAPSULET_NO_MEMORY;
  for (size_t i = 0; i < batch->lines; i++) texts[i] = batch->text + batch->starts[i];
  if (!result) result = capsulet_classify(all.model, texts, batch->sizes, batch->lines, CAPSULET_TEXT, lengths, unknown);
  for (size_t i = 0; !result && i < batch->lines; i++)
    result = put_answer(&batch->output, texts[i], batch->sizes[i], lengths + i * classes, unknown[i], probabilities, order, given);
  if (!result && batch->output.failed) result = CAPSULET_NO_MEMORY;
  if (result) batch->problem = result == CAPSULET_NO_MEMORY ? "there is not enough memory" : "its weights give numbers that are not finite";
  free(lengths), free(probabilities), free(order), free(given);
}

static void *work(void *nothing) {
  (void)nothing;
  pthread_mutex_lock(&all.lock);
  for (;;) {
    while (all.taken == all.read && !all.ended) pthread_cond_wait(&all.changed, &all.lock);
    if (all.taken == all.read) break;
    struct batch *batch = &all.batches[all.taken++ % all.slots];
    pthread_mutex_unlock(&all.lock);
    answer(batch);
    pthread_mutex_lock(&all.lock);
    batch->state = ANSWERED;
    pthread_cond_broadcast(&all.changed);
  }
  pthread_mutex_unlock(&all.lock);
  return NULL;
}

/* ---- reading ---- */

/* Hands over a copy of some lines. */
static bool hand_over(const char *text, size_t size, const size_t *starts, const size_t *sizes, size_t lines) {
  pthread_mutex_lock(&all.lock);
  struct batch *batch = &all.batches[all.read % all.slots];
  while (batch->state != EMPTY) pthread_cond_wait(&all.changed, &all.lock);
  pthread_mutex_unlock(&all.lock); /* only this thread fills slots */
  batch->text = malloc(size + 1);
  if (!batch->text) return false;
  memcpy(batch->text, text, size);
  memcpy(batch->starts, starts, lines * sizeof *starts);
  memcpy(batch->sizes, sizes, lines * sizeof *sizes);
  batch->lines = lines;
  pthread_mutex_lock(&all.lock);
  batch->state = FILLED;
  all.read++;
  pthread_cond_broadcast(&all.changed);
  pthread_mutex_unlock(&all.lock);
  return true;
}

/* Hands over the whole lines of `size` bytes; returns how many bytes they have, or SIZE_MAX without memory. */
static size_t hand_over_lines(const char *text, size_t size, bool last) {
  size_t starts[BATCH_LINES], sizes[BATCH_LINES], lines = 0, first = 0, at = 0;
  while (at < size) {
    const char *end = memchr(text + at, '\n', size - at);
    if (!end && !last) break;
    size_t length = end ? (size_t)(end - text) - at : size - at, next = at + length + (end ? 1 : 0);
    if (lines && (lines == all.batch_lines || next - first > BATCH_BYTES)) {
      if (!hand_over(text + first, at - first, starts, sizes, lines)) return SIZE_MAX;
      first = at, lines = 0;
    }
    starts[lines] = at - first;
    sizes[lines++] = length && text[at + length - 1] == '\r' ? length - 1 : length; /* lines of Windows */
    at = next;
  }
  if (lines && !hand_over(text + first, at - first, starts, sizes, lines)) return SIZE_MAX;
  return at;
}

static const char *read_input(void) {
  size_t used = 0, room = BATCH_BYTES;
  char *text = malloc(room);
  for (ssize_t got = 1; text && got;) {
    if (used == room) {
      if (room > LONGEST_LINE) return free(text), "a line has more than 64 MB";
      room = 2 * room > LONGEST_LINE ? LONGEST_LINE + 2 : 2 * room;
      char *larger = realloc(text, room);
      if (!larger) free(text);
      if (!(text = larger)) break;
    }
    got = read(0, text + used, room - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return free(text), "standard input cannot be read";
    size_t searched = used; /* no line ends before */
    used += (size_t)got;
    if (got && !memchr(text + searched, '\n', used - searched)) continue;
    size_t done = hand_over_lines(text, used, !got);
    if (done == SIZE_MAX) return free(text), "there is not enough memory";
    memmove(text, text + done, used - done);
    used -= done;
  }
  if (!text) return "there is not enough memory";
  free(text);
  return NULL;
}

static void *read_all(void *nothing) {
  (void)nothing;
  const char *problem = read_input();
  pthread_mutex_lock(&all.lock);
  all.problem = problem;
  all.ended = true;
  pthread_cond_broadcast(&all.changed);
  pthread_mutex_unlock(&all.lock);
  return NULL;
}

/* ---- writing ---- */

static int write_bytes(const char *from, size_t size) {
  while (size) {
    ssize_t written = write(1, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) exit(0); /* the reader has seen enough */
    if (written < 0) return complain("standard output", strerror(errno));
    from += written, size -= (size_t)written;
  }
  return 0;
}

static int write_answers(const char *path) {
  for (int result;;) {
    pthread_mutex_lock(&all.lock);
    struct batch *batch = &all.batches[all.written % all.slots];
    while (batch->state != ANSWERED && !(all.ended && all.written == all.read)) pthread_cond_wait(&all.changed, &all.lock);
    bool over = batch->state != ANSWERED;
    pthread_mutex_unlock(&all.lock);
    if (over) return all.problem ? complain("", all.problem) : 0;
    if (batch->problem) return complain(path, batch->problem);
    if ((result = write_bytes(batch->output.data, batch->output.size))) return result;
    free(batch->text), free(batch->output.data);
    pthread_mutex_lock(&all.lock);
    *batch = (struct batch){.state = EMPTY};
    all.written++;
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
  }
}

/* ---- the command ---- */

static bool number_of(const char *text, size_t most, size_t *number) {
  char *end;
  if (!text || *text < '0' || *text > '9') return false;
  unsigned long long value = strtoull(text, &end, 10);
  *number = (size_t)value;
  return !*end && value >= 1 && value <= most;
}

static int parse(int count, char **words, const char **path) {
  size_t cores = available_cores("/");
  all.top = 1, all.threads = cores > MOST_THREADS ? MOST_THREADS : cores;
  for (int i = 1; i < count; i++) {
    const char *value = i + 1 < count ? words[i + 1] : NULL;
    if (!strcmp(words[i], "--abstain")) all.abstain = true;
    else if (!strcmp(words[i], "--explain")) all.explain = true;
    else if (!strcmp(words[i], "--top") && number_of(value, 1 << 20, &all.top)) i++;
    else if (!strcmp(words[i], "--threads") && number_of(value, MOST_THREADS, &all.threads)) i++;
    else if (!strcmp(words[i], "--top") || !strcmp(words[i], "--threads")) return complain(words[i], "expected a number of at least 1");
    else if (words[i][0] == '-' && words[i][1]) return complain(words[i], "unknown option; capsulet-run --help lists them");
    else if (*path) return complain(words[i], "expected one model; texts come from standard input");
    else *path = words[i];
  }
  return *path ? 0 : complain("", "expected a model; capsulet-run --help says more");
}

static int open_model(const char *path, struct mapping *mapping) {
  char message[CAPSULET_MESSAGE], inside[4096];
  struct stat facts;
  if (!stat(path, &facts) && S_ISDIR(facts.st_mode)) {
    if (snprintf(inside, sizeof inside, "%s/model.safetensors", path) >= (int)sizeof inside) return complain(path, "the path is too long");
    path = inside;
  }
  const char *problem = map_file(path, mapping);
  if (problem) return complain(path, problem);
  if (capsulet_open(mapping->data, mapping->size, CAPSULET_AUTO, &all.model, message)) return complain(path, message);
  if (capsulet_verify(mapping->data, mapping->size)) return complain(path, "its bytes do not match its checksum");
  capsulet_describe(all.model, &all.facts);
  double nothing = __builtin_nan("");
  struct capsulet_request request = {all.abstain, nothing, nothing, nothing};
  if (capsulet_rules_for(all.model, &request, &all.rules, message)) return complain(path, message);
  size_t lines = MOST_LENGTHS / (size_t)all.facts.classes;
  all.batch_lines = lines < 1 ? 1 : lines > BATCH_LINES ? BATCH_LINES : lines;
  return 0;
}

int main(int count, char **words) {
  const char *path = NULL;
  struct mapping mapping = {0};
  pthread_t threads[MOST_THREADS + 1];
  for (int i = 1; i < count; i++)
    if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h")) return fputs(usage, stdout) < 0;
  signal(SIGPIPE, SIG_IGN); /* write() reports it */
  int result = parse(count, words, &path);
  if (!result) result = open_model(path, &mapping);
  if (result) return result;
  all.slots = 2 * all.threads;
  all.batches = calloc(all.slots, sizeof *all.batches);
  if (!all.batches) return complain("", "there is not enough memory");
  for (size_t i = 0; i <= all.threads; i++)
    if (pthread_create(&threads[i], NULL, i ? work : read_all, NULL)) return complain("", "a thread cannot be started");
  result = write_answers(path);
  if (result) exit(result); /* the reader may wait for input */
  for (size_t i = 0; i <= all.threads; i++) pthread_join(threads[i], NULL);
  free(all.batches);
  capsulet_close(all.model);
  unmap_file(&mapping);
  return 0;
}
