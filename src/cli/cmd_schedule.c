#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/random.h"
#include "base/root.h"
#include "base/shell.h"
#include "base/state.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "cli/schedule_list.h"
#include "cli/schedule_units.h"
#include "cli/self_run.h"
#include "history/timetable_file.h"
#include "report/history_report.h"
#include "report/timetable_report.h"
#include "telemetry/process_tree.h"

enum {
  FLAG_EVERY,
  FLAG_AT,
  FLAG_NAME,
  FLAG_FOLDER,
  FLAG_OFFSET,
  FLAG_BUSY,
  FLAG_WAIT,
  FLAG_PRINT,
  FLAG_UNITS,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_JSON
};
enum { UNIT_MAX = 1 << 20, LOOK_SECONDS = 5 };

static const struct option_spec options[] = {
    [FLAG_EVERY] = OPTION("every", "PERIOD", "1h, 2h, 3h, 4h, 6h, 8h, 12h, 1d (default) or 7d, from midnight, or Monday, UTC"),
    [FLAG_AT] = OPTION("at", "HH:MM", "when on the day, UTC (default: 00:00)"),
    [FLAG_NAME] = OPTION("name", "NAME", "of the schedule (default: the contract's file name)"),
    [FLAG_FOLDER] = OPTION("folder", "DIR", "where the bundles and the log of times go (default: runs)"),
    [FLAG_OFFSET] = OPTION("offset", "TIME", "begin at random up to that much later (default: a twentieth of the period, at most 30min)"),
    [FLAG_BUSY] = OPTION("busy-at-most", "SHARE", "do not begin while the machine's processors are busier than this (default: 0.2)"),
    [FLAG_WAIT] = OPTION("wait", "TIME",
                         "how long to wait for that, and for another run here, before it is skipped (default: a tenth of the period)"),
    [FLAG_PRINT] = OPTION("print", "FORM", "add: print systemd units, a cron line or a kubernetes CronJob, and install nothing"),
    [FLAG_UNITS] = OPTION("units", "DIR",
                          "systemd's units are there, and systemctl is not called (default: the user's; root: the system's)"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "record every run there (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"),
    [FLAG_JSON] = SWITCH("json", "list: JSON")};

struct asked {
  const struct arguments *arguments;
  struct schedule_plan plan;
  char contract[SCHEDULE_PATH], folder[SCHEDULE_PATH], ledger[SCHEDULE_PATH], key[SCHEDULE_PATH], program[SCHEDULE_PATH],
      working[SCHEDULE_PATH];
  double busy_at_most;
  int64_t wait_s;
};

static bool wrong(int flag, const char *found, const char *accepted) {
  complain("lynxbench schedule: --%s: found '%s', accepted: %s\n", options[flag].name, found, accepted);
  return false;
}

/* --- what was asked --- */

static bool whole_path(const char *path, char ret[SCHEDULE_PATH]) {
  char found[PATH_MAX];
  if (realpath(path, found) == NULL) {
    complain("lynxbench schedule: %s: %s\n", path, strerror(errno));
    return false;
  }
  (void)snprintf(ret, SCHEDULE_PATH, "%s", found);
  return true;
}

static bool read_seconds(const struct arguments *a, int flag, int64_t most_s, const char *accepted, int64_t *ret_s) {
  const char *text = a->option[flag];
  int64_t ns;
  if (text == NULL) return true;
  if (strcmp(text, "0") == 0) text = "0s";
  if (!number_duration(text, strlen(text), &ns) || ns < 0 || ns / 1000000000 > most_s) return wrong(flag, text, accepted);
  *ret_s = ns / 1000000000;
  return true;
}

/* "runs/c.yaml" -> "c" */
static void name_from(const char *path, char *ret) {
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
  size_t n = 0;
  for (const char *c = base; *c != 0 && *c != '.' && n + 1 < TIMETABLE_NAME_MAX; c++) {
    bool good = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || (*c == '_' || (*c == '-' && n > 0));
    ret[n++] = good ? *c : '_';
  }
  ret[n] = 0;
  if (n == 0) (void)snprintf(ret, TIMETABLE_NAME_MAX, "contract");
}

