#include "cli/decide_fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/bundle_file.h"
#include "cli/output.h"
#include "report/fleet_report.h"

enum { PAGE_MAX = 4 << 20, ARRIVALS = 50000, SPARE_MOST = 64 };
#define RATE_MOST 1e6
#define BURSTINESS_MOST 5 /* beyond, few bursts make all of the tail: 500,000 arrivals hold too few of them */
#define PERCENTILE_USUAL 0.99
#define SEED 1

static bool wrong(const char *option, const char *found, const char *accepted) {
  complain("lynxbench decide fleet: --%s: found %s%s%s; accepted: %s\n", option, found != NULL ? "'" : "",
           found != NULL ? found : "nothing", found != NULL ? "'" : "", accepted);
  return false;
}

/* NULL: it stays as it is. */
static bool read_number(const char *option, const char *text, double least, double most, const char *accepted, double *ret) {
  if (text == NULL) return true;
  return (number_double(text, strlen(text), ret) && *ret >= least && *ret <= most) || wrong(option, text, accepted);
}

static bool read_load(const struct decide_fleet *asked, struct fleet_load *ret, size_t *ret_spare) {
  double percentile = 100 * PERCENTILE_USUAL, spare = 0;
  *ret = (struct fleet_load){.burstiness = 1, .routing = FLEET_LEAST, .seed = SEED, .n_arrivals = ARRIVALS};
  if (asked->rate == NULL) return wrong("rate", NULL, "requests each second, at the peak, as 40");
  bool good = read_number("rate", asked->rate, 1e-6, RATE_MOST, "requests each second, above 0, as 40", &ret->rate_per_s) &&
              read_number("percentile", asked->percentile, 50, 99.9, "a number from 50 to 99.9, as 99 (no share, no p)", &percentile) &&
              read_number("spare", asked->spare, 0, SPARE_MOST, "how many may be lost, from 0 to 64", &spare) &&
              read_number("burstiness", asked->burstiness, 1, BURSTINESS_MOST,
                          "the coefficient of variation of the times between requests, from 1 (Poisson) to 5", &ret->burstiness);
  if (!good) return false;
  if (spare != floor(spare)) return wrong("spare", asked->spare, "a whole number");
  ret->percentile = percentile / 100;
  *ret_spare = (size_t)spare;
  if (asked->route == NULL) return true;
  int k = 0;
  while (k < FLEET_ROUTINGS && strcmp(fleet_routing_text((enum fleet_routing)k), asked->route) != 0) k++;
  if (k == FLEET_ROUTINGS) return wrong("route", asked->route, "random, in-turn, two-choices, least");
  ret->routing = (enum fleet_routing)k;
  return true;
}

/* Of --within, or of the contract's own objective for whole answers; that one names its percentile, too. */
static bool read_limit(const struct decide_fleet *asked, const struct contract *c, struct fleet_load *load, double *ret_s) {
  int64_t ns;
  if (asked->within != NULL) {
    bool good = number_duration(asked->within, strlen(asked->within), &ns) && ns > 0;
    *ret_s = good ? (double)ns / 1e9 : 0;
    return good || wrong("within", asked->within, "a duration, as 2s");
  }
  const struct contract_slo *objectives = c->slo.items;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    const struct contract_slo *slo = &objectives[i];
    if (slo->metric != METRIC_END_TO_END) continue;
    if (asked->percentile == NULL && slo->quantile >= 0.5 && slo->quantile <= 0.999) load->percentile = slo->quantile;
    *ret_s = (double)slo->at_most_ns / 1e9;
    return true;
  }
  return wrong("within", NULL, "how soon the whole answer must be there, as 2s: the contract states no objective for it");
}

static int answer(const struct decide_fleet *asked, struct bundle_file *file, struct fleet_load *load, double limit_s, size_t spare) {
  struct lynx_error error = {0};
  struct fleet_measured measured;
  struct fleet_answer found;
  struct buffer out;
  lynx_error_at(&error, asked->path, 0, NULL);
  if (fleet_read(file->bundle, &file->result, &measured, &error) != LYNX_OK) return report_error(&error);
  load->work = measured.work;
  load->n_work = measured.n_work;
  fleet_answer(&measured.curve, load, limit_s, &found);
  const struct fleet_report report = {
      .result = &file->result, .measured = &measured, .load = load, .answer = &found, .limit_s = limit_s, .spare = spare};
  buffer_init(&out, PAGE_MAX);
  bool good;
  if (asked->json) {
    struct json_writer writer;
    json_begin_object(&writer, &out);
    fleet_report_json(&report, &writer);
    good = json_end_line(&writer);
  } else good = fleet_report_text(&report, color_wanted(stdout), &out);
  good = good && write_buffer(NULL, &out);
  buffer_release(&out);
  free(measured.work);
  return !good ? EXIT_CONDITIONS : found.needed > 0 ? EXIT_HOLDS : found.alone > limit_s ? EXIT_DOES_NOT_HOLD : EXIT_INCONCLUSIVE;
}

int decide_fleet(const struct decide_fleet *asked) {
  struct fleet_load load;
  struct bundle_file file;
  double limit_s;
  size_t spare;
  if (!read_load(asked, &load, &spare)) return EXIT_WRONG_INPUT;
  if (!bundle_file_open_possible(asked->path, &file)) return EXIT_WRONG_INPUT;
  int code = read_limit(asked, &file.result.contract, &load, &limit_s) ? answer(asked, &file, &load, limit_s, spare) : EXIT_WRONG_INPUT;
  bundle_file_close(&file);
  return code;
}
