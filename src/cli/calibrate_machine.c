#include "cli/calibrate_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/machine_record.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "executor/capture.h"
#include "measure/ceilings.h"

enum { DECLARED_MAX = 32 };

struct declared {
  char name[CEILING_NAME];
  double value;
  bool used;
};

struct declared_list {
  struct declared items[DECLARED_MAX];
  size_t n;
};

/* "memory.triad=204.8e9,arithmetic.f32=1.2e12" */
static bool read_declared(const char *text, struct declared_list *ret) {
  *ret = (struct declared_list){.n = 0};
  while (text != NULL && *text != 0) {
    size_t n = strcspn(text, ","), name = strcspn(text, "=");
    struct declared *d = &ret->items[ret->n];
    bool good = ret->n < DECLARED_MAX && name < n && name > 0 && name < sizeof d->name &&
                number_double(text + name + 1, n - name - 1, &d->value) && d->value > 0 && isfinite(d->value);
    if (!good) {
      complain("lynxbench calibrate: --declared: found '%.*s'; accepted: NAME=N, at most %d with commas between, such as "
               "memory.triad=204.8e9,arithmetic.f32=1.2e12\n",
               (int)(n < 80 ? n : 80), text, DECLARED_MAX);
      return false;
    }
    (void)snprintf(d->name, sizeof d->name, "%.*s", (int)name, text);
    ret->n++;
    text += n + (text[n] == ',');
  }
  return true;
}

static const struct declared *declared_of(struct declared_list *list, const char *name) {
  for (size_t i = 0; i < list->n; i++)
    if (strcmp(list->items[i].name, name) == 0) {
      list->items[i].used = true;
      return &list->items[i];
    }
  return NULL;
}

/* Of the processors alone: what else is on this machine changes none of these. */
static bool machine_fingerprint(char ret[DIGEST_HEX]) {
  static const struct root root = {""};
  const struct capture_request request = {.root = &root, .clock = &clock_system, .in_process = true, .hosts_known = true};
  struct fact_list facts = {.n_items = 0};
  capture_run(&request, &facts);
  bool good = capture_fingerprint_layer(&facts, LAYER_ACCELERATOR, ret);
  fact_list_release(&facts);
  return good;
}

