#include "board/meeting.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/shell.h"
#include "board/work.h"
#include "stats/special.h"

enum { TEXT_MAX = 1 << 16, LISTED_MAX = 12 };
static const uint64_t no_entry = UINT64_MAX;

struct making {
  const struct board *board;
  const struct board_contract *contract;
  struct history_report report;
  const struct history_series *headline; /* NULL: no figure */
  struct board_value newest;             /* that gave the headline's figure */
  const struct board_run *run;           /* its run; NULL */
  const struct history_value *value;     /* which it gave */
  size_t event;                          /* that changed the headline last; SIZE_MAX: none */
  const struct change *change;           /* there */
  struct meeting *to;
  struct buffer text;
};

/* --- one statement --- */

static struct meeting_item *state(struct making *m, enum meeting_kind kind, const char *text) {
  struct meeting *to = m->to;
  to->items = arena_room(&to->arena, to->items, to->n_items, sizeof *to->items);
  struct meeting_item *s = &to->items[to->n_items++];
  *s = (struct meeting_item){.kind = kind, .who = "", .text = text, .command = "", .entry = no_entry, .run = SIZE_MAX};
  return s;
}

static struct meeting_item *state_next(struct making *m, const char *who, const char *text, const char *command) {
  struct meeting_item *s = state(m, MEETING_NEXT, text);
  s->who = who;
  s->command = command;
  return s;
}

static const char *kept(struct making *m) {
  size_t n = m->text.length;
  while (n > 0 && m->text.data[n - 1] == ' ') n--;
  const char *text = arena_text(&m->to->arena, m->text.data, n);
  buffer_clear(&m->text);
  (void)buffer_text(&m->text, "");
  return text;
}

static const char *hex_of(struct making *m, const struct board_run *run) {
  char hex[DIGEST_HEX];
  return arena_copy(&m->to->arena, digest_hex(run->root, hex));
}

static const char *command_get(struct making *m, const struct board_run *run) {
  return arena_printf(&m->to->arena, "lynxbench ledger get %s %s --out %.8s.lynx", shell_word(m->board->address), hex_of(m, run),
                      hex_of(m, run));
}

/* The bundle's own address is not used: where it is here, only the team knows. */
static const char *endpoint_words(const struct making *m) {
  const struct contract *c = m->contract->contract;
  return c != NULL && c->executor.start.command.n_items == 0 && c->executor.endpoint != NULL ? " --endpoint URL" : "";
}

/* "2026-11-23", of a run; the entry's where the summary has none. */
static const char *day_of(struct making *m, const struct board_run *run) {
  char text[32];
  return arena_printf(&m->to->arena, "%.10s", board_run_time(run, text));
}

/* --- the figure --- */

/* The change that a series ended on; NULL: it never changed. */
static const struct history_change *newest_change(const struct history *h, const struct history_series *s, size_t *ret_event) {
  const struct history_change *found = NULL;
  for (size_t i = 0; i < h->n_events; i++)
    for (size_t k = 0; k < h->events[i].n_changes; k++)
      if (&h->series[h->events[i].changes[k].series] == s) {
        found = &h->events[i].changes[k];
        *ret_event = i;
      }
  return found;
}

/* The figure that is named first; but where that one did not get worse and another did, the one that did last: a service whose latency
 * doubled at the same throughput is not unchanged. */
static void choose_headline(struct making *m) {
  const struct history *h = m->report.history;
  size_t event = SIZE_MAX, latest = 0;
  m->headline = board_headline(m->contract);
  const struct history_change *change = m->headline != NULL ? newest_change(h, m->headline, &event) : NULL;
  if (change != NULL && history_is_worse(h, change)) return;
  for (size_t i = 0; i < h->n_series; i++) {
    change = newest_change(h, &h->series[i], &event);
    if (change == NULL || !history_is_worse(h, change) || event + 1 <= latest) continue;
    latest = event + 1;
    m->headline = &h->series[i];
  }
}

