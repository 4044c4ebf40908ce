#include "cli/decide_upgrade.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/shell.h"
#include "cli/bundle_file.h"
#include "cli/output.h"
#include "report/upgrade_report.h"

enum { PAGE_MAX = 4 << 20 };
#define MARGIN_USUAL 0.1
#define WANTED_MOST 1000

static int wrong(const char *option, const char *found, const char *accepted) {
  complain("lynxbench decide: --%s: found '%s'; accepted: %s\n", option, found, accepted);
  return EXIT_WRONG_INPUT;
}

static int read_wanted(const struct decide_upgrade *asked, double *ret) {
  const char *margin = asked->margin, *ratio = asked->price_ratio;
  double share = MARGIN_USUAL;
  if (margin != NULL && ratio != NULL) return wrong("margin", "--price-ratio beside it", "one of them");
  if (ratio != NULL && !(number_double(ratio, strlen(ratio), ret) && *ret > 1 && *ret < WANTED_MOST))
    return wrong("price-ratio", ratio, "a number above 1, as 1.28; what costs no more pays from any gain: --margin says which is worth it");
  if (margin != NULL &&
      !(number_share(margin, strlen(margin), &share) && share > 0 && share < WANTED_MOST && (share < 1 || strchr(margin, '%') != NULL)))
    return wrong("margin", margin, "a share above 0, as 0.1 or 10%");
  if (ratio == NULL) *ret = 1 + share;
  return EXIT_HOLDS;
}

/* option: "from". */
static int read_device(const char *option, const char *name, const struct device **ret) {
  *ret = name != NULL ? device_find(name) : NULL;
  if (*ret != NULL) return EXIT_HOLDS;
  complain("lynxbench decide: --%s: found %s%s%s; accepted: a device of the table\nnext: lynxbench decide --devices\n", option,
           name != NULL ? "'" : "", name != NULL ? name : "nothing", name != NULL ? "'" : "");
  return EXIT_WRONG_INPUT;
}

static int read_upgrade(const struct decide_upgrade *asked, struct upgrade *ret, struct upgrade_question *q) {
  char why[800];
  const char *list = asked->list;
  bool devices_named = asked->from != NULL || asked->to != NULL;
  if (list != NULL && devices_named) return wrong("upgrade", "--from or --to beside it", "a list, or two devices");
  if (list == NULL && !devices_named) return wrong("upgrade", "nothing", "a list, as 'memory.bandwidth x1.43', or --from and --to");
  if (list != NULL && !upgrade_parse(list, ret, why, sizeof why)) {
    complain("lynxbench decide: --upgrade: %s\n", why);
    return EXIT_WRONG_INPUT;
  }
  if (list != NULL) return EXIT_HOLDS;
  int code = read_device("from", asked->from, &q->from);
  if (code == EXIT_HOLDS) code = read_device("to", asked->to, &q->to);
  if (code != EXIT_HOLDS) return code;
  if (q->from == q->to) return wrong("to", asked->to, "another device than --from");
  device_upgrade(q->from, q->to, ret);
  return EXIT_HOLDS;
}

static bool put_page(const struct upgrade_report *report, bool json, struct buffer *out) {
  struct json_writer writer;
  if (!json) return upgrade_report_text(report, color_wanted(stdout), out);
  json_begin_object(&writer, out);
  upgrade_report_json(report, &writer);
  return json_end_line(&writer);
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

int decide_upgrade(const struct decide_upgrade *asked) {
  struct bundle_file file;
  struct upgrade upgrade;
  struct upgrade_question question = {.upgrade = &upgrade};
  struct upgrade_report report = {.question = &question, .by_price = asked->price_ratio != NULL};
  int code = read_wanted(asked, &question.wanted);
  if (code == EXIT_HOLDS) code = read_upgrade(asked, &upgrade, &question);
  if (code != EXIT_HOLDS) return code;
  if (!bundle_file_open_possible(asked->path, &file)) return EXIT_WRONG_INPUT;
  question.accelerator = file.result.accelerator != NULL ? file.result.accelerator : "";
  char type[UPGRADE_TEXT];
  question.on_processor = file.result.on_processor;
  question.executed = executed_type(&file.result, type, sizeof type);
  report.result = &file.result;
  if (file.result.perturbed) code = show_judgement(&report, &file, asked->json);
  else {
    complain("lynxbench decide: %s: nothing was slowed in this run, so that it does not say what anything costs\n"
             "next: lynxbench perturb %s, then this command with the bundle that it writes\n",
             asked->path, shell_word(asked->path));
    code = EXIT_WRONG_INPUT;
  }
  bundle_file_close(&file);
  return code;
}
