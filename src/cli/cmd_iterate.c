#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/board_file.h"
#include "base/shell.h"
#include "cli/bundle_entry.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/hook.h"
#include "cli/improvement_entry.h"
#include "cli/work_text.h"
#include "page/work_page.h"
#include "report/text.h"

enum {
  FLAG_TITLE,
  FLAG_LAYER,
  FLAG_TEXT,
  FLAG_CHANGE,
  FLAG_COMMIT,
  FLAG_TICKET,
  FLAG_FINDING,
  FLAG_HOOK,
  FLAG_OWNER,
  FLAG_CONTRACT,
  FLAG_ALL,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_JSON
};

static const struct option_spec options[] = {
    [FLAG_TITLE] = OPTION("title", "TEXT", "open: what is wrong, in one line"),
    [FLAG_LAYER] = OPTION(
        "layer", "LAYER",
        "open: whose layer it concerns, its owner is named by the contract; hand-on: to which; list: of that layer alone"),
    [FLAG_TEXT] = OPTION("text", "TEXT", "open: the evidence; dispute, hand-on: why; done: a note"),
    [FLAG_CHANGE] = OPTION("change", "TEXT", "start, done, measure: what is changed (default: what was said when it was started)"),
    [FLAG_COMMIT] = OPTION("commit", "REF", "start, done: the commit that makes the change"),
    [FLAG_TICKET] = OPTION("ticket", "REF", "start, done: where it is discussed"),
    [FLAG_FINDING] = OPTION("finding", "ENTRY", "measure: the finding that the change answers, by its entry's number or digest"),
    [FLAG_HOOK] = OPTION("hook", "URL|PROGRAM", "tell somebody: the signed entry is sent there, or is a program's input, as JSON"),
    [FLAG_OWNER] = OPTION("owner", "TEAM", "list: of that owner alone"),
    [FLAG_CONTRACT] = OPTION("contract", "NAME|DIGEST", "list: of that contract alone"),
    [FLAG_ALL] = SWITCH("all", "list: closed ones too"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "the ledger (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key (default: LYNXBENCH_KEY)"),
    [FLAG_JSON] = SWITCH("json", "list, measure: JSON")};

static int tell_hook(const struct arguments *arguments, const struct pen *pen, uint64_t index) {
  const char *hook = arguments->option[FLAG_HOOK];
  return hook == NULL || hook_tell("iterate", hook, &pen->file, index) ? EXIT_HOLDS : EXIT_EXECUTOR;
}

static bool needs(const char *action, const char *flag, const char *text, const char *accepted) {
  if (text != NULL && text[strspn(text, " \t\r\n")] != 0) return true;
  complain("lynxbench iterate %s: --%s: found nothing, accepted: %s\n", action, flag, accepted);
  return false;
}

/* --- list --- */

static void put_wanted(const struct board *board, const struct work_list *list, const struct work_filter *filter, struct buffer *out) {
  struct json_writer json;
  struct table table;
  work_table_begin(&table);
  for (size_t i = 0; i < list->n_items; i++)
    if (work_is_wanted(filter, &list->items[i])) work_table_add(&table, board, &list->items[i]);
  json_begin(&json, out);
  table_to_json(&table, &json);
  (void)buffer_text(out, "\n");
  table_release(&table);
}