static void find_headline(struct making *m) {
  const struct history *h = m->report.history;
  m->event = SIZE_MAX;
  m->to->unclaimed = m->contract->n_runs > 0;
  choose_headline(m);
  if (m->headline == NULL) return;
  const struct history_series *s = m->headline;
  (void)board_value_of(m->board, m->contract, s, &m->newest); /* a headline has values */
  m->run = m->newest.run;
  m->value = m->newest.value;
  const struct history_change *change = newest_change(h, s, &m->event);
  if (change != NULL) {
    m->change = history_change_of(h, change);
    m->to->changed = true;
    m->to->worse = history_is_worse(h, change);
  }
  m->to->headline = s;
  m->to->unclaimed = m->newest.no_claim != NULL;
  m->to->value = m->value;
}

static bool has_fallen(const struct change *c) {
  return c->after < c->before;
}

static void put_figure(struct making *m) {
  figure_put(m->value->value, m->value->low, m->value->high, m->headline->unit, &m->text);
}

/* ", on 2026-11-23", ", between 2026-11-21 and 2026-11-23" */
static void put_days(const struct history_run *before, const struct history_run *after, struct buffer *out) {
  struct buffer day[2];
  for (int i = 0; i < 2; i++) {
    buffer_init(&day[i], 8192);
    history_put_time(i == 0 ? before : after, false, &day[i]);
  }
  if (strcmp(day[0].data, day[1].data) == 0) (void)buffer_printf(out, " on %s", day[0].data);
  else (void)buffer_printf(out, " between %s and %s", day[0].data, day[1].data);
  for (int i = 0; i < 2; i++) buffer_release(&day[i]);
}

static const char *trend_of_change(struct making *m) {
  const struct history_event *e = &m->report.history->events[m->event];
  const char *unit = m->headline->unit;
  (void)buffer_printf(&m->text, "%s %s from ", m->headline->figure, has_fallen(m->change) ? "fell" : "rose");
  figure_put_value(m->change->before, strcmp(unit, "ns") == 0 ? unit : "", &m->text);
  (void)buffer_text(&m->text, " to ");
  figure_put_value(m->change->after, unit, &m->text);
  put_days(&m->report.history->runs[e->before], &m->report.history->runs[e->after], &m->text);
  return kept(m);
}

static const char *why_no_figure(const struct making *m) {
  const struct board_contract *c = m->contract;
  for (size_t i = c->n_runs; i > 0; i--) {
    const struct board_run *run = &m->board->runs[c->runs[i - 1]];
    if (run->summary == NULL) return "its ledger entry carries no figures of this analysis";
    for (size_t p = 0; p < run->summary->n_precisions; p++)
      if (run->summary->precisions[p].left_out != NULL) return run->summary->precisions[p].left_out;
  }
  return "it has none";
}

static const char *make_trend(struct making *m) {
  const struct board_contract *c = m->contract;
  struct arena *arena = &m->to->arena;
  if (c->n_runs == 0) return "Nothing is measured yet";
  if (m->headline == NULL)
    return arena_printf(arena, "No figure yet: the last of %zu run%s does not support one (%s)", c->n_runs, LYNX_S(c->n_runs),
                        why_no_figure(m));
  if (m->change != NULL) return trend_of_change(m);
  const struct board_value *v = &m->newest;
  (void)buffer_printf(&m->text, "%s%s: ", v->no_claim != NULL ? "No claim yet: " : "", m->headline->figure);
  put_figure(m);
  if (v->no_claim != NULL) (void)buffer_printf(&m->text, ", of a run that supports none (%s)", v->no_claim);
  else if (history_is_tested(m->headline, m->report.plan)) (void)buffer_printf(&m->text, ", no change in %zu runs", m->headline->n_values);
  else if (v->n_newer > 0)
    (void)buffer_printf(&m->text, ", by the run of %s; %zu newer support%s no claim", day_of(m, v->run), v->n_newer,
                        v->n_newer == 1 ? "s" : "");
  else if (v->n_runs > 1) (void)buffer_printf(&m->text, ", by the last of %zu runs", v->n_runs);
  else (void)buffer_text(&m->text, ", by one run");
  return kept(m);
}