static bool read_when(struct asked *q) {
  const struct arguments *a = q->arguments;
  struct timetable *t = &q->plan.timetable;
  const char *every = a->option[FLAG_EVERY] != NULL ? a->option[FLAG_EVERY] : "1d", *at = a->option[FLAG_AT], *accepted;
  const char *name = a->option[FLAG_NAME], *busy = a->option[FLAG_BUSY];
  if (!timetable_parse(every, NULL, t, &accepted)) return wrong(FLAG_EVERY, every, accepted);
  if (!timetable_parse(every, at, t, &accepted)) return wrong(FLAG_AT, at, accepted);
  if (name != NULL && !timetable_name_good(name))
    return wrong(FLAG_NAME, name, "letters, digits, - and _, at most 60, not beginning with -");
  if (name != NULL) (void)snprintf(t->name, sizeof t->name, "%s", name);
  else name_from(a->positional[1], t->name);
  int64_t tenth = timetable_grace(t);
  q->plan.offset_s = t->every_s / 20 < 1800 ? t->every_s / 20 : 1800;
  q->wait_s = t->every_s / 10;
  q->busy_at_most = 0.2;
  if (busy != NULL && (!number_double(busy, strlen(busy), &q->busy_at_most) || q->busy_at_most < 0 || q->busy_at_most > 1))
    return wrong(FLAG_BUSY, busy, "a share from 0 to 1, such as 0.2");
  return read_seconds(a, FLAG_OFFSET, tenth, "at most a tenth of the period, and an hour, as in 10min", &q->plan.offset_s) &&
         read_seconds(a, FLAG_WAIT, t->every_s / 2, "at most half of the period, as in 1h", &q->wait_s);
}

static bool read_places(struct asked *q) {
  const struct arguments *a = q->arguments;
  const char *folder = a->option[FLAG_FOLDER] != NULL ? a->option[FLAG_FOLDER] : "runs";
  const char *ledger = a->option[FLAG_LEDGER] != NULL ? a->option[FLAG_LEDGER] : getenv("LYNXBENCH_LEDGER");
  const char *key = a->option[FLAG_KEY] != NULL ? a->option[FLAG_KEY] : getenv("LYNXBENCH_KEY");
  struct stat info;
  if (a->option[FLAG_KEY] != NULL && ledger == NULL) return wrong(FLAG_KEY, key, "with --ledger, or LYNXBENCH_LEDGER");
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    complain("lynxbench schedule: --folder: %s: %s\n", folder, strerror(errno));
    return false;
  }
  if (!whole_path(a->positional[1], q->contract) || !whole_path(folder, q->folder) || !whole_path(".", q->working) ||
      !whole_path("/proc/self/exe", q->program))
    return false;
  if (ledger != NULL && strstr(ledger, "://") != NULL) (void)snprintf(q->ledger, sizeof q->ledger, "%s", ledger);
  else if (ledger != NULL && !whole_path(ledger, q->ledger)) return false;
  if (ledger != NULL && key != NULL && !whole_path(key, q->key)) return false;
  if (ledger != NULL && key == NULL) {
    complain("lynxbench schedule: --ledger: runs are signed: --key FILE, or LYNXBENCH_KEY, is needed\n");
    return false;
  }
  if (stat(q->folder, &info) != 0 || !S_ISDIR(info.st_mode)) return wrong(FLAG_FOLDER, folder, "a folder, there or new");
  q->plan.contract = q->contract;
  q->plan.folder = q->folder;
  q->plan.working = q->working;
  q->plan.program = q->program;
  q->plan.ledger = ledger != NULL ? q->ledger : NULL;
  q->plan.key = ledger != NULL ? q->key : NULL;
  q->plan.busy_at_most = a->option[FLAG_BUSY];
  q->plan.wait = a->option[FLAG_WAIT];
  return true;
}

/* --- the log of times --- */

static void log_path(const struct asked *q, char ret[SCHEDULE_PATH]) {
  (void)snprintf(ret, SCHEDULE_PATH, "%.4000s/%s" TIMETABLE_LOG_ENDING, q->folder, q->plan.timetable.name);
}