static bool write_record(const struct ceilings *c, struct declared_list *declared, const char *fingerprint, struct buffer *out) {
  struct json_writer json;
  machine_record_begin(&record_of_envelope, &json, out);
  json_put_text(&json, "fingerprint", fingerprint);
  json_put_double(&json, "others", number_round(c->others, 3));
  json_key(&json, "ceilings");
  json_open_array(&json);
  for (size_t i = 0; i < c->n; i++) {
    const struct ceiling *one = &c->items[i];
    const struct declared *d = declared_of(declared, one->name);
    json_open_object(&json);
    json_put_text(&json, "name", one->name);
    json_put_text(&json, "with", one->with);
    json_put_text(&json, "unit", ceiling_unit_text(one->unit));
    json_put_double(&json, "value", number_round(one->value, 5));
    json_put_double(&json, "least", number_round(one->least, 5));
    json_put_double(&json, "greatest", number_round(one->greatest, 5));
    json_put_int(&json, "threads", one->threads);
    json_put_int(&json, "n", one->n);
    if (d != NULL) json_put_double(&json, "declared", d->value);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}

static const char *value_text(const struct ceiling *one, double value, char *text, size_t size) {
  if (one->unit == CEILING_SECONDS) return number_duration_text(text, size, value * 1e9);
  (void)snprintf(text, size, "%.4g %s", value / 1e9, one->unit == CEILING_BYTES ? "GB/s" : "Gop/s");
  return text;
}

static void tell(FILE *to, const struct ceilings *c, struct declared_list *declared) {
  char a[40], b[40], d[40];
  say_to(to, "%-28s %7s %15s  %-32s %s\n", "ceiling", "threads", "", "range", "with");
  for (size_t i = 0; i < c->n; i++) {
    const struct ceiling *one = &c->items[i];
    char range[96], value[40];
    const struct declared *specified = declared_of(declared, one->name);
    (void)snprintf(range, sizeof range, "%s to %s", value_text(one, one->least, a, sizeof a), value_text(one, one->greatest, b, sizeof b));
    say_to(to, "%-28s %7d %15s  %-32s %s\n", one->name, one->threads, value_text(one, one->value, value, sizeof value), range, one->with);
    if (specified != NULL)
      say_to(to, "%-28s %7s %15s  declared: %.0f %% of it was reached\n", "", "", value_text(one, specified->value, d, sizeof d),
             100 * (one->unit == CEILING_SECONDS ? specified->value / one->value : one->value / specified->value));
  }
  const char *warning = c->others > 0.05 ? ": these ceilings are too low, measure again on a quiet machine" : "";
  say_to(to, "rates are the greatest of their repeats, latencies medians (range: 1st to 99th percentile)\n");
  if (isfinite(c->others)) say_to(to, "other processes used %.1f %% of the processors%s\n", 100 * c->others, warning);
  else say_to(to, "what other processes used is not known\n");
}

static void show_next(void *context, const char *name) {
  const bool *quiet = context;
  if (!*quiet && isatty(2)) complain("\r\033[K%s ...", name);
}

static bool all_used(const struct declared_list *declared) {
  for (size_t i = 0; i < declared->n; i++)
    if (!declared->items[i].used)
      complain("lynxbench calibrate: --declared: no ceiling is called '%s' on this machine\n", declared->items[i].name);
  for (size_t i = 0; i < declared->n; i++)
    if (!declared->items[i].used) return false;
  return true;
}

int calibrate_machine(const struct machine_wanted *wanted) {
  static const struct root root = {""};
  struct ceilings *c = calloc(1, sizeof *c);
  struct declared_list declared;
  struct buffer out;
  char path[700] = "-", fingerprint[DIGEST_HEX] = "";
  bool quiet = wanted->quiet, json = wanted->json;
  int code = EXIT_WRONG_INPUT;
  buffer_init(&out, 1 << 20);
  if (c == NULL || !read_declared(wanted->declared, &declared)) goto end;
  if (wanted->out != NULL) (void)snprintf(path, sizeof path, "%s", wanted->out);
  else if (!machine_record_path(&record_of_envelope, path, sizeof path)) {
    complain("lynxbench calibrate: neither HOME nor XDG_STATE_HOME says where to keep it; give --out FILE and set "
             "LYNXBENCH_ENVELOPE to it\n");
    goto end;
  }
  bool whole = ceilings_measure(&root, screen_catch_interrupts(), show_next, &quiet, c);
  if (!quiet && isatty(2)) complain("\r\033[K");
  code = !whole && atomic_load(screen_catch_interrupts()) != 0 ? EXIT_INTERRUPTED : EXIT_CONDITIONS;
  if (!whole && code == EXIT_CONDITIONS) complain("lynxbench calibrate: the processors that it may run on cannot be listed\n");
  if (!whole) goto end;
  if (!machine_fingerprint(fingerprint) || !write_record(c, &declared, fingerprint, &out)) {
    complain("lynxbench calibrate: this machine's processors cannot be read from /proc and /sys: nothing is kept\n");
    goto end;
  }
  if (strcmp(path, "-") != 0) {
    file_make_parents(path, 0700);
    if (!json) tell(stdout, c, &declared);
  }
  if (json && strcmp(path, "-") != 0 && !write_buffer("-", &out)) goto end;
  if (!write_buffer(path, &out)) goto end;
  if (strcmp(path, "-") != 0 && !quiet)
    complain("kept in %s: every run on this host carries it, and its report shows how near the model comes\n", path);
  code = all_used(&declared) ? EXIT_HOLDS : EXIT_WRONG_INPUT;
end:
  buffer_release(&out);
  free(c);
  return code;
}
