#include "experiment/blocks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "executor/capture.h"
#include "experiment/perturber_table.h"
#include "telemetry/process_tree.h"

enum { PERTURBERS_MAX = 16, TURNS_MAX = 64, SETTINGS_MAX = 8 };

/* One of a cycle. target < 0: the undisturbed. */
struct turn {
  int perturber, target;
  double level;
};

struct opened {
  const struct perturber *perturber;
  void *state;
  struct target targets[TARGETS_MAX];
  size_t n;
};

struct blocks {
  struct blocks_plan plan;
  const struct root *root;
  struct undo *undo;
  struct perturbed_session session;
  struct tree_process processes[PROCESSES_MAX];
  unsigned long long ticks[PROCESSES_MAX];
  size_t n_processes;
  bool listed; /* once, in this session */
  struct opened opened[PERTURBERS_MAX];
  size_t n_opened;
  char unprobed[PERTURBERS_MAX][300];
  size_t n_unprobed;
  struct weighed {
    char target[TARGET_NAME];
    int times;
  } weighed[TARGETS_MAX];
  size_t n_weighed;
  struct turn turns[TURNS_MAX];
  size_t n_turns;
  struct random_stream random;
  int64_t cycle;                          /* of all sessions */
  bool first_is_plain;                    /* of the cycle's two sessions, where a setting is taken out */
  bool taken_out;                         /* in this session */
  const char *settings[SETTINGS_MAX + 1]; /* as struct run_perturbation's variant: what is taken out, or set; ends in NULL */
  struct bundle_block *rows;
  size_t n_rows, rows_room;
  struct arena arena;     /* the rows' texts */
  struct arena variables; /* of the settings */
  pthread_t thread;
  bool running;
  atomic_bool stop;
};

struct blocks *blocks_new(const struct blocks_plan *plan, const struct root *root, struct undo *undo) {
  struct blocks *b = xalloc(1, sizeof *b);
  b->plan = *plan;
  b->root = root;
  b->undo = undo;
  random_init(&b->random, plan->seed, "perturbation");
  size_t n = 0;
  if (plan->knob != NULL) b->settings[n++] = arena_copy(&b->variables, plan->knob);
  for (const char *at = plan->setting != NULL ? plan->setting : ""; *at != 0 && n < SETTINGS_MAX; at += *at == ',') {
    size_t length = strcspn(at, ",");
    b->settings[n++] = arena_printf(&b->variables, "-%.*s", (int)length, at);
    at += length;
  }
  return b;
}

void blocks_free(struct blocks *b) {
  if (b == NULL) return;
  free(b->rows);
  arena_release(&b->arena);
  arena_release(&b->variables);
  free(b);
}

void blocks_weigh(struct blocks *b, const struct block_weight *weights, size_t n) {
  b->n_weighed = n < TARGETS_MAX ? n : TARGETS_MAX;
  for (size_t i = 0; i < b->n_weighed; i++) {
    (void)snprintf(b->weighed[i].target, sizeof b->weighed[i].target, "%s", weights[i].target);
    b->weighed[i].times = weights[i].times;
  }
}

static int times_of(const struct blocks *b, const char *target) {
  for (size_t i = 0; i < b->n_weighed; i++)
    if (strcmp(b->weighed[i].target, target) == 0) return b->weighed[i].times;
  return 1;
}

static void say_unprobed(struct blocks *b, const char *why) {
  for (size_t i = 0; i < b->n_unprobed; i++)
    if (strcmp(b->unprobed[i], why) == 0) return;
  if (b->n_unprobed < PERTURBERS_MAX && why[0] != 0) (void)snprintf(b->unprobed[b->n_unprobed++], sizeof b->unprobed[0], "%s", why);
}

/* --- the processes --- */

/* "python3", then "python3 #2". */
static void name_process(struct blocks *b, struct tree_process *process, const char *name) {
  int same = 1;
  for (size_t i = 0; i < b->n_processes; i++) {
    const char *other = b->processes[i].name, *mark = strstr(other, " #");
    size_t length = mark != NULL ? (size_t)(mark - other) : strlen(other);
    same += length == strlen(name) && memcmp(other, name, length) == 0;
  }
  if (same == 1) (void)snprintf(process->name, sizeof process->name, "%s", name);
  else (void)snprintf(process->name, sizeof process->name, "%.50s #%d", name, same);
}