/* So that a file that is new is there after a crash. */
static bool sync_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL); /* some file systems have nothing to sync there */
  if (!good) complain("lynxbench schedule: %s: cannot be synced: %s\n", path, strerror(errno));
  if (fd >= 0) (void)close(fd);
  return good;
}

/* One line, on disk when it returns. A line that an earlier one left without its end is ended first. key NULL: state alone. */
static bool append(const struct asked *q, int64_t slot_s, const char *state, const char *key, const char *text, int64_t code) {
  char path[SCHEDULE_PATH], last = '\n';
  struct buffer line;
  struct json_writer json;
  struct stat info;
  log_path(q, path);
  buffer_init(&line, TIMETABLE_LINE_MAX);
  int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  bool good = fd >= 0 && fstat(fd, &info) == 0;
  if (good && info.st_size > 0 && pread(fd, &last, 1, info.st_size - 1) == 1 && last != '\n') (void)buffer_text(&line, "\n");
  json_begin_object(&json, &line);
  json_put_text(&json, "schedule", q->plan.timetable.name);
  json_put_int(&json, "every_s", q->plan.timetable.every_s);
  json_put_int(&json, "at_s", q->plan.timetable.at_s);
  json_put_int(&json, "slot_s", slot_s);
  json_put_int(&json, "time_s", clock_realtime_s(&clock_system));
  json_put_text(&json, "state", state);
  if (key != NULL) json_put_text(&json, key, text);
  if (code >= 0) json_put_int(&json, "exit", code);
  json_close(&json);
  good = good && json_finish(&json) && buffer_text(&line, "\n") && file_write_all(fd, line.data, line.length) && fsync(fd) == 0;
  if (!good) complain("lynxbench schedule: %s: cannot be written: %s\n", path, strerror(errno));
  if (fd >= 0) (void)close(fd); /* what counts is synced */
  if (good && info.st_size == 0) good = sync_folder(q->folder);
  buffer_release(&line);
  return good;
}

/* --- run --- */

static void sleep_s(double s) {
  struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
  (void)nanosleep(&t, NULL);
}

/* One run at a time on this machine, whoever starts it; else of this user. -1: it cannot be had. */
static int lock_machine(const struct asked *q, bool *ret_busy) {
  char own[SCHEDULE_PATH];
  const char *path = "/run/lock/lynxbench.lock";
  int64_t until = clock_realtime_s(&clock_system) + q->wait_s;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0 && state_path("schedule.lock", own, sizeof own)) {
    file_make_parents(own, 0700);
    fd = open(own, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  }
  *ret_busy = false;
  if (fd < 0) complain("lynxbench schedule: no lock file could be made (%s): %s\n", path, strerror(errno));
  while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (!*ret_busy && errno == EWOULDBLOCK) complain("%s: waiting for another scheduled run\n", q->plan.timetable.name);
    *ret_busy = errno == EWOULDBLOCK;
    if (!*ret_busy || clock_realtime_s(&clock_system) >= until) {
      (void)close(fd);
      return -1;
    }
    sleep_s(1);
  }
  return fd;
}

/* Over a few seconds; 0 where it is not known. */
static double busy_share(void) {
  static const struct root root = {""};
  struct machine_ticks a, b;
  if (!machine_ticks_read(&root, &a)) return 0;
  sleep_s(LOOK_SECONDS);
  if (!machine_ticks_read(&root, &b) || b.total <= a.total) return 0;
  return (double)(b.busy - a.busy) / (double)(b.total - a.total);
}

/* False: it stayed busier than is wanted; why says by how much. */
static bool wait_until_quiet(const struct asked *q, char *why, size_t size) {
  int64_t until = clock_realtime_s(&clock_system) + q->wait_s;
  for (;;) {
    double share = busy_share();
    if (share <= q->busy_at_most) return true;
    (void)snprintf(why, size, "the machine was busy: %.0f %% of its processors' time, and at most %.0f %% is wanted", 100 * share,
                   100 * q->busy_at_most);
    if (clock_realtime_s(&clock_system) >= until) return false;
    complain("%s: waiting: %s\n", q->plan.timetable.name, why);
    sleep_s(30);
  }
}