/* By another team than the one that measured. */
static bool is_verified(const struct board_run *r) {
  bool verified = false;
  for (size_t i = 0; i < r->n_verifications; i++)
    verified = verified || (standing_is_decided(r->verifications[i].decision) && r->verifications[i].rerun_by != NULL &&
                            strcmp(r->verifications[i].rerun_by, r->by) != 0);
  return verified;
}

static void put_verified(struct making *m) {
  const struct board_run *r = m->run;
  size_t n = 0;
  for (size_t i = 0; i < r->n_verifications && n < 3; i++) {
    const struct standing_verification *v = &r->verifications[i];
    if (!standing_is_decided(v->decision)) continue;
    const char *who = v->rerun_by != NULL ? v->rerun_by : v->by;
    (void)buffer_printf(&m->text, "%s%s by %s%s", n > 0 ? ", " : "It was ", v->decision, who, strcmp(who, r->by) == 0 ? " itself" : "");
    n++;
  }
  (void)buffer_text(&m->text, n > 0 ? ". " : "");
  if (!is_verified(r)) (void)buffer_text(&m->text, "");
}

/* "The change: the gap is 1 ms. Before: result 1a2b3c4d of 2026-11-30; after: result 5e6f7a8b (contract 9c0d1e2f). " */
static void put_side(struct making *m, const char *which, const struct board_run *run, const char *end) {
  const struct board_contract *own = m->contract, *of = run->contract != BOARD_NO_CONTRACT ? &m->board->contracts[run->contract] : own;
  char hex[DIGEST_HEX];
  (void)buffer_printf(&m->text, "%s: result %.8s of %s", which, digest_hex(run->root, hex), day_of(m, run));
  if (of != own) (void)buffer_printf(&m->text, " (contract %.8s)", of->hex);
  (void)buffer_text(&m->text, end);
}

static void put_pair(struct making *m) {
  const struct contract_answer *a = &m->to->answered;
  if (a->before == NULL || a->run == NULL) return;
  if (a->change[0] != 0) (void)buffer_printf(&m->text, "The change: %s. ", a->change);
  put_side(m, "Before", a->before, "; ");
  put_side(m, "after", a->run, ". ");
}

/* Who contests it, and on which ground. */
static void put_contests(struct making *m) {
  const struct board_contract *c = m->contract;
  for (size_t i = c->n_runs; i > 0; i--) {
    const struct board_run *run = &m->board->runs[c->runs[i - 1]];
    for (size_t k = 0; k < run->n_contests; k++) {
      if (run->contests[k].closed != NULL) continue;
      (void)buffer_printf(&m->text, "Contested by %s (%.40s). ", run->contests[k].by, run->contests[k].ground);
      return;
    }
  }
}

static const char *make_lead(struct making *m) {
  const struct board_contract *c = m->contract;
  put_contests(m);
  put_pair(m);
  if (c->n_runs == 0) return c->n_intents > 0 ? "Runs were started; none is recorded." : "The contract is in the ledger; no run of it is.";
  if (m->change != NULL) {
    (void)buffer_text(&m->text, "A change of ");
    history_put_size(m->change, m->headline->unit, &m->text);
    (void)buffer_printf(&m->text, "%s%s; ", m->to->worse ? ", worse" : "",
                        m->report.history->events[m->event].provisional ? ", provisional" : "");
    history_put_coincidence(&m->report, m->event, &m->text);
    (void)buffer_text(&m->text, ". ");
  }
  if (m->headline != NULL && m->change != NULL) {
    (void)buffer_text(&m->text, "The last run gave ");
    put_figure(m);
    (void)buffer_text(&m->text, ". ");
  }
  if (m->run != NULL) put_verified(m);
  return kept(m);
}