static bool is_listed(const struct blocks *b, const struct tree_process *process) {
  for (size_t i = 0; i < b->n_processes; i++)
    if (b->processes[i].pid == process->pid && b->processes[i].started_ticks == process->started_ticks) return true;
  return false;
}

/* The tree as it is now: what is new is added. Where the server started us, neither we nor our watchdog are perturbed. */
static void list_processes(struct blocks *b) {
  struct process_tree tree, own;
  process_tree_read(b->root, b->session.pid, &tree);
  process_tree_read(b->root, (int64_t)getpid(), &own);
  bool within = process_tree_holds(&tree, (int64_t)getpid());
  for (size_t i = 0; i < tree.n && b->n_processes < PROCESSES_MAX; i++) {
    struct process_stat stat;
    if ((within && process_tree_holds(&own, tree.pids[i])) || !process_read(b->root, tree.pids[i], &stat)) continue;
    struct tree_process process = {.pid = tree.pids[i],
                                   .started_ticks = stat.started_ticks,
                                   .terminal = stat.terminal != 0,
                                   .stopped = stat.state == 'T' || stat.state == 't'};
    if (is_listed(b, &process)) continue;
    name_process(b, &process, stat.name);
    b->ticks[b->n_processes] = b->listed ? 0 : stat.user_ticks + stat.system_ticks; /* of a new one all of it is of the warm-up */
    b->processes[b->n_processes++] = process;
  }
  b->listed = true;
}

static void see_use(struct blocks *b, int64_t over_ns) {
  double hz = (double)sysconf(_SC_CLK_TCK);
  for (size_t i = 0; i < b->n_processes; i++) {
    struct process_stat stat;
    if (!process_read(b->root, b->processes[i].pid, &stat) || over_ns <= 0 || hz <= 0) continue;
    b->processes[i].processors = (double)(stat.user_ticks + stat.system_ticks - b->ticks[i]) / hz / ((double)over_ns / 1e9);
  }
}

/* Processor time of the listed processes, and of those that came and went, or came and are there. */
struct use {
  double listed, others;
};

static struct use use_of(const struct blocks *b) {
  struct process_tree tree;
  struct use use = {0, 0};
  process_tree_read(b->root, b->session.pid, &tree);
  for (size_t i = 0; i < tree.n; i++) {
    struct process_stat stat;
    if (!process_read(b->root, tree.pids[i], &stat)) continue;
    const struct tree_process process = {.pid = tree.pids[i], .started_ticks = stat.started_ticks};
    *(is_listed(b, &process) ? &use.listed : &use.others) += (double)(stat.user_ticks + stat.system_ticks);
    use.others += (double)stat.ended_ticks;
  }
  return use;
}

/* What was born after the choice was never slowed. */
static void tell_of_others(struct blocks *b, const struct use *before) {
  struct use after = use_of(b);
  double listed = after.listed - before->listed, others = after.others - before->others;
  char text[300];
  if (!(others > 0.1 * (listed + others))) return;
  (void)snprintf(text, sizeof text,
                 "processor: processes that the server started meanwhile used %.0f %% of its processor time; they were not slowed, so that "
                 "what is shown of its processes is too small",
                 100 * others / (listed + others));
  say_unprobed(b, text);
}

struct times {
  const struct blocks *blocks;
  int64_t pid, running_ns, ready_ns;
};

static void add_thread(void *context, const char *name) {
  struct times *t = context;
  char path[128], line[128];
  long long running, ready;
  (void)snprintf(path, sizeof path, "/proc/%lld/task/%.20s/schedstat", (long long)t->pid, name);
  if (!root_read_line(t->blocks->root, path, line, sizeof line) || sscanf(line, "%lld %lld", &running, &ready) != 2) return;
  t->running_ns += running;
  t->ready_ns += ready;
}