static int run_contract(const struct asked *q, int64_t slot_s) {
  char out[SCHEDULE_PATH], stamp[32];
  time_t now = (time_t)clock_realtime_s(&clock_system);
  struct tm tm;
  const char *words[10] = {"run", q->contract, "--out", out, "--quiet"};
  size_t n = 5;
  if (gmtime_r(&now, &tm) == NULL || strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm) == 0) return EXIT_CONDITIONS;
  (void)snprintf(out, sizeof out, "%.4000s/%s-%s.lynx", q->folder, q->plan.timetable.name, stamp);
  if (q->plan.ledger != NULL) {
    const char *const more[] = {"--ledger", q->plan.ledger, "--key", q->plan.key};
    for (size_t i = 0; i < LYNX_COUNT(more); i++) words[n++] = more[i];
  }
  words[n] = NULL;
  if (!append(q, slot_s, "begun", "bundle", out, -1)) return EXIT_CONDITIONS;
  int code = self_run("schedule", words);
  return append(q, slot_s, "ended", "bundle", out, code) ? code : EXIT_CONDITIONS;
}

/* What another scheduler, or the clock put back, asks for again is done once. */
static bool is_done(const struct asked *q, int64_t slot_s) {
  char path[SCHEDULE_PATH], text[32];
  struct lynx_error error = {0};
  struct timetable_log log;
  log_path(q, path);
  (void)timetable_file_read(path, &log, &error); /* of one that is not there, nothing is done */
  const struct timetable_slot *slot = timetable_log_slot(&log, slot_s);
  bool done = slot != NULL && (slot->state == SLOT_KEPT || slot->state == SLOT_FAILED);
  if (done && slot->state == SLOT_FAILED)
    say("%s: the run that was due at %s failed (exit code %" PRId64 "), and is not run again: the next one is\n", q->plan.timetable.name,
        timetable_time(slot_s, text, sizeof text), slot->exit);
  else if (done)
    say("%s: the run that was due at %s is done: nothing to do\n", q->plan.timetable.name, timetable_time(slot_s, text, sizeof text));
  timetable_log_release(&log);
  return done;
}

static int run_slot(struct asked *q) {
  char why[200] = "another scheduled run went on";
  uint8_t salt[8] = {0};
  bool other;
  int64_t slot_s = timetable_slot(&q->plan.timetable, clock_realtime_s(&clock_system));
  if (is_done(q, slot_s)) return EXIT_HOLDS;
  if (q->arguments->option[FLAG_OFFSET] != NULL && q->plan.offset_s > 0 && random_salt(salt, sizeof salt)) {
    uint64_t drawn;
    memcpy(&drawn, salt, sizeof drawn);
    sleep_s((double)(drawn % (uint64_t)(q->plan.offset_s + 1)));
  }
  int lock = lock_machine(q, &other);
  if (lock < 0 && !other) return EXIT_CONDITIONS;
  /* The run holds it, too: where this process is killed, what is left of the run still keeps others out. */
  if (lock >= 0) (void)fcntl(lock, F_SETFD, 0);
  int code = EXIT_CONDITIONS;
  if (lock >= 0 && is_done(q, slot_s)) code = EXIT_HOLDS;
  else if (lock >= 0 && wait_until_quiet(q, why, sizeof why)) code = run_contract(q, slot_s);
  else if (append(q, slot_s, "skipped", "why", why, -1)) complain("%s: skipped: %s\n", q->plan.timetable.name, why);
  if (lock >= 0) (void)close(lock);
  return code;
}

/* --- add, remove --- */

/* False: reported. */
static bool units_folder(const struct arguments *a, char ret[SCHEDULE_PATH]) {
  const char *given = a->option[FLAG_UNITS], *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (given != NULL) (void)snprintf(ret, SCHEDULE_PATH, "%.4000s", given);
  else if (geteuid() == 0) (void)snprintf(ret, SCHEDULE_PATH, "/etc/systemd/system");
  else if (config != NULL && config[0] == '/') (void)snprintf(ret, SCHEDULE_PATH, "%.4000s/systemd/user", config);
  else if (home != NULL && home[0] == '/') (void)snprintf(ret, SCHEDULE_PATH, "%.4000s/.config/systemd/user", home);
  else {
    complain("lynxbench schedule: neither XDG_CONFIG_HOME nor HOME is set: name the units' folder by --units\n");
    return false;
  }
  return true;
}

