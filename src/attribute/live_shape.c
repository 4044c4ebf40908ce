#include "attribute/live_shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/code_kind.h"
#include "base/number.h"
#include "result/climb.h"

#define MOSTLY 0.5 /* of what a lane waits */
#define THROTTLED 0.05

const char *live_fact(const struct live *live, enum layer layer, const char *key) {
  for (size_t i = 0; i < live->facts.n_items; i++) {
    const struct fact *f = &live->facts.items[i];
    if (f->layer == layer && fact_is_known(f) && strcmp(fact_without_role(f->key), key) == 0) return f->value;
  }
  return NULL;
}

const char *live_words(struct arena *arena, const char *text) {
  size_t n = strlen(text);
  char *copy = arena_alloc(arena, n + 1, 1);
  return text_sanitise(copy, n + 1, text, n);
}

const struct live_lane *live_busiest(const struct live_account *account) {
  return account->n_lanes > 0 ? &account->lanes[0] : NULL;
}

const char *live_lane_text(struct arena *arena, const struct live_lane *lane) {
  const char *thread = lane->main                               ? "main thread"
                       : strcmp(lane->program, lane->name) == 0 ? "threads"
                                                                : arena_printf(arena, "threads %s", lane->name);
  if (lane->thread == 0) return arena_printf(arena, "%s, threads that have exited", lane->program);
  if (!lane->main && lane->n_threads == 1) thread = arena_printf(arena, "thread %s", lane->name);
  return arena_printf(arena, "%s, %s", lane->program, thread);
}

const char *live_bound_text(enum live_bound bound) {
  static const char *const texts[] = {
      [LIVE_NOT_DECIDED] = "not decided", [LIVE_HARDWARE] = "hardware-bound", [LIVE_SOFTWARE] = "software-bound"};
  return texts[bound];
}

bool live_one_at_a_time(const struct live *live) {
  const struct result_precision *p = live->precision;
  for (size_t i = 0; i + 1 < p->n_steps; i++)
    if (p->steps[i].concurrency == 1) {
      const struct result_step *one = &p->steps[i], *two = &p->steps[i + 1];
      bool tell = !one->too_short && !two->too_short && !one->failing && !two->failing, turns = two->throughput < 1.1 * one->throughput;
      for (size_t k = i + 2; k < p->n_steps; k++) /* a server that batches can gain nothing from two, and much from eight */
        turns = turns && (p->steps[k].failing || p->steps[k].throughput < 1.25 * one->throughput);
      return tell && one->throughput > 0 && turns;
    }
  return false;
}

/* What the threads of one process run in all; *ret_python: of that in Python; *ret_threads: how many they are. */
static double running_of(const struct live_account *account, int64_t process, double *ret_python, int64_t *ret_threads) {
  double running = 0;
  for (size_t i = 0; i < account->n_lanes; i++) {
    const struct live_lane *l = &account->lanes[i];
    if (l->process != process) continue;
    running += l->running;
    *ret_threads += l->n_threads;
    for (size_t k = 0; k < l->n_parts; k++) *ret_python += l->parts[k].kind == LIVE_PYTHON ? l->parts[k].share : 0;
  }
  return running;
}

double live_python_turns(const struct live *live) {
  double most = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    double python = 0, unused = 0;
    int64_t threads = 0;
    double running = running_of(&live->at, live->at.lanes[i].process, &python, &threads),
           beyond = running_of(&live->beyond, live->at.lanes[i].process, &unused, &threads);
    bool one = running >= LIVE_FULL && running <= LIVE_ONE_MOST && beyond <= LIVE_ONE_MOST;
    if (one && threads >= 2 && python >= 0.5 * running && live_idle_processors(live) >= 0.5) most = fmax(most, running);
  }
  return most;
}