/* --- agreed --- */

static bool is_signatory(const struct board_contract *c, const char *team) {
  for (size_t i = 0; c->contract != NULL && i < c->contract->signatories.n_items; i++)
    if (strcmp(c->contract->signatories.items[i], team) == 0) return true;
  return false;
}

static void state_signatures(struct making *m) {
  const struct board_contract *c = m->contract;
  struct arena *arena = &m->to->arena;
  for (size_t i = 0; i < c->n_signatures; i++) { /* the newest of each team: there are POLICY_TEAMS_MAX at a time */
    const struct standing_signature *s = &c->signatures[i];
    bool reserved = s->reservation[0] != 0, again = false;
    for (size_t k = i + 1; k < c->n_signatures; k++) again = again || strcmp(c->signatures[k].team, s->team) == 0;
    if (again) continue;
    const char *who = arena_printf(arena, "%s%s", s->team, is_signatory(c, s->team) ? "" : " (whom the contract does not name)");
    state(m, reserved ? MEETING_CONTESTED : MEETING_AGREED,
          reserved ? arena_printf(arena, "%s signed the terms with a reservation: %s", who, s->reservation)
                   : arena_printf(arena, "%s signed the terms.", who))
        ->entry = s->index;
  }
  for (size_t i = 0; c->contract != NULL && i < c->contract->signatories.n_items; i++) {
    const char *team = c->contract->signatories.items[i];
    if (board_signature_of(c, team) != NULL) continue;
    state(m, MEETING_UNKNOWN, arena_printf(arena, "Whether %s agrees to the terms: it has not signed them.", team));
    (void)state_next(m, team, "Sign the terms, or sign them with a reservation that says what is not accepted.",
                     arena_printf(arena, "lynxbench ledger sign CONTRACT --ledger %s", shell_word(m->board->address)));
  }
  if (c->text == NULL) state(m, MEETING_UNKNOWN, "The contract's words: they are not in the ledger, only its digest is.");
}

/* Each team's decisions of a kind are one statement, however many they are: nobody can bury another's. */
static void state_decisions(struct making *m) {
  const struct standing_verification *all = m->run->verifications;
  for (size_t i = 0; i < m->run->n_verifications; i++) {
    const struct standing_verification *v = &all[i];
    bool good = strcmp(v->decision, "reproduced") == 0, bad = strcmp(v->decision, "not reproduced") == 0, again = false;
    size_t n = 1;
    for (size_t k = 0; k < i; k++) n += strcmp(all[k].by, v->by) == 0 && strcmp(all[k].decision, v->decision) == 0;
    for (size_t k = i + 1; k < m->run->n_verifications; k++)
      again = again || (strcmp(all[k].by, v->by) == 0 && strcmp(all[k].decision, v->decision) == 0);
    if (again) continue;
    bool own = v->rerun_by == NULL || strcmp(v->rerun_by, v->by) == 0;
    if (own) (void)buffer_printf(&m->text, "%s%s re-ran it", v->by, strcmp(v->by, m->run->by) == 0 ? " itself" : "");
    else (void)buffer_printf(&m->text, "%s compared it with a run of %s", v->by, v->rerun_by);
    if (n > 1) (void)buffer_printf(&m->text, " %zu times", n);
    (void)buffer_printf(&m->text, ": %s.", v->decision);
    enum meeting_kind kind = MEETING_UNKNOWN;
    if (good) kind = MEETING_AGREED;
    if (bad) kind = MEETING_CONTESTED;
    state(m, kind, kept(m))->entry = v->index;
    m->to->contested = m->to->contested || bad;
  }
}

/* Terms that name nobody bind nobody; whose words are not in the ledger, nobody here knows whom they name. */
static bool all_signed(const struct board_contract *c) {
  size_t n;
  size_t n_signed = board_signed(c, &n);
  return n > 0 && n_signed == n;
}