static struct times tree_times(const struct blocks *b) {
  struct times t = {.blocks = b};
  for (size_t i = 0; i < b->n_processes; i++) {
    t.pid = b->processes[i].pid;
    process_threads(b->root, t.pid, add_thread, &t);
  }
  return t;
}

/* --- the cycle --- */

static void open_perturbers(struct blocks *b) {
  const struct perturbing request = {.root = b->root,
                                     .processes = b->processes,
                                     .n_processes = b->n_processes,
                                     .undo = b->undo,
                                     .random = &b->random,
                                     .period_ns = b->plan.period_ns,
                                     .stop = &b->stop,
                                     .functions = b->plan.functions,
                                     .n_functions = b->plan.n_functions,
                                     .library = b->plan.library,
                                     .wire = b->plan.wire,
                                     .no_wire = b->plan.no_wire,
                                     .neighbour = b->plan.neighbour,
                                     .concurrency = b->session.concurrency,
                                     .in_flight_most = b->session.in_flight_most};
  b->n_opened = 0;
  for (size_t i = 0; b->plan.perturbers[i] != NULL && b->n_opened < PERTURBERS_MAX; i++) {
    const struct perturber *perturber = perturber_find(b->plan.perturbers[i], strlen(b->plan.perturbers[i]));
    struct opened *o = &b->opened[b->n_opened];
    char why[300] = "";
    if (perturber == NULL || (b->n_processes == 0 && !perturber->beside)) continue;
    *o = (struct opened){.perturber = perturber};
    o->n = perturber->open(&request, &o->state, o->targets, TARGETS_MAX, why, sizeof why);
    if (o->n == 0) {
      say_unprobed(b, why);
      perturber->close(o->state);
    } else b->n_opened++;
  }
}

static void add_turn(struct blocks *b, int perturber, int target, double level) {
  if (b->n_turns < TURNS_MAX) b->turns[b->n_turns++] = (struct turn){perturber, target, level};
}

static void make_turns(struct blocks *b) {
  const double stretch = b->plan.stretch > 0 ? b->plan.stretch : 1;
  b->n_turns = 0;
  for (size_t i = 0; i < b->n_opened; i++)
    for (size_t k = 0; k < b->opened[i].n; k++)
      for (size_t l = 0; l < LEVELS_MAX && b->opened[i].perturber->levels[l] > 0; l++)
        for (int times = times_of(b, b->opened[i].targets[k].name); times > 0; times--)
          add_turn(b, (int)i, (int)k, 1 + (b->opened[i].perturber->levels[l] - 1) * stretch);
  size_t undisturbed = b->n_turns / 3 > 2 ? b->n_turns / 3 : 2;
  for (size_t i = 0; i < undisturbed && b->n_opened > 0; i++) add_turn(b, -1, -1, 1);
}

/* The row with what the tree's threads did since. */
static void put_row(struct blocks *b, struct bundle_block *row, const struct times *before) {
  struct times after = tree_times(b);
  row->running_ns = after.running_ns - before->running_ns;
  row->ready_ns = after.ready_ns - before->ready_ns;
  if (row->running_ns < 0 || row->ready_ns < 0) row->running_ns = row->ready_ns = -1; /* threads ended, and took their counts along */
  row->session = b->session.id;
  row->number = (int64_t)b->n_rows;
  row->cycle = b->cycle;
  b->rows = xroom(b->rows, b->n_rows, &b->rows_room, sizeof *b->rows);
  b->rows[b->n_rows++] = *row;
}

static void run_plain(struct blocks *b, const struct perturbing *quiet, int64_t until) {
  size_t i = 0;
  while (i < b->n_opened && b->opened[i].perturber->plain == NULL) i++;
  if (i < b->n_opened) b->opened[i].perturber->plain(b->opened[i].state, until);
  else (void)perturber_wait(quiet, until);
}

