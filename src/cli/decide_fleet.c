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

static bool wrong(const char *option, const char *accepted) {
  complain("lynxbench decide fleet: --%s: found nothing; accepted: %s\n", option, accepted);
  return false;
}

static bool read_load(const struct decide_fleet *asked, struct fleet_load *ret) {
  if (isnan(asked->rate)) return wrong("rate", "requests each second, at the peak, as 40");
  *ret = (struct fleet_load){.rate_per_s = asked->rate,
                             .burstiness = asked->burstiness,
                             .percentile = isnan(asked->percentile) ? PERCENTILE_USUAL : asked->percentile / 100,
                             .routing = asked->routing,
                             .seed = SEED,
                             .n_arrivals = ARRIVALS};
  return true;
}

/* Of --within, or of the contract's own objective for whole answers; that one names its percentile, too. */
static bool read_limit(const struct decide_fleet *asked, const struct contract *c, struct fleet_load *load, double *ret_s) {
  if (asked->within_ns > 0) return *ret_s = (double)asked->within_ns / 1e9, true;
  const struct contract_slo *objectives = c->slo.items;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    const struct contract_slo *slo = &objectives[i];
    if (slo->metric != METRIC_END_TO_END) continue;
    if (isnan(asked->percentile) && slo->quantile >= 0.5 && slo->quantile <= 0.999) load->percentile = slo->quantile;
    *ret_s = (double)slo->at_most_ns / 1e9;
    return true;
  }
  return wrong("within", "how soon the whole answer must be there, as 2s: the contract states no objective for it");
}

static int answer(const struct decide_fleet *asked, struct bundle_file *file, struct fleet_load *load, double limit_s) {
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
      .result = &file->result, .measured = &measured, .load = load, .answer = &found, .limit_s = limit_s, .spare = asked->spare};
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
  if (!read_load(asked, &load)) return EXIT_WRONG_INPUT;
  if (!bundle_file_open_possible(asked->path, &file)) return EXIT_WRONG_INPUT;
  int code = read_limit(asked, &file.result.contract, &load, &limit_s) ? answer(asked, &file, &load, limit_s) : EXIT_WRONG_INPUT;
  bundle_file_close(&file);
  return code;
}
