#include "cli/output.h"
#include "cli/schedule_units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/root.h"

enum { WORDS_MAX = 24 };

/* The command line of `schedule run`. */
static size_t words_of(const struct schedule_plan *p, char text[3][64], bool sleeps, const char **ret) {
  const struct timetable *t = &p->timetable;
  size_t n = 0;
  const char *const pairs[][2] = {{"--name", t->name},
                                  {"--every", text[0]},
                                  {"--at", text[1]},
                                  {"--folder", p->folder},
                                  {"--ledger", p->ledger},
                                  {"--key", p->key},
                                  {"--busy-at-most", p->busy_at_most},
                                  {"--wait", p->wait},
                                  {"--offset", sleeps && p->offset_s > 0 ? text[2] : NULL}};
  if (t->every_s >= 86400) (void)snprintf(text[0], 64, "%dd", (int)(t->every_s / 86400));
  else (void)snprintf(text[0], 64, "%dh", (int)(t->every_s / 3600));
  (void)snprintf(text[1], 64, "%02d:%02d", (int)(t->at_s / 3600), (int)(t->at_s % 3600 / 60));
  (void)snprintf(text[2], 64, "%" PRId64 "s", p->offset_s);
  ret[n++] = p->program;
  ret[n++] = "schedule";
  ret[n++] = "run";
  ret[n++] = p->contract;
  for (size_t i = 0; i < LYNX_COUNT(pairs); i++) {
    if (pairs[i][1] == NULL) continue;
    ret[n++] = pairs[i][0];
    ret[n++] = pairs[i][1];
  }
  return n;
}

static bool is_plain(const char *text) {
  for (const char *c = text; c != NULL && *c != 0; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) {
      complain("lynxbench schedule: a path or an address has a line end or another control character: it cannot stand in a unit\n");
      return false;
    }
  return true;
}

static bool are_plain(const struct schedule_plan *p) {
  return is_plain(p->contract) && is_plain(p->folder) && is_plain(p->ledger) && is_plain(p->key) && is_plain(p->program) &&
         is_plain(p->working);
}

/* In double quotes, as systemd reads a command line: % would be filled in, and $ behind the program's own path. */
static void put_systemd(const char *word, bool program, struct buffer *out) {
  (void)buffer_text(out, " \"");
  for (const char *c = word; *c != 0; c++) {
    if (*c == '"' || *c == '\\') (void)buffer_text(out, "\\");
    if (*c == '%' || (*c == '$' && !program)) (void)buffer_printf(out, "%c", *c);
    (void)buffer_printf(out, "%c", *c);
  }
  (void)buffer_text(out, "\"");
}

/* A path of its own line: % alone would be filled in. */
static void put_path(const char *path, struct buffer *out) {
  for (const char *c = path; *c != 0; c++) (void)buffer_printf(out, *c == '%' ? "%%%%" : "%c", *c);
}

static void put_mark(const struct schedule_plan *p, struct buffer *out) {
  struct json_writer json;
  (void)buffer_text(out, SCHEDULE_MARK);
  json_begin_object(&json, out);
  json_put_text(&json, "schedule", p->timetable.name);
  json_put_int(&json, "every_s", p->timetable.every_s);
  json_put_int(&json, "at_s", p->timetable.at_s);
  json_put_text(&json, "contract", p->contract);
  json_put_text(&json, "folder", p->folder);
  json_close(&json);
  (void)json_finish(&json); /* the buffer says if it overflowed */
  (void)buffer_text(out, "\n");
}

bool schedule_service(const struct schedule_plan *p, struct buffer *out) {
  const char *words[WORDS_MAX];
  char text[3][64];
  size_t n = words_of(p, text, false, words);
  if (!are_plain(p)) return false;
  if (text_ends_with(p->working, " ") || text_ends_with(p->working, "\\")) {
    complain("lynxbench schedule: %s: found a folder whose name ends in a space or a backslash, accepted: any other, for systemd\n",
             p->working);
    return false;
  }
  if (strpbrk(p->program, "\"'\\") != NULL) {
    complain("lynxbench schedule: %s: found a program whose path has a quote or a backslash, accepted: any other, for systemd\n",
             p->program);
    return false;
  }
  put_mark(p, out);
  (void)buffer_printf(out,
                      "[Unit]\nDescription=lynxbench: %s\nDocumentation=man:lynxbench-schedule(1)\n\n[Service]\nType=oneshot\n"
                      "WorkingDirectory=",
                      p->timetable.name);
  put_path(p->working, out);
  (void)buffer_text(out, "\nExecStart=");
  for (size_t i = 0; i < n; i++) put_systemd(words[i], i == 0, out);
  /* SIGTERM seals what was measured so far. */
  return buffer_text(out, "\nKillMode=mixed\nTimeoutStopSec=90\n");
}

bool schedule_timer(const struct schedule_plan *p, struct buffer *out) {
  char text[64];
  (void)buffer_printf(out, "[Unit]\nDescription=lynxbench: when %s is due\n\n[Timer]\nOnCalendar=%s\nRandomizedDelaySec=%" PRId64 "s\n",
                      p->timetable.name, timetable_calendar(&p->timetable, text, sizeof text), p->offset_s);
  /* After a night with the lid closed it is run once, and the log says how late. */
  return buffer_text(out, "AccuracySec=1s\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n");
}

/* In single quotes for the shell; cron reads % as a line end. */
static void put_cron(const char *word, struct buffer *out) {
  (void)buffer_text(out, " '");
  for (const char *c = word; *c != 0; c++) (void)buffer_printf(out, *c == '\'' ? "'\\''" : *c == '%' ? "\\%%" : "%c", *c);
  (void)buffer_text(out, "'");
}