bool live_workers_idle(const struct live *live) {
  const struct live_alike *a = &live->workers;
  int64_t could = a->concurrency < (int64_t)a->n ? a->concurrency : (int64_t)a->n;
  return a->n_idle > 0 && (int64_t)(a->n - a->n_idle) < could;
}

double live_idle_processors(const struct live *live) {
  if (live->precision->conditions.throttled >= THROTTLED) return 0; /* whatever is idle, it may not have it */
  return (1 - live->around.busy) * (double)live->n_processors;
}

double live_pool_wait(const struct live_lane *lane) {
  for (size_t i = 0; i < lane->n_parts; i++)
    if (lane->parts[i].kind == LIVE_LIBRARY && library_is_openmp(lane->parts[i].what)) return lane->busiest_other;
  return 0;
}

struct live_kernels live_kernels_of(const struct live *live, enum live_kernel_kind kind) {
  struct live_kernels sum = {.most = ""};
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_kernels *k = &live->at.lanes[i].kernels[kind];
    sum.share += k->share;
    if (k->most_share <= sum.most_share) continue;
    sum.most = k->most;
    sum.most_share = k->most_share;
  }
  return sum;
}

bool live_finds_kernels(const struct live *live, enum live_kernel_kind kind, double least, struct finding *ret) {
  const struct live_kernels found = live_kernels_of(live, kind);
  if (!(live->at.running > 0) || found.share < least * live->at.running) return false;
  ret->share = fmin(1, found.share / live->at.running);
  (void)snprintf(ret->named, sizeof ret->named, "%.200s", found.most);
  return true;
}

double live_spinning_processors(const struct live *live) {
  double sum = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) sum += live->at.lanes[i].parts[k].spins ? live->at.lanes[i].parts[k].share : 0;
  return sum;
}

double live_computing_share(const struct live *live) {
  double sum = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      if (p->kind == LIVE_LIBRARY && p->attributed && !p->spins && (p->layer == LAYER_RUNTIME || p->layer == LAYER_FRAMEWORK))
        sum += p->share;
    }
  return live->at.running > 0 ? sum / live->at.running : NAN;
}

bool live_tokenizes(const struct live_part *part) {
  static const char *const words[] = {"tokeniz", "tokenis", "detok", "bpe"}; /* sample_tokens is no such function */
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (part->kind == LIVE_PYTHON && strcasestr(part->what, words[i]) != NULL) return true;
  return false;
}

bool live_logs(const struct live_part *part) {
  return part->kind == LIVE_PYTHON && strstr(part->where, "/logging/") != NULL;
}

const struct live_neighbour *live_asked(const struct live *live) {
  for (size_t i = 0; i < live->n_neighbours; i++) /* the greatest first */
    if (live->neighbours[i].asked > 0) return &live->neighbours[i];
  return NULL;
}

double live_other_processors(const struct live *live) {
  double others = live->precision->conditions.others * (double)live->n_processors;
  for (size_t i = 0; i < live->n_neighbours; i++)
    if (live->neighbours[i].asked > 0) others -= live->neighbours[i].processors;
  return fmax(0, others);
}

size_t live_program_length(const char *neighbour) {
  const char *dot = strrchr(neighbour, '.');
  return dot != NULL ? (size_t)(dot - neighbour) : strlen(neighbour);
}

bool live_still_grows(const struct live *live) {
  const struct result_precision *p = live->precision;
  size_t n = p->n_steps > 0 && p->steps[p->n_steps - 1].too_short ? p->n_steps - 1 : p->n_steps; /* that one tells nothing of growth */
  if (n < 2) return false;
  const struct result_step *last = &p->steps[n - 1];
  if (n < p->n_steps && p->steps[n].throughput < last->throughput) return false; /* but that it fell is seen */
  return !last->failing && last->throughput >= CLIMB_GROWS * CLIMB_GROWS * climb_best(p->steps, n - 1, 1);
}

double live_ready_share(const struct live *live) {
  double sum = 0, weight = live->at.running + live->at.ready;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if (l->present > 0) sum += (l->running + l->ready) * l->ready / l->present;
  }
  return weight > 0 ? sum / weight : 0;
}