static int systemctl(const struct arguments *a, const char *verb, const char *flag, const char *unit) {
  const char *words[8];
  size_t n = 0;
  if (a->option[FLAG_UNITS] != NULL) return EXIT_HOLDS;
  if (geteuid() != 0) words[n++] = "--user";
  words[n++] = verb;
  if (flag != NULL) words[n++] = flag;
  if (unit != NULL) words[n++] = unit;
  words[n] = NULL;
  return program_run("schedule", PROGRAM_SYSTEMCTL, words);
}

static void unit_path(const char *folder, const char *name, const char *ending, char ret[SCHEDULE_PATH]) {
  (void)snprintf(ret, SCHEDULE_PATH, "%.4000s/lynxbench-%s.%s", folder, name, ending);
}

/* What is there under the name is replaced if it is this schedule's own. False: reported. */
static bool may_replace(const struct asked *q, const char *folder) {
  struct schedule_mark mark;
  char path[SCHEDULE_PATH];
  struct stat info;
  static const char *const endings[2] = {"service", "timer"};
  for (int i = 0; i < 2; i++) {
    unit_path(folder, q->plan.timetable.name, endings[i], path);
    if (lstat(path, &info) != 0 || S_ISREG(info.st_mode)) continue;
    complain("lynxbench schedule: %s: is there, and is no file; accepted: a file, or nothing\n", path);
    return false;
  }
  unit_path(folder, q->plan.timetable.name, endings[0], path);
  if (lstat(path, &info) != 0) return true;
  bool ours = schedule_read_mark(path, &mark),
       same = ours && strcmp(mark.contract, q->contract) == 0 && strcmp(mark.folder, q->folder) == 0;
  if (!same)
    complain("lynxbench schedule: --name: found '%s', which is that of another schedule (%.600s, into %.600s); accepted: another name, "
             "or `lynxbench schedule remove %s` before\n",
             q->plan.timetable.name, ours ? mark.contract : path, ours ? mark.folder : "?", q->plan.timetable.name);
  return same;
}

static bool write_units(const struct asked *q, const char *folder) {
  bool (*const make[2])(const struct schedule_plan *, struct buffer *) = {schedule_service, schedule_timer};
  static const char *const endings[2] = {"service", "timer"};
  char path[SCHEDULE_PATH];
  bool good = true;
  for (int i = 0; i < 2 && good; i++) {
    struct buffer text;
    buffer_init(&text, UNIT_MAX);
    unit_path(folder, q->plan.timetable.name, endings[i], path);
    if (i == 0) file_make_parents(path, 0755);
    good = make[i](&q->plan, &text) && write_buffer(path, &text);
    buffer_release(&text);
  }
  return good;
}

static int install(struct asked *q) {
  char folder[SCHEDULE_PATH], timer[100], text[32];
  struct buffer when;
  if (!units_folder(q->arguments, folder) || !may_replace(q, folder) || !write_units(q, folder)) return EXIT_WRONG_INPUT;
  (void)snprintf(timer, sizeof timer, "lynxbench-%s.timer", q->plan.timetable.name);
  int64_t slot_s = timetable_slot(&q->plan.timetable, clock_realtime_s(&clock_system));
  if (!append(q, slot_s, "installed", NULL, NULL, -1)) return EXIT_CONDITIONS;
  int code = systemctl(q->arguments, "daemon-reload", NULL, NULL);
  if (code == EXIT_HOLDS) code = systemctl(q->arguments, "enable", "--now", timer);
  if (code != EXIT_HOLDS) {
    complain("lynxbench schedule: the units are in %s, and systemctl did not take them (exit code %d). On a machine without "
             "systemd: lynxbench schedule add ... --print cron\n",
             folder, code);
    return EXIT_CONDITIONS;
  }
  buffer_init(&when, 20000);
  timetable_put_when(&q->plan.timetable, &when);
  (void)buffer_printf(&when, ", next at %s; bundles and the log of times go to ",
                      timetable_time(slot_s + q->plan.timetable.every_s, text, sizeof text));
  (void)buffer_text(&when, shell_word(q->folder));
  (void)buffer_text(&when, "\nnext: lynxbench schedule list");
  if (q->arguments->option[FLAG_UNITS] != NULL) (void)buffer_text(&when, " --units ");
  if (q->arguments->option[FLAG_UNITS] != NULL) (void)buffer_text(&when, shell_word(q->arguments->option[FLAG_UNITS]));
  (void)buffer_text(&when, "; lynxbench history ");
  (void)buffer_text(&when, shell_word(q->folder));
  say("%s: %s\n", q->plan.timetable.name, when.data);
  if (geteuid() != 0 && q->arguments->option[FLAG_UNITS] == NULL)
    say("it runs while you are logged in; `loginctl enable-linger` lets it run without\n");
  buffer_release(&when);
  return EXIT_HOLDS;
}