static int list(const struct arguments *arguments) {
  const struct work_filter filter = {.owner = arguments->option[FLAG_OWNER],
                                     .layer = arguments->option[FLAG_LAYER],
                                     .contract = arguments->option[FLAG_CONTRACT],
                                     .closed = arguments->option[FLAG_ALL] != NULL};
  const char *address = ledger_file_address(arguments->option[FLAG_LEDGER]);
  struct ledger_file file;
  struct board board = {.address = ""};
  struct buffer out;
  int code = EXIT_WRONG_INPUT;
  enum layer layer;
  if (filter.layer != NULL && !layer_read("iterate list", filter.layer, &layer)) return EXIT_WRONG_INPUT;
  if (address == NULL) {
    complain("lynxbench iterate list: findings are entries: --ledger LEDGER, or LYNXBENCH_LEDGER, is needed\n");
    return EXIT_WRONG_INPUT;
  }
  if (!ledger_file_open(address, LEDGER_READS, &file)) return ledger_file_code(&file);
  if (board_file_read(&file, &board)) {
    struct work_list work;
    work_list_make(&board, NULL, &work);
    buffer_init(&out, 64 << 20);
    if (arguments->option[FLAG_JSON] != NULL) put_wanted(&board, &work, &filter, &out);
    else work_text(&board, &work, &filter, &out);
    code = write_buffer(NULL, &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
    buffer_release(&out);
    work_list_release(&work);
  }
  board_release(&board);
  ledger_file_close(&file);
  return code;
}

/* --- open --- */

static int open_finding(const struct arguments *arguments, struct pen *pen) {
  const char *path = arguments->positional[1], *title = arguments->option[FLAG_TITLE], *text = arguments->option[FLAG_TEXT];
  struct bundle_file bundle;
  enum layer layer;
  uint64_t index;
  if (!needs("open", "title", title, "what is wrong, in one line")) return EXIT_WRONG_INPUT;
  if (!layer_read("iterate open", arguments->option[FLAG_LAYER], &layer)) return EXIT_WRONG_INPUT;
  if (!bundle_file_open_possible(path, &bundle)) return EXIT_WRONG_INPUT;
  const char *layer_name = layer_text(layer), *owner = contract_owner(&bundle.result.contract, layer);
  const struct stated_finding stated = {
      .title = title, .rung = "stated", .evidence = text, .layers = &layer_name, .owners = &owner, .n_layers = 1};
  int code = EXIT_WRONG_INPUT;
  if (finding_add(pen, path, &bundle.result, &stated, &index)) {
    say("%s: finding %" PRIu64 ", for %s (%s)\nnext: lynxbench iterate start %" PRIu64 " --change '...' --ledger %s\n", pen->file.address,
        index, owner, layer_name, index, shell_word(pen->file.address));
    code = tell_hook(arguments, pen, index);
  }
  bundle_file_close(&bundle);
  return code;
}

/* --- a finding, as the ledger has it now --- */

struct view {
  struct finding_entry finding;
  struct board board;
  struct work_list list;
  const struct work_item *item;
};

/* False: reported. view_close in every case after it is true. */
static bool view_open(const struct pen *pen, const char *text, struct view *ret) {
  struct ledger_file file = pen->file; /* read, not closed */
  *ret = (struct view){.item = NULL};
  if (!finding_read(&file, text, &ret->finding)) return false;
  if (board_file_read(&file, &ret->board)) {
    work_list_make(&ret->board, NULL, &ret->list);
    ret->item = work_list_find(&ret->list, &ret->board, ret->finding.entry.leaf);
    if (ret->item != NULL) return true;
    complain("lynxbench: %s: finding %" PRIu64 " is of a run that the ledger does not have\n", file.address, ret->finding.index);
  }
  work_list_release(&ret->list);
  board_release(&ret->board);
  finding_release(&ret->finding);
  return false;
}

static void view_close(struct view *view) {
  work_list_release(&view->list);
  board_release(&view->board);
  finding_release(&view->finding);
}

/* After something was added. */
static void print_state(const struct pen *pen, uint64_t index, struct view *view) {
  struct view now;
  struct arena arena = {0};
  const char *text, *command;
  char number[32];
  (void)snprintf(number, sizeof number, "%" PRIu64, view->finding.index);
  if (!view_open(pen, number, &now)) return;
  const struct work_item *item = now.item;
  say("%s: entry %" PRIu64 ": finding %" PRIu64 " is %s%s%s\n", pen->file.address, index, view->finding.index, work_state_text(item->state),
      item->why[0] != 0 ? ": " : "", item->why);
  if (work_next(&now.board, item, &arena, &text, &command)) say("next: %s\n", command);
  arena_release(&arena);
  view_close(&now);
}

/* --change, or what was said last; NULL: neither, which was reported. */
static const char *change_words(const struct arguments *arguments, const struct work_item *item) {
  const char *given = arguments->option[FLAG_CHANGE];
  bool starts = strcmp(arguments->positional[0], "start") == 0;
  if (given == NULL && item != NULL && item->change != NULL && !starts) return item->change->words;
  return needs(arguments->positional[0], "change", given, "what is changed, in words") ? given : NULL;
}

/* --- start, done --- */

static int add_change(const struct arguments *arguments, struct pen *pen, bool done) {
  struct view view;
  struct entry entry = {.kind = "change"};
  uint64_t index;
  int code = EXIT_WRONG_INPUT;
  if (!view_open(pen, arguments->positional[1], &view)) return code;
  const char *words = change_words(arguments, view.item);
  entry_subject(&entry, "finding", view.finding.entry.leaf);
  entry_member(&entry, "state", done ? "done" : "started");
  entry_member(&entry, "change", words);
  entry_member(&entry, "commit", arguments->option[FLAG_COMMIT]);
  entry_member(&entry, "ticket", arguments->option[FLAG_TICKET]);
  entry_member(&entry, "text", arguments->option[FLAG_TEXT]);
  if (words != NULL && ledger_file_add(&pen->file, &entry, &pen->signer, &index, NULL)) {
    print_state(pen, index, &view);
    code = tell_hook(arguments, pen, index);
  }
  view_close(&view);
  return code;
}

static int start(const struct arguments *arguments, struct pen *pen) {
  return add_change(arguments, pen, false);
}

static int done(const struct arguments *arguments, struct pen *pen) {
  return add_change(arguments, pen, true);
}

/* --- accept, dispute, hand-on --- */

/* evidence: a bundle that shows it, of a dispute; NULL */
static int respond(const struct arguments *arguments, struct pen *pen, enum response_kind kind, const char *evidence) {
  struct view view;
  struct entry entry = {.kind = "response"};
  struct bundle_file bundle;
  uint64_t index;
  int code = EXIT_WRONG_INPUT;
  if (!view_open(pen, arguments->positional[1], &view)) return code;
  entry_subject(&entry, "finding", view.finding.entry.leaf);
  entry_member(&entry, "state", response_kind_text(kind));
  entry_member(&entry, "layer", kind == RESPONSE_HANDED_ON ? arguments->option[FLAG_LAYER] : NULL);
  entry_member(&entry, "text", arguments->option[FLAG_TEXT]);
  bool good = evidence == NULL || bundle_file_open_possible(evidence, &bundle);
  if (evidence != NULL && good) {
    entry_subject_hex(&entry, "evidence", bundle.result.seal.root);
    bundle_file_close(&bundle);
    good = bundle_entry_add(&pen->file, evidence, &pen->signer, &index);
  }
  if (good && ledger_file_add(&pen->file, &entry, &pen->signer, &index, NULL)) {
    print_state(pen, index, &view);
    code = tell_hook(arguments, pen, index);
  }
  view_close(&view);
  return code;
}

static int accept_finding(const struct arguments *arguments, struct pen *pen) {
  return respond(arguments, pen, RESPONSE_ACCEPTED, NULL);
}

static int dispute_finding(const struct arguments *arguments, struct pen *pen) {
  if (!needs("dispute", "text", arguments->option[FLAG_TEXT], "why it is wrong")) return EXIT_WRONG_INPUT;
  return respond(arguments, pen, RESPONSE_DISPUTED, arguments->n_positional > 2 ? arguments->positional[2] : NULL);
}

static int hand_on(const struct arguments *arguments, struct pen *pen) {
  enum layer layer;
  if (!layer_read("iterate hand-on", arguments->option[FLAG_LAYER], &layer)) return EXIT_WRONG_INPUT;
  if (!needs("hand-on", "text", arguments->option[FLAG_TEXT], "why it is that layer's")) return EXIT_WRONG_INPUT;
  return respond(arguments, pen, RESPONSE_HANDED_ON, NULL);
}

/* --- measure --- */

struct measuring {
  struct bundle_file file[2];
  const char *path[2];
  char folder[4100], fetched[4200]; /* where the run from before lies, if the ledger gave it */
  struct view view;
  bool answers; /* a finding: view is open */
};

/* The newest run that the finding was found in, where no other one is named. */
static bool fetch_before(const struct pen *pen, struct measuring *m) {
  struct ledger_file file = pen->file; /* its ledger is read, not closed */
  struct lynx_error error = {0};
  char hex[DIGEST_HEX];
  if (!make_folder(m->folder, sizeof m->folder)) return false;
  (void)snprintf(m->fetched, sizeof m->fetched, "%s/before.lynx", m->folder);
  m->path[0] = m->fetched;
  if (bundle_entry_get(&file, digest_hex(m->view.item->run->root, hex), m->fetched, &error) == LYNX_OK) return true;
  (void)report_error(&error);
  complain("lynxbench iterate measure: name the run from before the change: lynxbench iterate measure BEFORE AFTER ...\n");
  return false;
}

/* What can show nothing of the change is refused. */
static bool is_sound(const struct measuring *m) {
  const struct result *before = &m->file[0].result, *after = &m->file[1].result;
  struct arena arena = {0};
  const char *unlike = contract_difference(&before->contract, &after->contract, CONTRACT_LIKE_QUESTION, &arena);
  if (unlike != NULL)
    complain(
        "lynxbench iterate measure: found runs of different contracts (%s); accepted: contracts that differ in nothing but the executor\n",
        unlike);
  else if (m->answers && strcmp(before->contract_digest, m->view.item->contract->hex) != 0)
    complain("lynxbench iterate measure: %s: found a run of another contract; accepted: one of the finding's contract\n", m->path[0]);
  bool alike = unlike == NULL && (!m->answers || strcmp(before->contract_digest, m->view.item->contract->hex) == 0);
  arena_release(&arena);
  if (!alike) return false;
  if (bundle_files_interleaved(&m->file[0], &m->file[1]) || after->started_ns >= before->started_ns) return true;
  complain("lynxbench iterate measure: %s began before %s; accepted: the run from before the change, then the one from after it\n",
           m->path[1], m->path[0]);
  return false;
}

static void print_effect(const struct arguments *arguments, struct measuring *m, const struct iteration *iteration,
                         const struct effect_measured *effect) {
  struct buffer out;
  if (arguments->option[FLAG_JSON] != NULL) {
    struct json_writer json;
    buffer_init(&out, 1 << 20);
    json_begin_object(&json, &out);
    json_put_text(&json, "effect", effect_text(effect->effect));
    if (effect->why[0] != 0) json_put_text(&json, "why", effect->why);
    json_put_text(&json, "change", iteration->change);
    if (m->answers) json_put_int(&json, "finding", (int64_t)m->view.finding.index);
    json_close(&json);
    (void)json_finish(&json); /* an overflow is reported by write_buffer */
    (void)buffer_text(&out, "\n");
  } else {
    buffer_init(&out, 64 << 20);
    (void)text_comparison(&m->file[0].result, &m->file[1].result, iteration->list, NULL, color_wanted(stdout), &out);
    (void)buffer_printf(&out, "%s: %s%s%s%s%s\n", iteration->change, effect_text(effect->effect), effect->why[0] != 0 ? ", " : "",
                        effect->why, effect->figure[0] != 0 ? ": " : "", effect->figure);
  }
  (void)write_buffer(NULL, &out); /* a failure was reported */
  buffer_release(&out);
}

static int record(const struct arguments *arguments, struct pen *pen, struct measuring *m, const char *change) {
  static const int codes[] = {[EFFECT_UNDECIDED] = EXIT_INCONCLUSIVE,
                              [EFFECT_IMPROVED] = EXIT_HOLDS,
                              [EFFECT_NONE] = EXIT_DOES_NOT_HOLD,
                              [EFFECT_WORSE] = EXIT_DOES_NOT_HOLD};
  struct comparison_list figures;
  struct summary before, after;
  struct effect_measured effect;
  bool interleaved = bundle_files_interleaved(&m->file[0], &m->file[1]);
  uint64_t index;
  int code = EXIT_WRONG_INPUT;
  summary_make(&m->file[0].result, &before);
  summary_make(&m->file[1].result, &after);
  effect_measure(&before, &after, interleaved, &m->file[0].result.contract, &effect);
  comparison_make(&m->file[0].result, &m->file[1].result, interleaved, &figures);
  const struct iteration iteration = {.path = {m->path[0], m->path[1]},
                                      .result = {&m->file[0].result, &m->file[1].result},
                                      .list = &figures,
                                      .change = change,
                                      .finding = m->answers ? &m->view.finding : NULL};
  if (iteration_add(pen, &iteration, &index)) {
    print_effect(arguments, m, &iteration, &effect);
    if (m->answers && arguments->option[FLAG_JSON] == NULL) print_state(pen, index, &m->view);
    code = tell_hook(arguments, pen, index) == EXIT_HOLDS ? codes[effect.effect] : EXIT_EXECUTOR;
  }
  comparison_release(&figures);
  return code;
}

static int open_and_record(const struct arguments *arguments, struct pen *pen, struct measuring *m) {
  int code = EXIT_WRONG_INPUT;
  const char *change = change_words(arguments, m->answers ? m->view.item : NULL);
  if (change != NULL && bundle_file_open_possible(m->path[0], &m->file[0])) {
    if (bundle_file_open_possible(m->path[1], &m->file[1])) {
      if (is_sound(m)) code = record(arguments, pen, m, change);
      bundle_file_close(&m->file[1]);
    }
    bundle_file_close(&m->file[0]);
  }
  return code;
}

static int measure(const struct arguments *arguments, struct pen *pen) {
  static struct measuring m;
  const char *finding = arguments->option[FLAG_FINDING];
  int code = EXIT_WRONG_INPUT;
  m.path[1] = arguments->positional[arguments->n_positional - 1];
  m.answers = finding != NULL;
  if (m.answers && !view_open(pen, finding, &m.view)) return code;
  if (arguments->n_positional == 3) m.path[0] = arguments->positional[1];
  if (arguments->n_positional == 2 && !m.answers)
    complain("lynxbench iterate measure: found one bundle, accepted: BEFORE AFTER, or AFTER and --finding ENTRY, whose run is "
             "then the one from before\n");
  else if (m.path[0] != NULL || fetch_before(pen, &m)) code = open_and_record(arguments, pen, &m);
  if (m.fetched[0] != 0) (void)unlink(m.fetched);
  if (m.folder[0] != 0) (void)rmdir(m.folder);
  if (m.answers) view_close(&m.view);
  return code;
}

/* --- which --- */

static const struct {
  const char *name, *what; /* what follows it */
  int least, most;
  int (*run)(const struct arguments *arguments, struct pen *pen);
} actions[] = {{"open", "BUNDLE", 1, 1, open_finding},
               {"accept", "FINDING", 1, 1, accept_finding},
               {"dispute", "FINDING [BUNDLE]", 1, 2, dispute_finding},
               {"hand-on", "FINDING", 1, 1, hand_on},
               {"start", "FINDING", 1, 1, start},
               {"done", "FINDING", 1, 1, done},
               {"measure", "[BEFORE] AFTER", 1, 2, measure}};

static int run(const struct arguments *arguments) {
  const char *name = arguments->n_positional > 0 ? arguments->positional[0] : "list";
  const struct pen_wanted wanted = {"iterate", "what is said of findings", arguments->option[FLAG_LEDGER], arguments->option[FLAG_KEY],
                                    NULL};
  struct pen pen;
  if (strcmp(name, "list") == 0 && arguments->n_positional < 2) return list(arguments);
  for (size_t i = 0; i < LYNX_COUNT(actions); i++) {
    if (strcmp(name, actions[i].name) != 0) continue;
    int n = arguments->n_positional - 1;
    if (n < actions[i].least || n > actions[i].most) {
      complain("lynxbench iterate %s: found %d argument%s, accepted: %s\n", name, n, LYNX_S(n), actions[i].what);
      return EXIT_WRONG_INPUT;
    }
    int code = pen_open(&wanted, &pen);
    if (code != EXIT_HOLDS) return code;
    code = actions[i].run(arguments, &pen);
    pen_close(&pen);
    return code;
  }
  complain("lynxbench iterate: found '%s'%s, accepted: list, open BUNDLE, accept FINDING, dispute FINDING, hand-on FINDING, "
           "start FINDING, done FINDING, measure [BEFORE] AFTER\n",
           name, strcmp(name, "list") == 0 ? " and more words" : "");
  return EXIT_WRONG_INPUT;
}

const struct command command_iterate = {
    .name = "iterate",
    .summary = "track findings from open to measured improvement",
    .usage = "[list | open BUNDLE | accept|dispute|hand-on FINDING | start|done FINDING | measure [BEFORE] AFTER]",
    .least = 0,
    .most = 3,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "A finding in the ledger (`attribute --record`, or `iterate open`) is closed by a measurement, not by a word. Its owner\n"
               "answers: `accept`, `dispute` (--text says why; a bundle may show it), or `hand-on` to --layer, with a reason. `start` and\n"
               "`done` say what is changed, with a commit and a ticket. `measure` compares the run from before the change with one from\n"
               "after it and records the effect: improved closes the finding; no improvement, worse, or undecided opens it again.\n"
               "Without a BEFORE it is the newest run that the finding was found in, out of the ledger. The same finding in several\n"
               "runs of a contract is one; found again, it is open again.\n"
               "`measure` exits with 0 where it improved, 1 where it did not, 3 where that cannot be decided, 5 where the hook was not\n"
               "told.",
    .example = "rm -rf /tmp/it; mkdir -p /tmp/it; build/lynxbench ledger key ml --out /tmp/it; export LYNXBENCH_KEY=/tmp/it/ml.key "
               "LYNXBENCH_LEDGER=/tmp/it/t.ledger; build/lynxbench ledger create /tmp/it/t.ledger; build/lynxbench iterate open "
               "build/demo/demo.lynx --layer serving --title 'batches are too small'; build/lynxbench iterate start 3 --change 'batch of "
               "16' --commit 1a2b3c4; build/lynxbench iterate",
    .run = run};