/* 0: neither tells. */
static double watts_of(const struct live *live) {
  const struct live_around *a = &live->around;
  return (a->watts > 0 ? a->watts : 0) + (a->gpus.watts > 0 ? a->gpus.watts : 0);
}

static bool is_function(const char *what, const char *where, const char *function) {
  size_t n = strlen(what), m = strlen(where);
  return strlen(function) == n + m + 3 && strncmp(function, what, n) == 0 && strncmp(function + n, " (", 2) == 0 &&
         strncmp(function + n + 2, where, m) == 0;
}

double live_locked_share(const struct live *live, const char *function) {
  double inside = 0, outside = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *lane = &live->at.lanes[i];
    for (size_t k = 0; k < lane->n_parts; k++)
      if (lane->parts[k].kind == LIVE_PYTHON && is_function(lane->parts[k].what, lane->parts[k].where, function))
        inside += lane->parts[k].share;
    for (size_t k = 0; k < lane->n_callers; k++)
      if (is_function(lane->callers[k].what, lane->callers[k].where, function)) outside += lane->callers[k].share;
  }
  return outside > 0 ? inside / (inside + outside) : 1;
}

double live_joules_per_token(const struct live *live) {
  double rate = live->precision->output_rate.estimate, watts = watts_of(live);
  return live->precision->has_tokens && rate > 0 && watts > 0 ? watts / rate : NAN;
}

const char *live_power_text(const struct live *live, struct arena *arena) {
  const struct live_gpus *g = &live->around.gpus;
  double joules = live_joules_per_token(live);
  const char *text = "";
  if (live->around.watts > 0) text = arena_printf(arena, "; the processors' packages take %.3g W", live->around.watts);
  if (g->n > 0) text = arena_printf(arena, "%s; %lld GPU%s: busy %.0f %%", text, (long long)g->n, LYNX_S(g->n), 100 * g->busy);
  if (g->n > 0 && g->watts > 0) text = arena_printf(arena, "%s, %.3g W", text, g->watts);
  return isfinite(joules) ? arena_printf(arena, "%s: %.3g J for each token", text, joules) : text;
}

#define COST_KNOWN 0.2 /* half an interval beyond which no cost is known */

const char *live_profiling_text(const struct live *live, struct arena *arena) {
  const struct interval *c = &live->profiling_cost;
  const double half = c->bounded ? (c->high - c->low) / 2 : INFINITY;
  if (!(half <= COST_KNOWN))
    return c->bounded ? arena_printf(arena, "what profilers cost is known no better than ± %.0f %%; they count into no figure", 100 * half)
                      : "what profilers cost is not known; they count into no figure";
  return arena_printf(arena, "profilers cost %.2g %% [%.2g, %.2g] of the throughput while they ran; they count into no figure",
                      100 * c->estimate, 100 * c->low, 100 * c->high);
}

/* The nested names of the Itanium C++ ABI, lengths before each; what it is called with is left out. */
/* Rust adds "h" and sixteen digits of a hash to old names. */
static bool is_rust_hash(const char *part, size_t length) {
  return length == 17 && part[0] == 'h' && strspn(part + 1, "0123456789abcdef") >= 16;
}

/* "_RNvNvNtCsjrHSEGnQ3l9_3std2fs4read5inner" is std::fs::read::inner: numbers of crates and places left out (Rust's RFC 2603). */
static const char *rust_text(struct arena *arena, const char *symbol) {
  const char *text = "";
  for (const char *at = symbol + 2; *at != 0;) {
    if (*at == 's' || *at == 'B') { /* a number behind it, up to '_' */
      const char *end = strchr(at, '_');
      if (end == NULL) break;
      at = end + 1;
      continue;
    }
    size_t digits = strspn(at, "0123456789"), length = 0;
    if (digits == 0 || digits > 4) {
      at += digits > 0 ? digits : 1;
      continue;
    }
    for (size_t i = 0; i < digits; i++) length = 10 * length + (size_t)(at[i] - '0');
    at += digits + (at[digits] == '_');
    if (strnlen(at, length) < length) break;
    text = arena_printf(arena, "%s%s%.*s", text, text[0] != 0 ? "::" : "", (int)length, at);
    at += length;
  }
  return text[0] != 0 ? live_words(arena, text) : live_words(arena, symbol);
}

