#include <math.h>
#include <string.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/decide_cost.h"
#include "cli/decide_fleet.h"
#include "cli/decide_precision.h"
#include "cli/decide_upgrade.h"
#include "cli/option_value.h"
#include "cli/output.h"
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
  FLAG_PRICE,
  FLAG_OTHER_PRICE,
  FLAG_PRICE_ERROR,
  FLAG_SOLD,
  FLAG_OTHER_SOLD,
  FLAG_METRIC,
  FLAG_JSON
};
enum { PAGE_MAX = 4 << 20 };

static const struct option_spec options[] = {
    [FLAG_UPGRADE] = OPTION("upgrade", "LIST",
                            "what gets faster, as 'memory.bandwidth x1.43, memory.capacity 141GB': of memory.bandwidth, memory.capacity, "
                            "arithmetic.TYPE, gpu, host.clock, host.cores, link.host, link.peer, wire, disk, power.cap"),
    [FLAG_FROM] = OPTION("from", "DEVICE", "with --to, in place of --upgrade: the device that is there, of the table of --devices"),
    [FLAG_TO] = OPTION("to", "DEVICE", "the device that would be bought"),
    [FLAG_MARGIN] = OPTION("margin", "SHARE",
                           "the gain from which it pays: 0.1 or 10% (default: 10%); of precision: what may be lost, as 1%"),
    [FLAG_PRICE_RATIO] = OPTION("price-ratio", "NUMBER", "in place of --margin: its price per hour, divided by today's"),
    [FLAG_DEVICES] = SWITCH("devices", "the table of devices, with the source of each row"),
    [FLAG_RATE] = OPTION_WITH("rate", "NUMBER", "of fleet: requests each second, at the peak", VALUE_NUMBER, 1e-6, 1e6,
                              "requests each second, above 0, as 40"),
    [FLAG_WITHIN] = OPTION_WITH("within", "DURATION",
                                "of fleet: how soon the whole answer must be there (default: the contract's objective for it)",
                                VALUE_DURATION, 1e-9, 1e9, "a duration, as 2s"),
    [FLAG_PERCENTILE] = OPTION_WITH("percentile", "NUMBER", "of fleet: of how many requests in 100 (default: 99, or the objective's own)",
                                    VALUE_NUMBER, 50, 99.9, "a number from 50 to 99.9, as 99 (no share, no p)"),
    [FLAG_SPARE] = OPTION_WITH("spare", "N", "of fleet: how many executors may be lost (default: 0)", VALUE_COUNT, 0, 64,
                               "how many may be lost, from 0 to 64"),
    [FLAG_ROUTE] = OPTION_WITH("route", "NAME", "of fleet: random, in-turn, two-choices or least (busy) (default: least)", VALUE_CHOICE, 0,
                               0, "random, in-turn, two-choices, least"),
    [FLAG_BURSTINESS] = OPTION_WITH("burstiness", "NUMBER",
                                    "of fleet: coefficient of variation of the times between requests (default: 1, Poisson)", VALUE_NUMBER,
                                    1, 5, "the coefficient of variation of the times between requests, from 1 (Poisson) to 5"),
    [FLAG_PRICE] = OPTION_WITH("price", "NUMBER",
                               "of cost: what an hour of the executor costs (default: the contract's cost.price_per_hour)", VALUE_NUMBER,
                               1e-6, 1e9, "what an hour costs, as 3.5: a millionth at least"),
    [FLAG_OTHER_PRICE] = OPTION_WITH("other-price", "NUMBER",
                                     "of cost: an hour of the second one (default: its contract's; else that of the first)", VALUE_NUMBER,
                                     1e-6, 1e9, "what an hour costs, as 3.5: a millionth at least"),
    [FLAG_PRICE_ERROR] = OPTION_WITH("price-error", "SHARE", "of cost: by how much the prices may be wrong, as 5% (default: 0)",
                                     VALUE_SHARE, 0, 1, "a share from 0 to 1, as 5%"),
    [FLAG_SOLD] = OPTION_WITH("sold", "SHARE", "of cost: the share of its hours that is used at this load, as 60% (default: all)",
                              VALUE_SHARE, 0.001, 1, "a share above 0, at most 1, as 60%"),
    [FLAG_OTHER_SOLD] = OPTION_WITH("other-sold", "SHARE", "of cost: that of the second one (default: as the first)", VALUE_SHARE, 0.001, 1,
                                    "a share above 0, at most 1, as 60%"),
    [FLAG_METRIC] = OPTION("metric", "NAME", "of precision: of those that the files hold (default: the first that they name)"),
    [FLAG_JSON] = SWITCH_JSON};

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
    json_begin_object(&writer, &out);
    device_table_json(&writer);
    good = json_end_line(&writer);
  } else good = device_table_text(&out);
  good = write_buffer(NULL, &out) && good;
  buffer_release(&out);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

/* What each of the questions takes; what is not of it is refused, as it would change nothing. */
enum question { OF_UPGRADE = 1, OF_FLEET = 2, OF_PRECISION = 4, OF_DEVICES = 8, OF_COST = 16, OF_ALL = 31 };