static void run_block(struct blocks *b, const struct turn *turn, const struct perturbing *quiet) {
  int64_t begun = clock_now(&clock_system), until = begun + b->plan.block_ns;
  struct times before = tree_times(b);
  struct bundle_block row = {.target = "", .asked = turn->level, .given = 1, .from_ns = begun + b->plan.settle_ns - b->session.zero_ns};
  if (turn->target < 0) run_plain(b, quiet, until);
  else {
    const struct opened *o = &b->opened[turn->perturber];
    row.target = arena_copy(&b->arena, o->targets[turn->target].name);
    row.given = o->perturber->hold(o->state, (size_t)turn->target, turn->level, until);
  }
  int64_t now = clock_now(&clock_system);
  row.to_ns = (now < until ? now : until) - b->session.zero_ns; /* what is heard later of a hold is no part of it */
  bool done = turn->target < 0 || row.given > 1;                /* a hold that did nothing is no block of its target */
  if (done && !atomic_load(&b->stop)) put_row(b, &row, &before);
}

static void run_cycles(struct blocks *b) {
  const struct perturbing quiet = {.undo = b->undo, .stop = &b->stop};
  int64_t end = b->session.zero_ns + b->session.to_ns, cycle_ns = (int64_t)b->n_turns * b->plan.block_ns;
  for (; clock_now(&clock_system) + cycle_ns <= end && !atomic_load(&b->stop); b->cycle++) {
    size_t order[TURNS_MAX];
    random_order(&b->random, order, b->n_turns);
    for (size_t i = 0; i < b->n_turns && !atomic_load(&b->stop); i++) run_block(b, &b->turns[order[i]], &quiet);
  }
}

/* --- a setting, session by session --- */

const char *const *blocks_variant(void *context, int64_t number) {
  static const char *const none[] = {NULL};
  struct blocks *b = context;
  if (number % 2 == 0) b->first_is_plain = random_below(&b->random, 2) == 0;
  b->cycle = number / 2;
  b->taken_out = (number % 2 == 0) != b->first_is_plain;
  return b->taken_out ? b->settings : none;
}

/* Is the text at `at`, one of several that each end in 0, this one? "--name=value" is also "--name", then "value". */
static bool is_word(const char *at, const char *end, const char *word) {
  size_t n = strcspn(word, "=");
  if (strcmp(at, word) == 0) return true;
  const char *next = at + strlen(at) + 1;
  return word[0] == '-' && word[n] == '=' && strlen(at) == n && strncmp(at, word, n) == 0 && next < end && strcmp(next, word + n + 1) == 0;
}

/* Who serves: a command may be a script that starts it, and has the setting where the server has not. */
static int64_t who_serves(const struct blocks *b) {
  struct endpoint endpoint;
  struct process_tree tree;
  if (b->plan.endpoint == NULL || endpoint_parse(b->plan.endpoint, &endpoint, NULL) != LYNX_OK) return b->session.pid;
  int64_t listener = capture_find_listener(b->root, &endpoint);
  process_tree_read(b->root, b->session.pid, &tree);
  return listener > 0 && process_tree_holds(&tree, listener) ? listener : b->session.pid;
}

/* How many of the settings the serving process was started with: its words, or its variables. */
static int count_in(const struct blocks *b, const char *what, bool (*is)(const char *at, const char *end, const char *setting)) {
  char path[64];
  struct buffer text;
  int n = 0;
  (void)snprintf(path, sizeof path, "/proc/%lld/%s", (long long)who_serves(b), what);
  buffer_init(&text, 4 << 20);
  if (root_read(b->root, path, &text, NULL) == LYNX_OK)
    for (size_t at = 0; at < text.length; at += strlen(text.data + at) + 1)
      for (size_t i = 0; b->settings[i] != NULL; i++) n += is(text.data + at, text.data + text.length, b->settings[i]);
  buffer_release(&text);
  return n;
}

/* Of "-NAME", any value. */
static bool is_variable(const char *at, const char *end, const char *setting) {
  size_t n = strlen(setting) - 1;
  (void)end;
  if (setting[0] != '-') return strcmp(at, setting) == 0;
  return strncmp(at, setting + 1, n) == 0 && at[n] == '=';
}