/* Rows have ':' for the brackets of "net.(*conn).Read": frames have their file in brackets. */
static const char *go_text(struct arena *arena, const char *symbol) {
  char *text = arena_copy(arena, live_words(arena, symbol)), *open = strstr(text, ".:*"),
       *close = open != NULL ? strchr(open + 2, ':') : NULL;
  if (close == NULL || close[1] != '.') return text;
  open[1] = '(';
  *close = ')';
  return text;
}

/* "JS:*signToken /srv/server.js:12:3" is signToken. */
static const char *script_text(struct arena *arena, const char *symbol) {
  const char *name = strchr(symbol, ':') + 1;
  name += strspn(name, "~*^+");
  size_t length = strcspn(name, " ");
  return length > 0 ? live_words(arena, arena_printf(arena, "%.*s", (int)length, name)) : live_words(arena, symbol);
}

/* "_$u7b$$u7b$closure$u7d$$u7d$" is {{closure}}: how rustc writes what a linker does not take. */
static const char *rust_part(struct arena *arena, const char *part) {
  static const struct {
    const char *escape, *text;
  } escapes[] = {{"$u7b$", "{"}, {"$u7d$", "}"}, {"$LT$", "<"}, {"$GT$", ">"},  {"$RF$", "&"},  {"$BP$", "*"},
                 {"$LP$", "("},  {"$RP$", ")"},  {"$C$", ","},  {"$u20$", " "}, {"$u5b$", "["}, {"$u5d$", "]"}};
  if (strchr(part, '$') == NULL) return part;
  char *text = arena_copy(arena, part), *to = text;
  for (const char *at = part + (strncmp(part, "_$", 2) == 0); *at != 0;) {
    size_t i = 0;
    while (i < LYNX_COUNT(escapes) && strncmp(at, escapes[i].escape, strlen(escapes[i].escape)) != 0) i++;
    if (i < LYNX_COUNT(escapes)) {
      *to++ = escapes[i].text[0];
      at += strlen(escapes[i].escape);
    } else *to++ = *at++;
  }
  *to = 0;
  return text;
}

const char *live_symbol_text(struct arena *arena, const char *symbol) {
  const char *at = symbol;
  if (code_is_script(symbol)) return script_text(arena, symbol);
  const char *text = "";
  if (strncmp(at, "_R", 2) == 0) return rust_text(arena, symbol);
  if (strncmp(at, "_Z", 2) != 0) return go_text(arena, symbol);
  at += 2;
  if (strncmp(at, "Th", 2) == 0 && strchr(at, '_') != NULL) at = strchr(at, '_') + 1; /* by another base of its class */
  at += *at == 'L';                                                                   /* of one file alone */
  bool nested = *at == 'N';
  at += nested;
  at += strspn(at, "KVrRO");
  for (int depth = 0; depth < 16; depth++) {
    if (strncmp(at, "St", 2) == 0) {
      text = "std";
      at += 2;
      continue;
    }
    size_t length = 0, digits = strspn(at, "0123456789");
    if (digits == 0 || digits > 4) break;
    for (size_t i = 0; i < digits; i++) length = 10 * length + (size_t)(at[i] - '0');
    if (strnlen(at + digits, length) < length) break;
    bool hidden = strncmp(at + digits, "_GLOBAL__N_", 11) == 0 || is_rust_hash(at + digits, length);
    if (!hidden)
      text = arena_printf(arena, "%s%s%s", text, text[0] != 0 ? "::" : "", rust_part(arena, arena_text(arena, at + digits, length)));
    at += digits + length;
    if (!nested) break;
  }
  return text[0] != 0 ? live_words(arena, text) : live_words(arena, symbol);
}

