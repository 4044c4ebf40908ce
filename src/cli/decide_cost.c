#include "cli/decide_cost.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "cli/bundle_file.h"
#include "cli/output.h"
#include "report/cost_report.h"

enum { PAGE_MAX = 4 << 20 };
#define PRICE_LEAST 1e-6

static bool wrong(const char *option, const char *found, const char *accepted) {
  complain("lynxbench decide cost: --%s: found %s%s%s; accepted: %s\n", option, found != NULL ? "'" : "", found != NULL ? found : "nothing",
           found != NULL ? "'" : "", accepted);
  return false;
}

/* Of the option, of the contract, or of the first one (NULL: this is it). */
static bool read_price(const struct decide_cost *asked, int side, const struct contract_cost *stated, const struct cost_price *first,
                       struct cost_price *ret) {
  static const char *const of_price[] = {"price", "other-price"};
  *ret = (struct cost_price){.sold = first != NULL ? first->sold : 1,
                             .currency = stated->currency != NULL ? stated->currency
                                         : first != NULL          ? first->currency
                                                                  : "",
                             .source = ""};
  if (!isnan(asked->prices[side])) ret->per_hour = asked->prices[side];
  else if (stated->currency != NULL && !(stated->price_per_hour >= PRICE_LEAST)) {
    char found[32];
    return wrong(of_price[side], number_text(found, sizeof found, stated->price_per_hour),
                 "a millionth at least: its contract states that");
  } else if (stated->price_per_hour > 0) {
    ret->per_hour = stated->price_per_hour;
    if (stated->source != NULL) ret->source = stated->source;
  } else if (first != NULL) {
    *ret = *first;
    ret->of_other = true;
  } else return wrong("price", NULL, "what an hour of the executor costs, as 3.5: its contract states none (cost.price_per_hour)");
  ret->error = asked->error;
  if (!isnan(asked->sold[side])) ret->sold = asked->sold[side];
  return true;
}

static bool put_page(const struct cost_report *report, bool json, struct buffer *out) {
  struct json_writer writer;
  if (!json) return cost_report_text(report, color_wanted(stdout), out);
  json_begin_object(&writer, out);
  cost_report_json(report, &writer);
  return json_end_line(&writer);
}

static int code_of(const struct cost_report *r) {
  if (r->doubt.why != NULL) return EXIT_INCONCLUSIVE;
  if (r->n == 1 || r->comparison->decision == COST_B_LESS) return EXIT_HOLDS;
  return r->comparison->decision == COST_B_MORE ? EXIT_DOES_NOT_HOLD : EXIT_INCONCLUSIVE;
}

static int show(struct bundle_file *files, int n, const struct cost_price *prices, const struct decide_cost *asked) {
  struct arena arena = {0};
  struct buffer out;
  struct cost_side sides[2];
  struct cost_comparison comparison;
  struct cost_report report = {.n = n, .names = {asked->paths[0], asked->paths[1]}};
  for (int i = 0; i < n; i++) {
    const struct cost_doubt doubt = cost_of_run(&files[i].result, &prices[i], &arena, &sides[i]);
    report.results[i] = &files[i].result;
    report.sides[i] = &sides[i];
    if (doubt.why == NULL || report.doubt.why != NULL) continue;
    report.doubt = doubt;
    if (n > 1) report.doubt.why = arena_printf(&arena, "%s: %s", i == 0 ? "A" : "B", doubt.why);
  }
  if (n == 2 && report.doubt.why == NULL) {
    report.doubt = cost_compare(&files[0].result, &files[1].result, &sides[0], &sides[1], &arena, &comparison);
    report.comparison = &comparison;
  }
  buffer_init(&out, PAGE_MAX);
  bool good = put_page(&report, asked->json, &out) && write_buffer(NULL, &out);
  int code = good ? code_of(&report) : EXIT_CONDITIONS;
  buffer_release(&out);
  arena_release(&arena);
  return code;
}

int decide_cost(const struct decide_cost *asked) {
  struct bundle_file files[2];
  struct cost_price prices[2];
  int n = asked->paths[1] != NULL ? 2 : 1, n_open = 0, code = EXIT_WRONG_INPUT;
  if (n == 1 && (!isnan(asked->prices[1]) || !isnan(asked->sold[1]))) {
    bool of_price = !isnan(asked->prices[1]);
    char found[32];
    (void)wrong(of_price ? "other-price" : "other-sold", number_text(found, sizeof found, of_price ? asked->prices[1] : asked->sold[1]),
                "it beside a second run only");
    return code;
  }
  while (n_open < n && bundle_file_open_possible(asked->paths[n_open], &files[n_open])) n_open++;
  bool good = n_open == n && read_price(asked, 0, &files[0].result.contract.cost, NULL, &prices[0]) &&
              (n == 1 || read_price(asked, 1, &files[1].result.contract.cost, &prices[0], &prices[1]));
  if (good) code = show(files, n, prices, asked);
  while (n_open > 0) bundle_file_close(&files[--n_open]);
  return code;
}
