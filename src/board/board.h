/* board/board.h: what a ledger says, by contract and run: who signed, what was measured, what was verified and contested.
 *
 * board keeps in memory what pages show, so that no page reads the ledger's entries or a bundle. It is made of the entries alone, in
 * their order, and goes on where it stopped: the same entries give the same board. It opens nothing and prints nothing.
 *
 * Order    board_update whenever the ledger may have grown; then read; board_release
 * Memory   everything lives in the board's arena, for as long as the board
 * Limits   figures are those of the entries' signed summaries, if this build's analysis made them; a bundle's entry without one is a run
 *          without figures. What the ledger's policy admitted is believed here; `audit` shows that it did so rightly.
 *          Of more than 60,000 values of a contract, the first figures of each run are followed, eight at least
 * Threads  one at a time */
#ifndef BOARD_BOARD_H
#define BOARD_BOARD_H

#include "board/digest_map.h"
#include "history/coincidence.h"
#include "ledger/standing.h"
#include "report/history_report.h"

/* What a team says that it does about a finding. */
struct board_change {
  const char *by, *words, *commit, *ticket, *time;
  bool done; /* else it was started */
  uint64_t index;
};

/* What a team answers to a finding: that it takes it, that it is wrong, or whose it is. */
enum response_kind { RESPONSE_ACCEPTED, RESPONSE_DISPUTED, RESPONSE_HANDED_ON, RESPONSE_KINDS };
const char *response_kind_text(enum response_kind kind);

struct board_response {
  enum response_kind kind;
  const char *by, *words, *time;
  const char *layer; /* that it was handed on to; "" */
  uint64_t index;
};

/* A change that was measured from one run to another; its effect follows from their summaries (board/work.h). */
struct board_iteration {
  const char *by, *change;
  bool interleaved;     /* as its entry says */
  size_t before, after; /* runs */
  uint64_t index;
};

struct board_finding {
  const char *by, *rule, *title, *named, *evidence, *rung;
  const char *layer, *owner;                        /* where it shows */
  const struct standing_confirmation *confirmation; /* the newest experiment of it; NULL: none */
  uint64_t index;
  char leaf[DIGEST_HEX];
  struct board_change *changes;
  size_t n_changes;
  struct board_response *responses;
  size_t n_responses;
  struct board_iteration *measured; /* changes that answer it */
  size_t n_measured;
};

/* Of one whose own entry has not come yet, contract is BOARD_NO_CONTRACT: what others said of it waits for that. */
#define BOARD_NO_CONTRACT SIZE_MAX
/* Of facts of executors, all together: what comes later is not found by them. */
#define BOARD_FACTS_BYTES ((size_t)128 << 20)
struct board_run {
  uint64_t index;
  size_t contract;
  const char *by, *label, *time; /* time: of its entry, by the signer's clock */
  const char *ended, *why;       /* "complete"; why it was not */
  bool answers;                  /* an intent of its own team */
  uint64_t first;                /* the first entry that brought it, whoever's */
  bool verifies;                 /* it was made to verify another */
  uint8_t root[DIGEST_BYTES], file[DIGEST_BYTES];
  bool has_file;
  const struct summary *summary; /* NULL: its entry carries none that counts here */
  struct standing_verification *verifications;
  size_t n_verifications, n_reproduced, n_not_reproduced, n_inconclusive;
  struct standing_contest *contests;
  size_t n_contests, n_open;
  struct board_finding *findings;
  size_t n_findings;
  struct board_iteration *iterations; /* changes whose effect it measured */
  size_t n_iterations;
};

/* Facts of an executor, which were proved by its fingerprint. */
struct board_executor {
  char fingerprint[DIGEST_HEX];
  struct board_fact {
    enum layer layer;
    const char *key, *value, *unit;
  } * facts; /* those with a value */
  size_t n_facts;
};

struct board_intent {
  const char *by, *host;
  uint64_t index;
  size_t contract;
  bool sealed; /* a bundle of the same team answers it */
};

struct board_contract {
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  const char *name, *text;         /* text NULL: its words are not in the ledger */
  const struct contract *contract; /* NULL: they cannot be read */
  struct standing_signature *signatures;
  size_t n_signatures;
  size_t *runs; /* in the order of the ledger */
  size_t n_runs, n_intents, n_sealed;
  uint64_t n_changes; /* grows whenever anything of it, or of its runs, may have changed */
  /* Figures over time, as of board_judge. */
  struct history history;
  struct coincidence *coincidences; /* one for each event */
  size_t n_judged;                  /* entries of runs that they are of */
};

struct board {
  struct arena arena;
  struct text_set texts; /* that many entries say alike */
  const char *address;   /* by which readers name the ledger in a command; given before the first update */
  char origin[NOTE_NAME_MAX];
  uint64_t n_entries;
  struct board_contract *contracts;
  size_t n_contracts, contracts_room;
  struct board_run *runs;
  size_t n_runs, runs_room;
  struct board_intent *intents;
  size_t n_intents, intents_room;
  struct board_executor *executors;
  size_t n_executors, executors_room, facts_bytes;
  uint64_t n_left_out; /* executors whose facts would have passed BOARD_FACTS_BYTES */
  struct digest_map by_executor;
  struct digest_map by_contract, by_root, by_intent, by_contest, by_finding;
  struct board_place {
    size_t run, item;
  } * contests, *findings;
  size_t n_contests, contests_room, n_findings, findings_room;
};

/* Entries from n_entries on, at most that many. False in *ret_more: it has all. What a ledger that was altered gives is an error, and the
 * board as it was before that entry. */
enum lynx_status board_update(struct board *board, struct ledger *ledger, size_t most, bool *ret_more,
                              struct lynx_error *error) LYNX_MUST_CHECK;
void board_release(struct board *board);

bool board_find_contract(const struct board *board, const uint8_t digest[DIGEST_BYTES], size_t *ret);
/* One whose own entry is there. */
bool board_find_run(const struct board *board, const uint8_t root[DIGEST_BYTES], size_t *ret);

/* By its fingerprint in hexadecimal; NULL: no entry has its facts. */
const struct board_executor *board_executor(const struct board *board, const char *fingerprint);

/* Its figures over time, and where they changed; nothing is done where no run came since. */
void board_judge(struct board *board, struct board_contract *contract);
/* What `lynxbench diff --json` says of the runs around an event. False: it is no such text. */
bool board_learn(struct board_contract *contract, size_t event, const char *json, size_t length);
/* Its figures for report's words. */
struct history_report board_report(const struct board_contract *contract);
/* When it began, in UTC; else when it was entered, by the signer's clock. text holds at least 32 bytes. */
const char *board_run_time(const struct board_run *run, char *text);
/* The figure to name first of a contract: a throughput of its first precision where there is one. NULL: no run has a figure. */
const struct history_series *board_headline(const struct board_contract *contract);
/* The value that a page shows of a series: that of the newest run that supports a claim; where none does, of the newest. What was run to
 * verify another run is said with that one, and counts here only where nothing else does. NULL: the series is empty. */
struct board_value {
  const struct history_value *value;
  const struct board_run *run;
  const char *no_claim;   /* why its run supports none; NULL: it does */
  size_t n_runs, n_newer; /* of those that count; n_newer: after it, without a claim */
};
bool board_value_of(const struct board *board, const struct board_contract *contract, const struct history_series *series,
                    struct board_value *ret);
/* Who of the contract's signatories signed it; ret_n: how many there are. */
size_t board_signed(const struct board_contract *contract, size_t *ret_n);
const struct standing_signature *board_signature_of(const struct board_contract *contract, const char *team);

#endif