static void state_figure(struct making *m) {
  struct arena *arena = &m->to->arena;
  if (m->run == NULL) return;
  const struct contract_answer *a = &m->to->answered;
  if (a->answer.state != ANSWER_NONE && a->run != NULL)
    (void)buffer_printf(&m->text, "%s %s this on %s", a->run->by, a->run->answers ? "measured" : "recorded", day_of(m, a->run));
  else {
    (void)buffer_printf(&m->text, "%s %s %s ", m->run->by, m->run->answers ? "measured" : "recorded", m->headline->figure);
    put_figure(m);
    (void)buffer_printf(&m->text, " at %s on %s", m->headline->precision, day_of(m, m->run));
  }
  const char *no_claim = m->newest.no_claim;
  bool agreed = no_claim == NULL && all_signed(m->contract);
  bool named = m->contract->contract != NULL && m->contract->contract->signatories.n_items > 0;
  if (no_claim == NULL && !agreed)
    (void)buffer_text(&m->text, named ? "; not all have signed the terms" : "; the terms name nobody to sign them");
  (void)buffer_text(&m->text, ".");
  struct meeting_item *s = state(m, agreed ? MEETING_AGREED : MEETING_UNKNOWN, kept(m));
  const struct board_run *measured = a->answer.state != ANSWER_NONE && a->run != NULL ? a->run : m->run;
  s->entry = measured->index;
  s->run = (size_t)(measured - m->board->runs);
  if (no_claim != NULL) {
    s = state(m, MEETING_UNKNOWN, arena_printf(arena, "Whether that figure holds: no claim can be made of the run (%s).", no_claim));
    s->run = (size_t)(m->run - m->board->runs);
  }
  state_decisions(m);
}

/* Who could verify it: a signatory that did not measure it. */
static const char *other_team(const struct making *m, const struct board_run *run) {
  const struct contract *c = m->contract->contract;
  for (size_t i = 0; c != NULL && i < c->signatories.n_items; i++)
    if (strcmp(c->signatories.items[i], run->by) != 0) return c->signatories.items[i];
  return "any other team";
}

static void state_verification(struct making *m) {
  if (m->run == NULL || is_verified(m->run)) return;
  state(m, MEETING_UNKNOWN, "Whether another team measures the same: nobody has checked it yet.")->run = (size_t)(m->run - m->board->runs);
  (void)state_next(m, other_team(m, m->run), "Measure again, and record whether the result agrees.",
                   arena_printf(&m->to->arena, "%s && lynxbench verify %.8s.lynx%s --ledger %s", command_get(m, m->run), hex_of(m, m->run),
                                endpoint_words(m), shell_word(m->board->address)));
}

/* --- what changed --- */

static void state_cause(struct making *m) {
  if (m->change == NULL) return;
  const struct coincidence *c = &m->contract->coincidences[m->event];
  struct arena *arena = &m->to->arena;
  history_put_next(&m->report, m->event, &m->text);
  char *newline = strchr(m->text.data, '\n'); /* advice follows the command */
  if (newline != NULL) *newline = 0;
  const char *command = strncmp(m->text.data, "lynxbench ", 10) == 0 ? arena_copy(arena, m->text.data) : "";
  buffer_clear(&m->text);
  (void)buffer_printf(&m->text, "What caused the change of %s: ", m->headline->figure);
  history_put_coincidence(&m->report, m->event, &m->text);
  history_put_drift(&m->report, m->event, "; ", false, &m->text); /* the page is one sheet */
  (void)buffer_text(&m->text, c->kind == COINCIDENCE_FACTS ? ". That both changed together is no cause yet." : ".");
  state(m, MEETING_UNKNOWN, kept(m));
  for (size_t i = 0; c->kind == COINCIDENCE_FACTS && i < c->n_layers; i++)
    (void)state_next(
        m, c->owners[i],
        arena_printf(arena, "A fact of the layer %s changed with the figure: compare both executors, then change it back and measure.",
                     c->layers[i]),
        command);
  if (c->kind == COINCIDENCE_UNKNOWN)
    (void)state_next(m, m->run->by, "Measure where the server runs, so that its executor is captured with each run.", "");
  else if (c->kind != COINCIDENCE_FACTS) (void)state_next(m, m->run->by, "Compare the executors of the runs around the change.", command);
}