static int print_form(struct asked *q, const char *form) {
  static const struct {
    const char *name;
    bool (*make[2])(const struct schedule_plan *, struct buffer *);
  } forms[] = {
      {"systemd", {schedule_service, schedule_timer}}, {"cron", {schedule_cron_line, NULL}}, {"kubernetes", {schedule_kubernetes, NULL}}};
  for (size_t i = 0; i < LYNX_COUNT(forms); i++) {
    struct buffer out;
    if (strcmp(form, forms[i].name) != 0) continue;
    buffer_init(&out, UNIT_MAX);
    bool good = forms[i].make[0](&q->plan, &out);
    if (good && forms[i].make[1] != NULL) good = buffer_text(&out, "\n") && forms[i].make[1](&q->plan, &out);
    int code = !good ? EXIT_WRONG_INPUT : write_buffer(NULL, &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
    buffer_release(&out);
    return code;
  }
  (void)wrong(FLAG_PRINT, form, "systemd, cron or kubernetes");
  return EXIT_WRONG_INPUT;
}

/* A contract that would be refused every night is refused now. */
static bool check_contract(const char *path) {
  struct contract_file file;
  if (!contract_file_read(path, &file)) return false;
  contract_file_print_problems(&file, path, true, false, stderr);
  bool good = file.problems.n_errors == 0;
  const char *variable = file.contract.workload.api_key_env;
  if (good && variable != NULL)
    complain(
        "lynxbench schedule: workload.api_key_env: scheduled runs do not have your environment: give %s to the unit (`systemctl edit`, "
        "EnvironmentFile=), to cron's table or to the pod (a Secret), or name a file in workload.api_key_file\n",
        variable);
  if (!good) complain("lynxbench: %s: %zu error%s: nothing was scheduled\n", path, file.problems.n_errors, LYNX_S(file.problems.n_errors));
  contract_file_release(&file);
  return good;
}

static int add(struct asked *q) {
  const char *form = q->arguments->option[FLAG_PRINT];
  if (form != NULL && q->arguments->option[FLAG_UNITS] != NULL) {
    (void)wrong(FLAG_UNITS, q->arguments->option[FLAG_UNITS], "without --print, which installs nothing");
    return EXIT_WRONG_INPUT;
  }
  if (!read_when(q) || !check_contract(q->arguments->positional[1]) || !read_places(q)) return EXIT_WRONG_INPUT;
  return form != NULL ? print_form(q, form) : install(q);
}

static int run_now(struct asked *q) {
  return read_when(q) && read_places(q) ? run_slot(q) : EXIT_WRONG_INPUT;
}

/* From here on no time of it is missed. A folder that is gone has nothing to count. */
static void note_removal(struct asked *q, const struct schedule_mark *mark) {
  struct stat info;
  q->plan.timetable = mark->timetable;
  (void)snprintf(q->folder, sizeof q->folder, "%s", mark->folder);
  int64_t slot_s = timetable_slot(&mark->timetable, clock_realtime_s(&clock_system));
  if (stat(q->folder, &info) == 0 && S_ISDIR(info.st_mode)) (void)append(q, slot_s, "removed", NULL, NULL, -1); /* it reports why */
}

static int remove_units(struct asked *q) {
  const char *name = q->arguments->positional[1];
  char folder[SCHEDULE_PATH], service[SCHEDULE_PATH], timer[SCHEDULE_PATH], unit[100];
  struct schedule_mark mark;
  if (!timetable_name_good(name)) {
    complain("lynxbench schedule remove: found '%s', accepted: a name that `lynxbench schedule list` shows\n", name);
    return EXIT_WRONG_INPUT;
  }
  if (!units_folder(q->arguments, folder)) return EXIT_WRONG_INPUT;
  unit_path(folder, name, "service", service);
  unit_path(folder, name, "timer", timer);
  if (access(timer, F_OK) != 0 && access(service, F_OK) != 0) {
    complain("lynxbench schedule remove: %s: there is no such unit\n", timer);
    return EXIT_WRONG_INPUT;
  }
  (void)snprintf(unit, sizeof unit, "lynxbench-%s.timer", name);
  if (schedule_read_mark(service, &mark)) note_removal(q, &mark);
  int code = systemctl(q->arguments, "disable", "--now", unit);
  if ((unlink(timer) != 0 && errno != ENOENT) || (unlink(service) != 0 && errno != ENOENT)) {
    complain("lynxbench schedule remove: %s: %s\n", folder, strerror(errno));
    return EXIT_CONDITIONS;
  }
  if (code == EXIT_HOLDS) code = systemctl(q->arguments, "daemon-reload", NULL, NULL);
  say("%s: removed; its bundles and its log of times stay\n", name);
  return code == EXIT_HOLDS ? EXIT_HOLDS : EXIT_CONDITIONS;
}

static int run(const struct arguments *arguments) {
  static struct asked asked;
  static const struct {
    const char *name, *what;
    int (*run)(struct asked *asked);
  } actions[] = {{"add", "CONTRACT", add}, {"run", "CONTRACT", run_now}, {"remove", "NAME", remove_units}};
  const char *name = arguments->n_positional > 0 ? arguments->positional[0] : "list";
  char folder[SCHEDULE_PATH];
  asked.arguments = arguments;
  if (strcmp(name, "list") == 0 && arguments->n_positional <= 1)
    return units_folder(arguments, folder)
               ? schedule_list(folder, arguments->option[FLAG_UNITS] != NULL, arguments->option[FLAG_JSON] != NULL)
               : EXIT_WRONG_INPUT;
  if (strcmp(name, "list") == 0) {
    complain("lynxbench schedule list: found '%s', accepted: nothing more\n", arguments->positional[1]);
    return EXIT_WRONG_INPUT;
  }
  for (size_t i = 0; i < LYNX_COUNT(actions); i++) {
    if (strcmp(name, actions[i].name) != 0) continue;
    if (arguments->n_positional == 2) return actions[i].run(&asked);
    complain("lynxbench schedule %s: an argument is missing: %s\n", name, actions[i].what);
    return EXIT_WRONG_INPUT;
  }
  complain("lynxbench schedule: found '%s', accepted: list, add, run, remove\n", name);
  return EXIT_WRONG_INPUT;
}

const struct command command_schedule = {
    .name = "schedule",
    .summary = "run a contract again and again by systemd, cron or Kubernetes",
    .usage = "[list | add CONTRACT | run CONTRACT | remove NAME]",
    .least = 0,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "`add` installs a systemd timer, or prints one, a line for cron, or a CronJob. What it starts is `schedule run`, which runs\n"
        "the contract once for each time that is due: one run at a time on a machine, not while the machine is busy, and never\n"
        "twice for the same time. Bundles go to the folder, and beside them a log of every time: begun, ended, skipped and why.\n"
        "`list` and `lynxbench history FOLDER` show from it which times were kept, late, skipped, interrupted or missed. All times\n"
        "are UTC: no hour is there twice.\n"
        "`run` exits as `lynxbench run` does, with 0 where the time was done before, 4 where it was skipped or its\n"
        "log cannot be written.",
    .example = "build/lynxbench schedule add examples/command.yaml --every 1d --at 02:00 --folder /tmp/runs --print systemd",
    .run = run};