/* A command that sets a variable itself cannot be kept from it. */
static const char *why_unset(const struct blocks *b) {
  if (b->plan.knob != NULL) {
    bool has = count_in(b, b->plan.knob[0] == '-' ? "cmdline" : "environ", b->plan.knob[0] == '-' ? is_word : is_variable) > 0;
    return has == b->taken_out ? NULL
           : has               ? "setting: the server is started with it in any case"
                               : "setting: the process that serves was not started with it: a script in between keeps it, or sets another";
  }
  bool has = count_in(b, "environ", is_variable) > 0;
  return has != b->taken_out ? NULL
         : has               ? "setting: the server's command sets the variable itself, so that it cannot be taken out"
                             : "setting: the serving process does not have the variable";
}

static void watch_setting(struct blocks *b, const struct perturbing *quiet) {
  char target[TARGET_NAME];
  const char *why = why_unset(b);
  if (why != NULL) {
    say_unprobed(b, why);
    return;
  }
  if (b->plan.knob != NULL) (void)snprintf(target, sizeof target, "setting: with %s", b->plan.knob);
  else (void)snprintf(target, sizeof target, "setting: without %s", b->plan.setting);
  int64_t from = b->session.zero_ns + b->session.from_ns, to = b->session.zero_ns + b->session.to_ns;
  if (!perturber_wait(quiet, from)) return;
  struct times before = tree_times(b);
  if (!perturber_wait(quiet, to)) return;
  struct bundle_block row = {.target = b->taken_out ? arena_copy(&b->arena, target) : "",
                             .asked = b->taken_out ? 2 : 1,
                             .given = b->taken_out ? 2 : 1,
                             .from_ns = b->session.from_ns,
                             .to_ns = b->session.to_ns};
  put_row(b, &row, &before);
}

/* So that a stop ends when it should: given only to root, and else the processor is shared as usual. */
static void raise_priority(void) {
  const struct sched_param first = {.sched_priority = 1};
  (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
}

static void *blocks_main(void *context) {
  struct blocks *b = context;
  const struct perturbing quiet = {.undo = b->undo, .stop = &b->stop};
  int64_t begun = clock_now(&clock_system);
  list_processes(b);
  if (b->n_processes == 0) {
    say_unprobed(b, "no process of the server is visible: run lynxbench where it runs, as root or as its user");
    if (b->plan.wire == NULL) return NULL;
  }
  if (b->settings[0] != NULL) {
    watch_setting(b, &quiet);
    return NULL;
  }
  if (!perturber_wait(&quiet, b->session.zero_ns + b->session.from_ns)) return NULL;
  list_processes(b);
  see_use(b, clock_now(&clock_system) - begun);
  raise_priority();
  open_perturbers(b);
  make_turns(b);
  struct use before = use_of(b);
  if (b->n_turns > 0 && undo_keep(b->undo)) {
    run_cycles(b);
    tell_of_others(b, &before);
  } else if (b->n_turns > 0)
    say_unprobed(b, "nothing was perturbed: what would undo it cannot be kept (state folder), or its watchdog has ended");
  undo_all(b->undo);
  for (size_t i = 0; i < b->n_opened; i++) b->opened[i].perturber->close(b->opened[i].state);
  return NULL;
}

void blocks_begin(void *context, const struct perturbed_session *session) {
  struct blocks *b = context;
  b->session = *session;
  b->n_rows = b->n_processes = 0;
  b->listed = false;
  arena_release(&b->arena);
  atomic_store(&b->stop, false);
  b->running = pthread_create(&b->thread, NULL, blocks_main, b) == 0;
}

void blocks_end(void *context, struct bundle *bundle) {
  struct blocks *b = context;
  atomic_store(&b->stop, true);
  if (b->running) (void)pthread_join(b->thread, NULL);
  b->running = false;
  for (size_t i = 0; i < b->n_rows; i++) bundle_put_block(bundle, &b->rows[i]);
  for (size_t i = 0; i < b->n_unprobed; i++) bundle_put_event(bundle, b->session.realtime_ns, EVENT_UNSEEN, b->unprobed[i]);
  b->n_unprobed = 0;
}
