/* Class lengths to probabilities, and when to abstain. docs/concepts/calibration.md defines both. */
#include "core.h"

#include "numbers.h"

#define MINUS_INFINITY (-__builtin_inf())
#define NOT_REQUESTED(x) ((x) != (x)) /* NAN */

static const double smallest = 1e-6;           /* distance of a length from 0 and 1 */
static const double certainty_of_error = 0.9;  /* probability of a guarantee of max_error */
static const double starts[] = {0.125, 0.25, 0.5}; /* shares of the validation texts from which thresholds are tested */
static const double usual_coverage = 0.95; /* of `abstain` alone */
static const double unknown_cost = 2;      /* what the confidence loses if all words are unknown */
static const double mostly = 0.5, strange = -100; /* from this share of unknown words on, this is the confidence */
static const double next_test = 1.03;      /* each tested threshold is reached by this many times as many texts as the one before */

enum { MOST_VALIDATION_TEXTS = 1000000000 };

static double clip(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

/* ---- opening ---- */

static double *numbers(const struct json *config, uint32_t array, uint32_t stride, uint32_t offset, uint32_t count, bool *fine) {
  double *values = reserve(count, sizeof *values);
  uint32_t place = 0;
  for (uint32_t node = array + 1; values && node < config->nodes[array].next; node = config->nodes[node].next, place++) {
    uint32_t number = node;
    if (stride > 1) { /* pairs */
      *fine &= config->nodes[node].kind == JSON_ARRAY && json_children(config, node) == stride;
      if (!*fine) break;
      number = node + 1 + offset;
    }
    *fine &= json_number(config, number, &values[place]);
  }
  return values;
}

/* A number of the calibration. The bound is far from every fitted value; larger ones could make infinite or NaN probabilities. */
static bool parameter(const struct json *config, uint32_t node, double *value) {
  return json_number(config, node, value) && *value >= -1e9 && *value <= 1e9;
}

/* Places between 0 and 1 in ascending order, values between 0 and 1. */
static bool knots_fine(const capsulet_model *model) {
  for (uint32_t i = 0; i < model->knots; i++) {
    double before = i ? model->knot_places[i - 1] : 0, place = model->knot_places[i], value = model->knot_values[i];
    if (!(place >= before && place <= 1 && value >= 0 && value <= 1)) return false;
  }
  return true;
}

static bool open_ranking(const struct json *config, const char *path, struct ranking *ranking, int *memory) {
  static const char *const keys[] = {"values", "reached", "wrong"};
  uint32_t object = json_find(config, path);
  bool fine = true;
  if (!object) return false;
  for (int i = 0; i < 3; i++) {
    uint32_t list = json_get(config, object, keys[i]);
    if (!list || config->nodes[list].kind != JSON_ARRAY) return false;
    uint32_t count = json_children(config, list);
    if (!count || (i && count != ranking->count)) return false;
    ranking->count = count;
    double *values = numbers(config, list, 1, 0, count, &fine);
    if (!values) *memory = 0;
    *(i == 0 ? &ranking->values : i == 1 ? &ranking->reached : &ranking->wrong) = values;
    if (!fine || !values) return false;
  }
  for (uint32_t i = 0; fine && i < ranking->count; i++) { /* whole numbers: each value is reached by more texts than the one before it */
    double before = i ? ranking->reached[i - 1] : 0, reached = ranking->reached[i], wrong = ranking->wrong[i];
    fine = reached > before && reached <= MOST_VALIDATION_TEXTS && wrong >= 0 && wrong <= reached;
    fine = fine && reached == (double)(int64_t)reached && wrong == (double)(int64_t)wrong;
  }
  return fine;
}

int calibration_open(capsulet_model *model, char *message) {
  const struct json *config = &model->config;
  bool fine = true;
  int memory = 1;
  if (model->multi_label) {
    uint32_t list = json_get(config, 0, "thresholds");
    if (!list || config->nodes[list].kind != JSON_ARRAY || json_children(config, list) != (uint32_t)model->classes)
      return fail(message, "it has no threshold for each label");
    model->thresholds = numbers(config, list, 1, 0, (uint32_t)model->classes, &fine);
    if (!model->thresholds) return CAPSULET_NO_MEMORY;
    for (int32_t i = 0; fine && i < model->classes; i++) fine = model->thresholds[i] >= 0 && model->thresholds[i] <= 1;
    if (!fine) return fail(message, "a threshold is not a number from 0 to 1");
  }
  uint32_t stored = json_get(config, 0, "calibration");
  if (stored && config->nodes[stored].kind != JSON_NULL) {
    static const char *const scales[] = {"length", "log", "logit", "norm"}, *const methods[] = {"temperature", "platt", "isotonic"};
    uint32_t method = json_get(config, stored, "method"), scale = json_get(config, stored, "scale"), each = json_get(config, stored, "each");
    int found = -1;
    for (int i = 0; i < 3; i++)
      if (json_is(config, method, methods[i])) model->method = METHOD_TEMPERATURE + (enum method)i;
    for (int i = 0; i < 4; i++)
      if (json_is(config, scale, scales[i])) model->scale = (enum scale)i, found = i;
    fine &= model->method != METHOD_NONE && found >= 0 && parameter(config, json_get(config, stored, "factor"), &model->factor);
    model->slope = 1;
    uint32_t slope = json_get(config, stored, "slope"), offset = json_get(config, stored, "offset");
    if (slope) fine &= parameter(config, slope, &model->slope);
    if (offset) fine &= parameter(config, offset, &model->offset);
    if (each && config->nodes[each].kind == JSON_TRUE) model->method = METHOD_EACH;
    if (model->method == METHOD_ISOTONIC) {
      uint32_t knots = json_get(config, stored, "knots");
      fine &= knots && config->nodes[knots].kind == JSON_ARRAY && json_children(config, knots);
      if (fine) {
        model->knots = json_children(config, knots);
        model->knot_places = numbers(config, knots, 2, 0, model->knots, &fine);
        model->knot_values = numbers(config, knots, 2, 1, model->knots, &fine);
        if (!model->knot_places || !model->knot_values) return CAPSULET_NO_MEMORY;
        fine = fine && knots_fine(model);
      }
    }
    if (json_get(config, stored, "confidence")) {
      model->ranked = open_ranking(config, "calibration.confidence", &model->confidence, &memory) &&
                      open_ranking(config, "calibration.certainty", &model->certainty, &memory) &&
                      open_ranking(config, "calibration.set_score", &model->set_score, &memory);
      if (!memory) return CAPSULET_NO_MEMORY;
      fine &= model->ranked;
    }
  }
  return fine ? CAPSULET_OK : fail(message, "its calibration cannot be read");
}

/* ---- probabilities ---- */

static double sigmoid(double x) { return x < 0 ? exponential(x) / (1 + exponential(x)) : 1 / (1 + exponential(-x)); }

static double logit(double share) {
  share = clip(share, smallest, 1 - smallest);
  return logarithm(share / (1 - share));
}

static double scaled(const capsulet_model *model, float length) {
  double inside = clip(length, smallest, 1 - smallest);
  switch (model->scale) {
  case SCALE_LENGTH: return inside;
  case SCALE_LOG: return logarithm(inside);
  case SCALE_LOGIT: return logarithm(inside / (1 - inside));
  default: return __builtin_sqrt(inside / (1 - inside));
  }
}

/* The share of right answers at a probability of the best class: straight lines between the knots. */
static double interpolate(const capsulet_model *model, double top) {
  uint32_t last = model->knots - 1, place = 0, after = last;
  const double *x = model->knot_places, *y = model->knot_values;
  if (top <= x[0]) return y[0];
  if (top >= x[last]) return y[last];
  while (after - place > 1) { /* x[place] <= top < x[after] */
    uint32_t middle = place + (after - place) / 2;
    if (x[middle] <= top) place = middle;
    else after = middle;
  }
  double width = x[place + 1] - x[place];
  return width > 0 ? y[place] + (y[place + 1] - y[place]) * ((top - x[place]) / width) : y[place];
}

/* Gives the best class the probability `top`; the others share the rest in the same proportions. It stays the best. */
static void replace_top(double *shares, int32_t count, int32_t best, double top) {
  double left = 0, second = 0;
  for (int32_t i = 0; i < count; i++)
    if (i != best) left += shares[i];
  for (int32_t i = 0; i < count; i++) {
    shares[i] = i == best ? 0 : left > 0 ? shares[i] / left : 1.0 / (count - 1);
    second = shares[i] > second ? shares[i] : second;
  }
  top = clip(top, second / (1 + second), 1 - smallest);
  for (int32_t i = 0; i < count; i++) shares[i] = i == best ? top : shares[i] * (1 - top);
}

static void one_text(const capsulet_model *model, const float *lengths, double *shares) {
  int32_t count = model->classes, best = 0;
  double sum = 0, top;
  if (model->method == METHOD_EACH || (model->multi_label && model->method == METHOD_NONE)) {
    for (int32_t i = 0; i < count; i++)
      shares[i] = model->method == METHOD_EACH ? sigmoid(model->slope * logit(lengths[i]) + model->offset) : lengths[i];
    return;
  }
  for (int32_t i = 0; i < count; i++) {
    shares[i] = model->method == METHOD_NONE ? clip(lengths[i], 1e-12, 1) : model->factor * scaled(model, lengths[i]);
    if (shares[i] > shares[best]) best = i;
  }
  top = shares[best];
  for (int32_t i = 0; i < count; i++) {
    if (model->method != METHOD_NONE) shares[i] = exponential(shares[i] - top);
    sum += shares[i];
  }
  for (int32_t i = 0; i < count; i++) shares[i] /= sum;
  if (model->method == METHOD_PLATT) replace_top(shares, count, best, sigmoid(model->slope * logit(shares[best]) + model->offset));
  if (model->method == METHOD_ISOTONIC) replace_top(shares, count, best, interpolate(model, shares[best]));
}

void capsulet_probabilities(const capsulet_model *model, const float *lengths, size_t n, double *probabilities) {
  for (size_t text = 0; text < n; text++)
    one_text(model, lengths + text * (size_t)model->classes, probabilities + text * (size_t)model->classes);
}

void capsulet_given(const capsulet_model *model, const float *lengths, uint8_t *given) {
  int32_t best = 0;
  for (int32_t i = 0; i < model->classes; i++) {
    given[i] = model->multi_label && lengths[i] >= model->thresholds[i];
    if (lengths[i] > lengths[best]) best = i;
  }
  if (!model->multi_label) given[best] = 1;
}

/* ---- abstention ---- */

/* s^4 of the length s before squash, which makes s^2 / (1 + s^2) of s. */
static double fourth_power(float length) {
  double inside = clip(length, smallest, 1 - smallest), square = inside / (1 - inside);
  return square * square;
}

static double sum_of_powers(const capsulet_model *model, const float *lengths) {
  double sum = 0;
  for (int32_t i = 0; i < model->classes; i++) sum += fourth_power(lengths[i]);
  return sum;
}

double capsulet_confidence(const capsulet_model *model, const float *lengths, double unknown) {
  return unknown >= mostly ? strange : 0.5 * logarithm(sum_of_powers(model, lengths)) - unknown_cost * unknown;
}

double capsulet_certainty(const capsulet_model *model, const float *lengths, double unknown) {
  double top = 0, value = capsulet_confidence(model, lengths, unknown);
  for (int32_t i = 0; i < model->classes; i++) top = fourth_power(lengths[i]) > top ? fourth_power(lengths[i]) : top;
  return value == strange ? strange : value + logarithm(top / sum_of_powers(model, lengths));
}

/* The value that a new text reaches with at least this probability. */
static double threshold_for_share(const struct ranking *ranking, double share) {
  double count = ranking->reached[ranking->count - 1], needed = (count + 1) * share - 1e-9;
  if (needed > count) return MINUS_INFINITY;
  for (uint32_t i = 0; i < ranking->count; i++)
    if (ranking->reached[i] >= needed) return ranking->values[i];
  return MINUS_INFINITY;
}

/* log n!: a product for small n, else Stirling's series, whose error is below 1e-12 from 20 on. */
static double log_factorial(double n) {
  if (n < 20) {
    double product = 1;
    for (double i = 2; i <= n; i++) product *= i;
    return logarithm(product);
  }
  double inverse = 1 / n, square = inverse * inverse;
  double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
  return (n + 0.5) * logarithm(n) - n + 0.91893853320467274178 + series; /* log(2 pi) / 2 */
}

/* Probability of at most `wrong` wrong answers among `count`, each wrong with probability `share`; 1 where it is at least 1/4:
 * from the mean on. Below the mean the terms fall from the last one down, and all but about sqrt(count) of them are negligible. */
static double binomial_tail(double wrong, double count, double share) {
  if (wrong >= count * share) return 1;
  double last = log_factorial(count) - log_factorial(wrong) - log_factorial(count - wrong);
  last += wrong * logarithm(share) + (count - wrong) * logarithm(1 - share);
  double term = 1, sum = 1;
  for (double k = wrong; k > 0 && term > 1e-17 * sum; k--) {
    term *= k / (count - k + 1) * ((1 - share) / share);
    sum += term;
  }
  return exponential(last) * sum;
}

/* The lowest value above which at most this share is wrong, as far as the validation texts can tell: thresholds are tested
 * from strict to lax until one fails, in three sequences that share the allowed probability of failure. NAN: there is none. */
static double threshold_for_error(const struct ranking *ranking, double error, double *fewest) {
  double chance = (1 - certainty_of_error) / 3, best = __builtin_nan(""), count = ranking->reached[ranking->count - 1];
  if (error < 1e-9) error = 1e-9; /* more texts than any model has */
  double texts = logarithm(chance) / logarithm(1 - error); /* all of them right */
  *fewest = (double)(int64_t)texts < texts ? (double)((int64_t)texts + 1) : (double)(int64_t)texts;
  for (int i = 0; i < 3; i++) {
    double needed = *fewest > count * starts[i] ? *fewest : count * starts[i];
    bool passed = false;
    for (uint32_t place = 0; place < ranking->count; place++) {
      double reached = ranking->reached[place];
      if (reached < needed && !(passed && reached == count)) continue;
      if (binomial_tail(ranking->wrong[place], reached, error) > chance) break;
      passed = true, needed = reached * next_test;
      if (!(best <= ranking->values[place])) best = ranking->values[place];
    }
  }
  return best;
}

static char *append(char *to, char *end, const char *text) {
  while (*text && to < end - 1) *to++ = *text++;
  *to = 0;
  return to;
}

static char *append_number(char *to, char *end, double number) {
  char digits[24], *at = digits + sizeof digits - 1;
  uint64_t whole = (uint64_t)number;
  *at = 0;
  do *--at = (char)('0' + whole % 10);
  while (whole /= 10);
  return append(to, end, at);
}

int capsulet_rules_for(const capsulet_model *model, const struct capsulet_request *request, struct capsulet_rules *rules, char *message) {
  double nothing = __builtin_nan("");
  *rules = (struct capsulet_rules){nothing, nothing, nothing, 0};
  char own[CAPSULET_MESSAGE];
  message = message ? message : own;
  bool any = !NOT_REQUESTED(request->coverage) || !NOT_REQUESTED(request->max_error);
  if (!any && !request->abstain && NOT_REQUESTED(request->sets)) return CAPSULET_OK;
  if (!model->ranked || model->multi_label) {
    fail(message, model->multi_label ? "a multi-label model does not abstain" : "the model has no calibration data");
    return CAPSULET_IMPOSSIBLE;
  }
  rules->texts = (int32_t)model->certainty.reached[model->certainty.count - 1];
  if (!NOT_REQUESTED(request->coverage)) {
    rules->certainty = threshold_for_share(&model->certainty, request->coverage);
  } else if (!NOT_REQUESTED(request->max_error)) {
    double fewest = 0, value = MINUS_INFINITY;
    if (request->max_error <= 0) {
      fail(message, "no number of texts guarantees that no answer is wrong");
      return CAPSULET_IMPOSSIBLE;
    }
    if (request->max_error < 1) value = threshold_for_error(&model->certainty, request->max_error, &fewest);
    if (value != value) {
      char *at = message, *end = message + CAPSULET_MESSAGE;
      at = append_number(append(at, end, "cannot be guaranteed by "), end, rules->texts);
      at = append_number(append(at, end, " validation texts, expected at least "), end, fewest);
      append(at, end, " that the model labels correctly and with certainty");
      return CAPSULET_IMPOSSIBLE;
    }
    rules->certainty = value;
  }
  if (request->abstain) { /* texts of unknown words never get an answer */
    double usual = any ? MINUS_INFINITY : threshold_for_share(&model->confidence, usual_coverage);
    rules->confidence = usual > strange / 2 ? usual : strange / 2;
  }
  if (!NOT_REQUESTED(request->sets)) rules->set_score = threshold_for_share(&model->set_score, request->sets);
  return CAPSULET_OK;
}

int capsulet_abstains(const capsulet_model *model, const struct capsulet_rules *rules, const float *lengths, double unknown) {
  bool abstains = capsulet_confidence(model, lengths, unknown) < rules->confidence;
  abstains |= capsulet_certainty(model, lengths, unknown) < rules->certainty;
  return !abstains ? 0 : unknown >= mostly ? 2 : 1;
}

/* Whether a class comes after another one: it is shorter, or as long and its number is higher. */
static bool after(const float *lengths, int32_t class, int32_t other) {
  return lengths[class] < lengths[other] || (lengths[class] == lengths[other] && class > other);
}

/* Heap sort, longest first: a model may have a million classes. */
static void sort_classes(const float *lengths, int32_t *classes, size_t count) {
  for (size_t start = count / 2, end = count; end > 1;) {
    int32_t moved;
    if (start) {
      moved = classes[--start]; /* build the heap: its top comes last */
    } else {
      moved = classes[--end];
      classes[end] = classes[0];
    }
    size_t place = start, child;
    for (; (child = 2 * place + 1) < end; place = child) {
      if (child + 1 < end && after(lengths, classes[child + 1], classes[child])) child++;
      if (!after(lengths, classes[child], moved)) break;
      classes[place] = classes[child];
    }
    classes[place] = moved;
  }
}

size_t capsulet_label_set(const capsulet_model *model, const struct capsulet_rules *rules, const float *lengths, int32_t *classes) {
  double sum = sum_of_powers(model, lengths);
  size_t count = 0;
  for (int32_t class = 0; class < model->classes; class++) {
    double score = fourth_power(lengths[class]) / sum;
    if (score >= rules->set_score) classes[count++] = class;
  }
  sort_classes(lengths, classes, count);
  return count;
}