const char *live_part_where(struct arena *arena, const struct live_part *part) {
  if (part->inside[0] == 0 || part->inside_share < 0.3 || part->spins) return part->where;
  return arena_printf(arena, "%s%s%s %.0f %%", part->where, part->where[0] != 0 ? ", " : "", part->inside, 100 * part->inside_share);
}

const char *live_roofline_text(const struct live *live, struct arena *arena) {
  const struct live_roofline *r = &live->roofline;
  const char *text = "";
  if (r->why[0] != 0) return r->why;
  if (r->read_hz > 0 && r->bandwidth > 0)
    text = arena_printf(arena, "the weights (%.3g GB) are read at %.3g GB/s at least, %.2g %% of the memory's triad (MBU)",
                        r->weight_bytes / 1e9, r->read_hz / 1e9, 100 * r->read_hz / r->bandwidth);
  if (r->operations_hz > 0 && r->arithmetic > 0)
    text = arena_printf(arena, "%s%s%.3g Gop/s, %.2g %% of the arithmetic in %s (MFU)", text, text[0] != 0 ? "; " : "",
                        r->operations_hz / 1e9, 100 * r->operations_hz / r->arithmetic, r->type);
  return text[0] != 0 ? text : "not known: the run reports no rate of tokens, or its machine no such ceiling";
}

void live_name_place(const struct live_place *place, struct finding *ret) {
  (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.60s)%s%.80s", place->what, place->where,
                 place->caller[0] != 0 ? ", called by " : "", place->caller);
}

void live_name_wait(const struct live_lane *lane, enum wait_kind kind, struct finding *ret) {
  double all = 0;
  for (int i = 0; i < WAIT_COUNT; i++) all += lane->waits[i];
  bool mostly = lane->waits[kind] >= MOSTLY * all || lane->of_work[kind] >= MOSTLY; /* else they wait there for something else */
  if (mostly && lane->waits_in[0] != 0) (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", lane->waits_in, lane->waits_where);
  else if (lane->waiting[kind].n > 0) live_name_place(&lane->waiting[kind], ret);
}

/* Of what was loaded, or is a Python package: "library.libmkl_core.so", "numpy-openblas". */
static bool fact_names(const struct live *live, const char *part) {
  for (size_t i = 0; i < live->facts.n_items; i++)
    if (strcasestr(live->facts.items[i].key, part) != NULL && strncmp(live->facts.items[i].key, "environment.", 12) != 0) return true;
  return false;
}

void live_name_threads(const struct live *live, int64_t least, int64_t most, struct finding *ret) {
  static const struct {
    const char *variable, *library;
  } settings[] = {{"OMP_NUM_THREADS", ""},
                  {"OPENBLAS_NUM_THREADS", "openblas"},
                  {"MKL_NUM_THREADS", "mkl"},
                  {"BLIS_NUM_THREADS", "blis"},
                  {"RAYON_NUM_THREADS", ""}};
  size_t n = 0;
  for (size_t i = 0; i < LYNX_COUNT(settings); i++) {
    char key[80];
    int64_t set;
    (void)snprintf(key, sizeof key, "environment.%s", settings[i].variable);
    const char *value = live_fact(live, LAYER_RUNTIME, key);
    if (value == NULL || !number_int64(value, strlen(value), &set) || set < least || set > most || n + 80 > sizeof ret->named) continue;
    if (!fact_names(live, settings[i].library)) continue;
    n += (size_t)snprintf(ret->named + n, sizeof ret->named - n, "%s%s=%lld", n > 0 ? ", " : "", settings[i].variable, (long long)set);
  }
}
