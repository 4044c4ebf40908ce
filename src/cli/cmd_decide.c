#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/decide_fleet.h"
#include "cli/decide_precision.h"
#include "report/upgrade_report.h"

enum {
  FLAG_UPGRADE,
  FLAG_FROM,
  FLAG_TO,
  FLAG_MARGIN,
  FLAG_PRICE_RATIO,
  FLAG_DEVICES,
  FLAG_RATE,
  FLAG_WITHIN,
  FLAG_PERCENTILE,
  FLAG_SPARE,
  FLAG_ROUTE,
  FLAG_BURSTINESS,
  FLAG_METRIC,
  FLAG_JSON
};
enum { PAGE_MAX = 4 << 20 };
#define MARGIN_USUAL 0.1
#define WANTED_MOST 1000

static const struct option_spec options[] = {
    [FLAG_UPGRADE] = {"upgrade", "LIST",
                      "what gets faster, as 'memory.bandwidth x1.43, memory.capacity 141GB': of memory.bandwidth, memory.capacity, "
                      "arithmetic.TYPE, gpu, host.clock, host.cores, link.host, link.peer, wire, disk, power.cap"},
    [FLAG_FROM] = {"from", "DEVICE", "with --to, in place of --upgrade: the device that is there, of the table of --devices"},
    [FLAG_TO] = {"to", "DEVICE", "the device that would be bought"},
    [FLAG_MARGIN] = {"margin", "SHARE", "the gain from which it pays: 0.1 or 10% (default: 10%); of precision: what may be lost, as 1%"},
    [FLAG_PRICE_RATIO] = {"price-ratio", "NUMBER", "in place of --margin: its price per hour, divided by today's"},
    [FLAG_DEVICES] = {"devices", NULL, "the table of devices, with the source of each row"},
    [FLAG_RATE] = {"rate", "NUMBER", "of fleet: requests each second, at the peak"},
    [FLAG_WITHIN] = {"within", "DURATION", "of fleet: how soon the whole answer must be there (default: the contract's objective for it)"},
    [FLAG_PERCENTILE] = {"percentile", "NUMBER", "of fleet: of how many requests in 100 (default: 99, or the objective's own)"},
    [FLAG_SPARE] = {"spare", "N", "of fleet: how many executors may be lost (default: 0)"},
    [FLAG_ROUTE] = {"route", "NAME", "of fleet: random, in-turn, two-choices or least (busy) (default: least)"},
    [FLAG_BURSTINESS] = {"burstiness", "NUMBER", "of fleet: coefficient of variation of the times between requests (default: 1, Poisson)"},
    [FLAG_METRIC] = {"metric", "NAME", "of precision: of those that the files hold (default: the first that they name)"},
    [FLAG_JSON] = {"json", NULL, "JSON"}};

static int wrong(const char *option, const char *found, const char *accepted) {
  complain("lynxbench decide: --%s: found '%s'; accepted: %s\n", option, found, accepted);
  return EXIT_WRONG_INPUT;
}