static bool options_fit(const struct arguments *a, int question, int words) {
  static const int of[] = {[FLAG_UPGRADE] = OF_UPGRADE,
                           [FLAG_FROM] = OF_UPGRADE,
                           [FLAG_TO] = OF_UPGRADE,
                           [FLAG_MARGIN] = OF_UPGRADE | OF_PRECISION,
                           [FLAG_PRICE_RATIO] = OF_UPGRADE,
                           [FLAG_DEVICES] = OF_DEVICES,
                           [FLAG_RATE] = OF_FLEET,
                           [FLAG_WITHIN] = OF_FLEET,
                           [FLAG_PERCENTILE] = OF_FLEET,
                           [FLAG_SPARE] = OF_FLEET,
                           [FLAG_ROUTE] = OF_FLEET,
                           [FLAG_BURSTINESS] = OF_FLEET,
                           [FLAG_PRICE] = OF_COST,
                           [FLAG_OTHER_PRICE] = OF_COST,
                           [FLAG_PRICE_ERROR] = OF_COST,
                           [FLAG_SOLD] = OF_COST,
                           [FLAG_OTHER_SOLD] = OF_COST,
                           [FLAG_METRIC] = OF_PRECISION,
                           [FLAG_JSON] = OF_ALL};
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

static int run_fleet(const struct arguments *a) {
  const struct decide_fleet asked = {.path = a->n_positional > 1 ? a->positional[1] : NULL,
                                     .rate = option_number(a, FLAG_RATE, NAN),
                                     .within_ns = option_duration_ns(a, FLAG_WITHIN, 0),
                                     .percentile = option_number(a, FLAG_PERCENTILE, NAN),
                                     .spare = (size_t)option_count(a, FLAG_SPARE, 0),
                                     .routing = (enum fleet_routing)option_choice(a, options, FLAG_ROUTE, FLEET_LEAST),
                                     .burstiness = option_number(a, FLAG_BURSTINESS, 1),
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
  const char *margin = a->option[FLAG_MARGIN];
  if (!(number_share(margin, strlen(margin), &asked.margin) && asked.margin > 0 && asked.margin < 1))
    return wrong("margin", margin, "a share above 0 and below 1, as 1% or 0.01");
  asked.before = a->positional[1];
  asked.after = a->positional[2];
  return decide_precision(&asked);
}

static int run_cost(const struct arguments *a) {
  const struct decide_cost asked = {.paths = {a->n_positional > 1 ? a->positional[1] : NULL, a->n_positional > 2 ? a->positional[2] : NULL},
                                    .prices = {option_number(a, FLAG_PRICE, NAN), option_number(a, FLAG_OTHER_PRICE, NAN)},
                                    .error = option_number(a, FLAG_PRICE_ERROR, 0),
                                    .sold = {option_number(a, FLAG_SOLD, NAN), option_number(a, FLAG_OTHER_SOLD, NAN)},
                                    .json = a->option[FLAG_JSON] != NULL};
  if (asked.paths[0] != NULL) return decide_cost(&asked);
  complain("lynxbench decide cost: found no run; accepted: the bundle of a run, and perhaps that of another to compare it with\n");
  return EXIT_WRONG_INPUT;
}

static int run_upgrade(const struct arguments *a) {
  const struct decide_upgrade asked = {.path = a->n_positional > 0 ? a->positional[0] : NULL,
                                       .list = a->option[FLAG_UPGRADE],
                                       .from = a->option[FLAG_FROM],
                                       .to = a->option[FLAG_TO],
                                       .margin = a->option[FLAG_MARGIN],
                                       .price_ratio = a->option[FLAG_PRICE_RATIO],
                                       .json = a->option[FLAG_JSON] != NULL};
  if (asked.path != NULL) return decide_upgrade(&asked);
  complain("lynxbench decide: found no words; accepted: the bundle of a perturbed run; fleet and the bundle of a climb; cost and one run "
           "or two; precision and two files; or --devices\nnext: lynxbench perturb CONTRACT\n");
  return EXIT_WRONG_INPUT;
}

/* By their first word; without one of these it is `run_upgrade`. */
static const struct {
  const char *word;
  int question, words; /* words: at most */
  int (*run)(const struct arguments *a);
} questions[] = {{"fleet", OF_FLEET, 2, run_fleet}, {"cost", OF_COST, 3, run_cost}, {"precision", OF_PRECISION, 3, run_precision}};

static int run(const struct arguments *a) {
  if (a->option[FLAG_DEVICES] != NULL) return options_fit(a, OF_DEVICES, 0) ? show_devices(a->option[FLAG_JSON] != NULL) : EXIT_WRONG_INPUT;
  for (size_t i = 0; i < LYNX_COUNT(questions); i++)
    if (a->n_positional > 0 && strcmp(a->positional[0], questions[i].word) == 0)
      return options_fit(a, questions[i].question, questions[i].words) ? questions[i].run(a) : EXIT_WRONG_INPUT;
  return options_fit(a, OF_UPGRADE, 1) ? run_upgrade(a) : EXIT_WRONG_INPUT;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  (void)ret;
  return arguments->n_positional > 0;
}

const struct command command_decide = {
    .name = "decide",
    .summary = "would an upgrade help, how many, at what cost, a lower precision?",
    .usage = "PERTURBED-RUN | fleet CLIMB | cost RUN [OTHER] | precision BEFORE AFTER | --devices",
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
        "`decide cost` says what a million output tokens cost, of answers within the objectives; and of two runs which costs less for\n"
        "the same work, and up to which price. Exit code 0: the second costs less (or there is one run); 1: it costs more; 3: not\n"
        "decided, or what is bought is not alike.\n\n"
        "`decide precision` pairs the answers of lm-evaluation-harness (--log_samples) under two precisions: go (0) where no task loses "
        "the\n"
        "--margin, no-go (1) where one certainly does, else not decided (3) and how many more questions would do.",
    .example = "build/lynxbench decide --devices",
    .run = run,
    .confines = confines};