/* --- findings, contests, what is missing --- */

/* The experiment that its rule names. */
static const char *command_confirm(struct making *m, const struct work_item *item) {
  const char *rule = item->finding->rule;
  bool plain = rule[0] != 0 && rule[strspn(rule, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == 0; /* it goes into a shell */
  return plain ? arena_printf(&m->to->arena, "%s && lynxbench confirm %.8s.lynx %s --record --ledger %s", command_get(m, item->run),
                              hex_of(m, item->run), rule, shell_word(m->board->address))
               : "";
}

static void state_closed(struct making *m, const struct work_item *item, const char *of) {
  const struct effect_measured *e = &item->effect;
  state(m, MEETING_AGREED,
        arena_printf(&m->to->arena, "%s: mended by «%s»: %s times %.3f [%.3f, %.3f], measured by %s.", of, item->measured->change, e->name,
                     e->ratio, e->low, e->high, item->measured->by))
      ->entry = item->measured->index;
}

static const char *doubt(struct making *m, const struct work_item *item) {
  const struct board_finding *f = item->finding;
  struct arena *arena = &m->to->arena;
  const char *answered = work_response_words(item, arena), *stop = answered[0] != 0 ? "; " : "";
  if (item->state == WORK_AGAIN) return arena_printf(arena, "open again, since %s%s%s", item->why, stop, answered);
  if (item->state == WORK_STARTED || item->state == WORK_DONE)
    return arena_printf(arena, "%s %s: %s; what it brings is not measured yet", item->change->by,
                        item->state == WORK_DONE ? "made a change" : "works on it", item->change->words);
  return arena_printf(arena, "%s by %s (%s), not confirmed%s%s", work_found(f), f->by, work_whose_now(item, arena), stop, answered);
}

/* Who disputes it is answered by who found it: an experiment decides. */
static void state_dispute(struct making *m, const struct work_item *item, const char *of) {
  struct arena *arena = &m->to->arena;
  const struct board_response *r = item->response;
  struct meeting_item *s = state(m, MEETING_CONTESTED, arena_printf(arena, "%s disputes «%s»: %s", r->by, of, r->words));
  s->entry = r->index;
  s->run = (size_t)(item->run - m->board->runs);
  (void)state_next(m, item->finding->by, arena_printf(arena, "Answer the dispute of %s by an experiment: %s.", r->by, of),
                   command_confirm(m, item));
}

static void state_work(struct making *m, const struct work_item *item) {
  struct arena *arena = &m->to->arena;
  const struct board_finding *f = item->finding;
  const struct standing_confirmation *c = item->confirmation;
  bool refuted = c != NULL && strcmp(c->verdict, "refuted") == 0,
       confirmed = c != NULL && (strcmp(c->verdict, "confirmed") == 0 || strcmp(c->verdict, "remedied") == 0);
  const char *of = arena_printf(arena, "%s%s%s%s", f->title, f->named[0] != 0 ? " (" : "", f->named, f->named[0] != 0 ? ")" : "");
  const char *text, *command;
  if (item->state == WORK_CLOSED) {
    state_closed(m, item, of);
    return;
  }
  if (item->response != NULL && item->response->kind == RESPONSE_DISPUTED && !refuted && !confirmed) {
    state_dispute(m, item, of);
    return;
  }
  struct meeting_item *s = refuted || (confirmed && item->state == WORK_OPEN)
                               ? state(m, MEETING_AGREED, arena_printf(arena, "%s: %s by an experiment of %s.", of, c->verdict, c->by))
                               : state(m, MEETING_UNKNOWN, arena_printf(arena, "%s: %s.", of, doubt(m, item)));
  s->entry = refuted || confirmed ? c->index : f->index;
  s->run = (size_t)(item->run - m->board->runs);
  if (refuted || !work_next(m->board, item, arena, &text, &command)) return;
  if (item->state == WORK_OPEN && !confirmed && strcmp(f->rung, "accounted") == 0) {
    text = arena_printf(arena, "Confirm or refute by an experiment: %s.", of);
    command = command_confirm(m, item);
  }
  bool works = item->state == WORK_STARTED || item->state == WORK_DONE; /* who said so goes on */
  const char *who = works ? item->change->by : item->owner[0] != 0 ? item->owner : f->by;
  (void)state_next(m, who, text, command);
}

static void state_findings(struct making *m) {
  struct work_list list;
  work_list_make(m->board, m->contract, &list);
  for (size_t i = 0; i < list.n_items && i < LISTED_MAX; i++) state_work(m, &list.items[i]);
  if (list.n_items > LISTED_MAX)
    state(m, MEETING_UNKNOWN,
          arena_printf(&m->to->arena, "And %zu findings more; the page of findings, and `lynxbench iterate`, list them.",
                       list.n_items - LISTED_MAX));
  work_list_release(&list);
}

/* What the answer itself leaves open, and who can settle it. */
static void state_open(struct making *m) {
  const struct contract_answer *a = &m->to->answered;
  struct arena *arena = &m->to->arena;
  const struct summary_precision *p = a->run != NULL ? summary_precision_named(a->run->summary, a->answer.precision) : NULL;
  if (p != NULL && a->answer.kind == QUESTION_HOW_MANY && p->passing > 0 && p->failing > p->passing)
    state(m, MEETING_UNKNOWN, arena_printf(arena, "Where between %.4g and %.4g requests/s the limit is.", p->passing, p->failing));
  if (a->before == NULL || a->answer.state != ANSWER_NONE) return;
  state(m, MEETING_UNKNOWN, arena_printf(arena, "Whether the change helped: %s.", a->answer.why));
  (void)state_next(m, a->run->by, "Measure before and after in turn, so that both meet the same conditions.",
                   "lynxbench compare BEFORE.yaml AFTER.yaml");
}

/* "KEY (OWNER): expected 'A', found 'B'": the owner says which of the two is right. */
static void state_departures(struct making *m) {
  const struct board_run *run = m->to->answered.run;
  struct arena *arena = &m->to->arena;
  if (run == NULL || m->to->answered.answer.state != ANSWER_NOT_AS_ORDERED) return;
  for (size_t i = 0; i < run->summary->n_departures; i++) {
    const char *text = run->summary->departures[i], *open = strstr(text, " ("), *close = open != NULL ? strstr(open, "): ") : NULL;
    struct meeting_item *s = state(m, MEETING_CONTESTED, arena_printf(arena, "Not as ordered: %s.", text));
    s->entry = run->index;
    s->run = (size_t)(run - m->board->runs);
    if (close != NULL)
      (void)state_next(m, arena_text(arena, open + 2, (size_t)(close - open - 2)),
                       arena_printf(arena, "Deliver what was ordered, or have the terms changed: %s.", text),
                       arena_printf(arena, "%s && lynxbench show %.8s.lynx", command_get(m, run), hex_of(m, run)));
  }
}

/* Whose layer it concerns, by the contract and not by who contests; else a team that may decide it: not the one that measured. */
static const char *contest_owner(const struct making *m, const struct board_run *run, const struct standing_contest *contest) {
  const struct contract *c = m->contract->contract;
  enum layer layer;
  if (!layer_parse(contest->layer, &layer)) return other_team(m, run);
  return c != NULL ? contract_owner(c, layer) : layer_default_owner(layer);
}

static void state_contest(struct making *m, const struct board_run *run, const struct standing_contest *contest) {
  struct arena *arena = &m->to->arena;
  char text[400];
  const char *said = text_sanitise(text, sizeof text, contest->text, strlen(contest->text));
  struct meeting_item *s = state(
      m, MEETING_CONTESTED,
      arena_printf(arena, "%s contests the run of %s (%.40s): %s", contest->by, day_of(m, run), contest->ground, said));
  s->entry = contest->index;
  s->run = (size_t)(run - m->board->runs);
  m->to->contested = true;
  const char *who = contest_owner(m, run, contest);
  (void)state_next(m, who, arena_printf(arena, "Answer the contest of %s: re-run the contract for it.", contest->by),
                   arena_printf(arena, "%s && lynxbench verify %.8s.lynx%s --contest %s --ledger %s", command_get(m, run), hex_of(m, run),
                                endpoint_words(m), contest->leaf, shell_word(m->board->address)));
}

static void state_contests(struct making *m) {
  const struct board_contract *c = m->contract;
  size_t n = 0;
  for (size_t i = c->n_runs; i > 0; i--) {
    const struct board_run *run = &m->board->runs[c->runs[i - 1]];
    for (size_t k = 0; k < run->n_contests; k++)
      if (run->contests[k].closed == NULL && n++ < LISTED_MAX) state_contest(m, run, &run->contests[k]);
  }
  if (n > LISTED_MAX)
    state(m, MEETING_CONTESTED, arena_printf(&m->to->arena, "And %zu contests more, each shown with its result.", n - LISTED_MAX));
}

static void state_unpublished(struct making *m) {
  const struct board_contract *c = m->contract;
  const struct board_intent *last = NULL;
  size_t n = 0;
  if (c->n_intents == c->n_sealed) return; /* the intents of all contracts may be many */
  for (size_t i = 0; i < m->board->n_intents; i++) {
    const struct board_intent *intent = &m->board->intents[i];
    if (&m->board->contracts[intent->contract] != c || intent->sealed) continue;
    last = intent;
    n++;
  }
  if (last == NULL) return;
  state(m, MEETING_UNKNOWN,
        n == 1 ? arena_printf(&m->to->arena, "%s started a run%s%s and recorded no result.", last->by, last->host[0] != 0 ? " on " : "",
                              last->host)
               : arena_printf(&m->to->arena, "%zu runs were started and have no recorded result, the last one by %s%s%s.", n, last->by,
                              last->host[0] != 0 ? " on " : "", last->host))
      ->entry = last->index;
  (void)state_next(m, last->by, "Record the bundle of the run that was started, whatever it shows.",
                   arena_printf(&m->to->arena, "lynxbench ledger put %s BUNDLE", shell_word(m->board->address)));
}

void meeting_make(const struct board *board, const struct board_contract *contract, struct meeting *ret) {
  *ret = (struct meeting){.contract = contract->contract};
  struct making m = {.board = board, .contract = contract, .to = ret};
  m.report = board_report(contract);
  buffer_init(&m.text, TEXT_MAX);
  (void)buffer_text(&m.text, "");
  find_headline(&m);
  char *trend = arena_copy(&ret->arena, make_trend(&m));
  trend[0] = (char)toupper((unsigned char)trend[0]);
  ret->trend = trend;
  contract_answer_make(board, contract, m.run, &ret->arena, &ret->answered);
  ret->lead = make_lead(&m);
  state_departures(&m);
  state_open(&m);
  state_figure(&m);
  state_signatures(&m);
  state_contests(&m);
  state_cause(&m);
  state_findings(&m);
  state_verification(&m);
  state_unpublished(&m);
  buffer_release(&m.text);
}

void meeting_release(struct meeting *meeting) {
  arena_release(&meeting->arena);
  *meeting = (struct meeting){.items = NULL};
}