static int show_devices(bool json) {
  struct buffer out;
  buffer_init(&out, PAGE_MAX);
  out.shown = true;
  bool good;
  if (json) {
    struct json_writer writer;
    json_begin(&writer, &out);
    json_open_object(&writer);
    device_table_json(&writer);
    json_close(&writer);
    good = buffer_text(&out, "\n");
  } else good = device_table_text(&out);
  good = write_buffer(NULL, &out) && good;
  buffer_release(&out);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

/* "10%" or "0.1" */
static bool read_share(const char *text, double *ret) {
  size_t length = strlen(text);
  bool percent = length > 0 && text[length - 1] == '%';
  if (!number_double(text, length - percent, ret)) return false;
  if (percent) *ret /= 100;
  return *ret > 0 && *ret < WANTED_MOST;
}

static int read_wanted(const struct arguments *a, double *ret) {
  const char *margin = a->option[FLAG_MARGIN], *ratio = a->option[FLAG_PRICE_RATIO];
  double share = MARGIN_USUAL;
  if (margin != NULL && ratio != NULL) return wrong("margin", "--price-ratio beside it", "one of them");
  if (ratio != NULL && !(number_double(ratio, strlen(ratio), ret) && *ret > 1 && *ret < WANTED_MOST))
    return wrong("price-ratio", ratio, "a number above 1, as 1.28; what costs no more pays from any gain: --margin says which is worth it");
  if (margin != NULL && !(read_share(margin, &share) && (share < 1 || strchr(margin, '%') != NULL)))
    return wrong("margin", margin, "a share above 0, as 0.1 or 10%");
  if (ratio == NULL) *ret = 1 + share;
  return EXIT_HOLDS;
}

static int read_device(const struct arguments *a, int flag, const struct device **ret) {
  const char *name = a->option[flag];
  *ret = name != NULL ? device_find(name) : NULL;
  if (*ret != NULL) return EXIT_HOLDS;
  complain("lynxbench decide: --%s: found %s%s%s; accepted: a device of the table\nnext: lynxbench decide --devices\n", options[flag].name,
           name != NULL ? "'" : "", name != NULL ? name : "nothing", name != NULL ? "'" : "");
  return EXIT_WRONG_INPUT;
}

static int read_upgrade(const struct arguments *a, struct upgrade *ret, struct upgrade_question *q) {
  char why[800];
  const char *list = a->option[FLAG_UPGRADE];
  bool devices_named = a->option[FLAG_FROM] != NULL || a->option[FLAG_TO] != NULL;
  if (list != NULL && devices_named) return wrong("upgrade", "--from or --to beside it", "a list, or two devices");
  if (list == NULL && !devices_named) return wrong("upgrade", "nothing", "a list, as 'memory.bandwidth x1.43', or --from and --to");
  if (list != NULL && !upgrade_parse(list, ret, why, sizeof why)) {
    complain("lynxbench decide: --upgrade: %s\n", why);
    return EXIT_WRONG_INPUT;
  }
  if (list != NULL) return EXIT_HOLDS;
  int code = read_device(a, FLAG_FROM, &q->from);
  if (code == EXIT_HOLDS) code = read_device(a, FLAG_TO, &q->to);
  if (code != EXIT_HOLDS) return code;
  if (q->from == q->to) return wrong("to", a->option[FLAG_TO], "another device than --from");
  device_upgrade(q->from, q->to, ret);
  return EXIT_HOLDS;
}

static bool put_page(const struct upgrade_report *report, bool json, struct buffer *out) {
  struct json_writer writer;
  if (!json) return upgrade_report_text(report, color_wanted(stdout), out);
  json_begin(&writer, out);
  json_open_object(&writer);
  upgrade_report_json(report, &writer);
  json_close(&writer);
  return buffer_text(out, "\n");
}

/* asked: the question, the run and how it was asked; what is found is added to a copy. */
static int show_judgement(const struct upgrade_report *asked, struct bundle_file *file, bool json) {
  struct lynx_error error = {0};
  struct buffer out;
  struct sensitivities *measured = xalloc(1, sizeof *measured);
  const struct contract *contract = &file->result.contract;
  int code = EXIT_HOLDS;
  buffer_init(&out, PAGE_MAX);
  if (sensitivities_read(file->bundle, contract, contract->method.confidence, measured, &error) != LYNX_OK) code = report_error(&error);
  else {
    struct upgrade_judgement judgement;
    struct upgrade_report report = *asked;
    upgrade_judge(report.question, measured, &judgement);
    report.judgement = &judgement;
    report.measured = measured;
    bool good = put_page(&report, json, &out) && write_buffer(NULL, &out);
    code = !good ? EXIT_CONDITIONS : judgement.decision == DECISION_DOES_NOT_HELP ? EXIT_DOES_NOT_HOLD : EXIT_INCONCLUSIVE;
  }
  buffer_release(&out);
  free(measured);
  return code;
}

/* The one type that the run executed; "": none that was stated, or several. */
static const char *executed_type(const struct result *result, char *text, size_t size) {
  const char *type = result->n_precisions == 1 ? result->precisions[0].executed : NULL;
  return upgrade_type(type != NULL ? type : "", text, size);
}

/* What each of the questions takes; what is not of it is refused, as it would change nothing. */
enum question { OF_UPGRADE = 1, OF_FLEET = 2, OF_PRECISION = 4, OF_DEVICES = 8 };

static bool options_fit(const struct arguments *a, int question) {
  static const int of[] = {[FLAG_UPGRADE] = OF_UPGRADE,     [FLAG_FROM] = OF_UPGRADE,
                           [FLAG_TO] = OF_UPGRADE,          [FLAG_MARGIN] = OF_UPGRADE | OF_PRECISION,
                           [FLAG_PRICE_RATIO] = OF_UPGRADE, [FLAG_DEVICES] = OF_DEVICES,
                           [FLAG_RATE] = OF_FLEET,          [FLAG_WITHIN] = OF_FLEET,
                           [FLAG_PERCENTILE] = OF_FLEET,    [FLAG_SPARE] = OF_FLEET,
                           [FLAG_ROUTE] = OF_FLEET,         [FLAG_BURSTINESS] = OF_FLEET,
                           [FLAG_METRIC] = OF_PRECISION,    [FLAG_JSON] = OF_UPGRADE | OF_FLEET | OF_PRECISION | OF_DEVICES};
  const int words = question == OF_DEVICES ? 0 : question == OF_UPGRADE ? 1 : question == OF_FLEET ? 2 : 3;
  for (size_t i = 0; i < LYNX_COUNT(of); i++)
    if (a->option[i] != NULL && (of[i] & question) == 0) {
      complain("lynxbench decide: --%s: it is of another question; accepted: those that `lynxbench decide --help` names for this one\n",
               options[i].name);
      return false;
    }
  if (a->n_positional <= words) return true;
  complain("lynxbench decide: found '%s', which is one word too many\nnext: lynxbench decide --help\n", a->positional[words]);
  return false;
}

static bool is_asked(const struct arguments *a, const char *word) {
  return a->n_positional > 0 && strcmp(a->positional[0], word) == 0;
}

static int run_fleet(const struct arguments *a) {
  const struct decide_fleet asked = {.path = a->n_positional > 1 ? a->positional[1] : NULL,
                                     .rate = a->option[FLAG_RATE],
                                     .within = a->option[FLAG_WITHIN],
                                     .percentile = a->option[FLAG_PERCENTILE],
                                     .spare = a->option[FLAG_SPARE],
                                     .route = a->option[FLAG_ROUTE],
                                     .burstiness = a->option[FLAG_BURSTINESS],
                                     .json = a->option[FLAG_JSON] != NULL};
  if (asked.path != NULL) return decide_fleet(&asked);
  complain("lynxbench decide fleet: found no run; accepted: the bundle of a run that climbed, as `diagnose` makes one\n");
  return EXIT_WRONG_INPUT;
}

static int run_precision(const struct arguments *a) {
  struct decide_precision asked = {.metric = a->option[FLAG_METRIC], .json = a->option[FLAG_JSON] != NULL};
  if (a->n_positional != 3) {
    complain("lynxbench decide precision: found %d files; accepted: two, before and after: samples_*.jsonl of lm-evaluation-harness, or "
             "their folders\n",
             a->n_positional - 1);
    return EXIT_WRONG_INPUT;
  }
  if (a->option[FLAG_MARGIN] == NULL)
    return wrong("margin", "nothing", "how much may be lost, as 1% or 0.01: it is fixed before the answers are looked at");
  if (!read_share(a->option[FLAG_MARGIN], &asked.margin) || asked.margin >= 1)
    return wrong("margin", a->option[FLAG_MARGIN], "a share above 0 and below 1, as 1% or 0.01");
  asked.before = a->positional[1];
  asked.after = a->positional[2];
  return decide_precision(&asked);
}

static int run(const struct arguments *a) {
  struct bundle_file file;
  struct upgrade upgrade;
  struct upgrade_question question = {.upgrade = &upgrade};
  struct upgrade_report report = {.question = &question, .by_price = a->option[FLAG_PRICE_RATIO] != NULL};
  bool json = a->option[FLAG_JSON] != NULL;
  const int asked = a->option[FLAG_DEVICES] != NULL ? OF_DEVICES
                    : is_asked(a, "fleet")          ? OF_FLEET
                    : is_asked(a, "precision")      ? OF_PRECISION
                                                    : OF_UPGRADE;
  if (!options_fit(a, asked)) return EXIT_WRONG_INPUT;
  if (asked == OF_DEVICES) return show_devices(json);
  if (asked == OF_FLEET) return run_fleet(a);
  if (asked == OF_PRECISION) return run_precision(a);
  if (a->n_positional != 1) {
    complain(
        "lynxbench decide: found %d words; accepted: the bundle of a perturbed run, or fleet and the bundle of a climb, or precision and "
        "two files, or --devices\nnext: lynxbench perturb CONTRACT\n",
        a->n_positional);
    return EXIT_WRONG_INPUT;
  }
  int code = read_wanted(a, &question.wanted);
  if (code == EXIT_HOLDS) code = read_upgrade(a, &upgrade, &question);
  if (code != EXIT_HOLDS) return code;
  const char *path = a->positional[0];
  if (!bundle_file_open_possible(path, &file)) return EXIT_WRONG_INPUT;
  question.accelerator = file.result.accelerator != NULL ? file.result.accelerator : "";
  char type[UPGRADE_TEXT];
  question.on_processor = file.result.on_processor;
  question.executed = executed_type(&file.result, type, sizeof type);
  report.result = &file.result;
  if (file.result.perturbed) code = show_judgement(&report, &file, json);
  else {
    complain("lynxbench decide: %s: nothing was slowed in this run, so that it does not say what anything costs\n"
             "next: lynxbench perturb %s, then this command with the bundle that it writes\n",
             path, path);
    code = EXIT_WRONG_INPUT;
  }
  bundle_file_close(&file);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  (void)ret;
  return arguments->n_positional > 0;
}

const struct command command_decide = {
    .name = "decide",
    .summary = "would an upgrade help, how many executors, a lower precision?",
    .usage = "PERTURBED-RUN | fleet CLIMB | precision BEFORE AFTER | --devices",
    .least = 0,
    .most = 3,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "A data sheet says how much faster a part is; `perturb` measured how much the whole follows it. Together they bound what the\n"
        "upgrade can gain. Where even that bound does not pay, it does not help: exit code 1. An elasticity is measured by slowing, so\n"
        "that it refutes an upgrade and never promises one: else it cannot decide, and says because of what, and what to do next:\n"
        "exit code 3. More memory, another architecture and another precision are never bounded: only a trial shows.\n\n"
        "`decide fleet` takes a run that climbed, and says how many such executors answer --rate requests each second in time, with some\n"
        "to spare: by simulation from the measured curve. Exit code 0: a number; 1: alone on one, a request takes longer than the\n"
        "limit; 3: none of up to 1024 was shown to be enough.\n\n"
        "`decide precision` pairs the answers of lm-evaluation-harness (--log_samples) under two precisions: go (0) where no task loses "
        "the\n"
        "--margin, no-go (1) where one certainly does, else not decided (3) and how many more questions would do.",
    .example = "build/lynxbench decide --devices",
    .run = run,
    .confines = confines};