/* Every hour: `schedule run` runs what is due and was not run. So nothing depends on the zone that cron's daemon is in, which not every
 * cron lets a table name, and a time that was slept through is caught up with. */
bool schedule_cron_line(const struct schedule_plan *p, struct buffer *out) {
  const char *words[WORDS_MAX];
  char text[3][64];
  size_t n = words_of(p, text, true, words);
  if (!are_plain(p)) return false;
  (void)buffer_printf(out, "# %s: for `crontab -e`. It looks every hour, and runs what is due by UTC, once.\n%d * * * * cd",
                      p->timetable.name, (int)(p->timetable.at_s % 3600 / 60));
  put_cron(p->working, out);
  (void)buffer_text(out, " &&");
  for (size_t i = 0; i < n; i++) put_cron(words[i], out);
  return buffer_text(out, " >/dev/null\n"); /* what a run says goes to standard error, and by mail */
}

static void put_yaml(const char *word, struct buffer *out) {
  (void)buffer_text(out, "            - '");
  for (const char *c = word; *c != 0; c++) (void)buffer_printf(out, *c == '\'' ? "''" : "%c", *c);
  (void)buffer_text(out, "'\n");
}

/* Kubernetes wants names in small letters, without _, and not too long: where that changes a name, its digest keeps it apart. */
static void put_kubernetes_name(const char *name, struct buffer *out) {
  enum { PART = 32, DIGITS = 8 };
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  size_t n = strlen(name) < PART ? strlen(name) : PART;
  bool changed = name[n] != 0 || name[n - 1] == '-';
  (void)buffer_text(out, "lynxbench-");
  for (size_t i = 0; i < n; i++) {
    char c = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i] == '_' ? '-' : name[i]);
    changed = changed || c != name[i];
    (void)buffer_printf(out, "%c", c);
  }
  digest_of(name, strlen(name), digest);
  if (changed) (void)buffer_printf(out, "-%.*s", DIGITS, digest_hex(digest, hex));
}

bool schedule_kubernetes(const struct schedule_plan *plan, struct buffer *out) {
  const char *words[WORDS_MAX];
  char text[3][64], when[64];
  struct schedule_plan p = *plan;
  p.contract = "/contract/contract.yaml";
  p.folder = "/runs";
  if (p.key != NULL) p.key = "/key/team.key";
  size_t n = words_of(&p, text, true, words);
  struct buffer name;
  if (!are_plain(plan)) return false;
  if (plan->ledger != NULL && strstr(plan->ledger, "://") == NULL) {
    complain("lynxbench schedule: --ledger: found the file %s, which no pod has; accepted: an address\n", plan->ledger);
    return false;
  }
  buffer_init(&name, 200);
  put_kubernetes_name(plan->timetable.name, &name);
  (void)buffer_printf(out,
                      "# %s: the contract is the key contract.yaml of the ConfigMap %s; bundles and the log of times lie on\n"
                      "# the volume claim lynxbench-runs. Name your own image.\napiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: %s",
                      plan->contract, name.data, name.data);
  (void)buffer_printf(out,
                      "\nspec:\n  schedule: '%s'\n  timeZone: Etc/UTC\n  concurrencyPolicy: Forbid\n  startingDeadlineSeconds: %" PRId64
                      "\n  jobTemplate:\n    spec:\n      backoffLimit: 0\n      template:\n        spec:\n          restartPolicy: Never\n"
                      "          containers:\n          - name: lynxbench\n            image: lynxbench:latest\n            command: "
                      "[lynxbench]\n            args:\n",
                      timetable_cron(&p.timetable, when, sizeof when), p.timetable.every_s / 2);
  for (size_t i = 1; i < n; i++) put_yaml(words[i], out);
  (void)buffer_printf(out,
                      "            volumeMounts:\n            - {name: contract, mountPath: /contract, readOnly: true}\n"
                      "            - {name: runs, mountPath: /runs}\n%s          volumes:\n"
                      "          - {name: contract, configMap: {name: %s}}\n"
                      "          - {name: runs, persistentVolumeClaim: {claimName: lynxbench-runs}}\n",
                      p.key != NULL ? "            - {name: key, mountPath: /key, readOnly: true}\n" : "", name.data);
  buffer_release(&name);
  return buffer_text(out, p.key != NULL ? "          - {name: key, secret: {secretName: lynxbench-key}} # its key team.key\n" : "");
}

bool schedule_read_mark(const char *path, struct schedule_mark *ret) {
  static const struct root root = {""};
  char line[8192];
  struct lynx_error error = {0};
  size_t mark = strlen(SCHEDULE_MARK);
  if (!root_read_line(&root, path, line, sizeof line) || strncmp(line, SCHEDULE_MARK, mark) != 0) return false;
  json_t *found = json_parse(line + mark, strlen(line) - mark, sizeof line, &error);
  const char *name = json_get_text(found, "schedule", "");
  ret->timetable = (struct timetable){.every_s = json_get_int(found, "every_s", 0), .at_s = json_get_int(found, "at_s", 0)};
  bool good = timetable_name_good(name) && timetable_period_good(ret->timetable.every_s, ret->timetable.at_s);
  (void)snprintf(ret->timetable.name, sizeof ret->timetable.name, "%s", good ? name : "");
  (void)snprintf(ret->contract, sizeof ret->contract, "%s", json_get_text(found, "contract", ""));
  (void)snprintf(ret->folder, sizeof ret->folder, "%s", json_get_text(found, "folder", ""));
  json_decref(found);
  return good;
}
