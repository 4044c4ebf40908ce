/* result/question_answer.h: the answer to the question that a contract asks: one rule for each kind of question.
 *
 * It is the one place that words an answer. Text, claim, report, JSON, pages and comparison show what it gives.
 * Shapes   one sentence, and five tiles: what was promised, and what was measured
 * Result   where a rule has no figure there is no answer, why there is none, and what would give one. No tile divides a demand by a
 *          capacity: how many executors a demand takes follows from times in queues (decide/fleet.h)
 * Memory   texts live in the arena, or as long as contract and summaries */
#ifndef RESULT_QUESTION_ANSWER_H
#define RESULT_QUESTION_ANSWER_H

#include "result/effect.h"

enum answer_state {
  ANSWER_NONE,           /* no answer yet: why */
  ANSWER_MEASURED,       /* by the run, as its bundle shows */
  ANSWER_NOT_AS_ORDERED, /* measured, and something is not what was ordered or promised */
  ANSWER_VERIFIED,       /* another team measured the same; a ledger shows it (board/meeting.h) */
  ANSWER_CONTESTED       /* a contest is open, or another team measured something else; the same */
};
const char *answer_state_text(enum answer_state state);
const char *answer_state_class(enum answer_state state); /* of markup: "verified" */
const char *answer_state_icon(enum answer_state state);
const char *answer_state_meaning(enum answer_state state); /* in a few words; "" */

enum tile_state {
  TILE_NOT_ASKED,    /* the contract promises nothing; what was measured is shown all the same */
  TILE_NOT_COMPUTED, /* it takes another command: next */
  TILE_UNKNOWN,      /* it was promised, and nothing was measured that shows it */
  TILE_KEPT,
  TILE_MISSED
};
const char *tile_state_text(enum tile_state state);

struct answer_tile {
  const char *name, *promised, *measured; /* promised, measured: "" where nothing is */
  const char *asks;                       /* what the promise is called: "promised", "objective", "demand", "ordered" */
  enum tile_state state;
  const char *next; /* the command or field that would fill it; "" */
};

/* Its state, beside what was measured. */
const char *tile_words(const struct answer_tile *tile);

enum { TILE_CAPACITY, TILE_LATENCY, TILE_COST, TILE_EXECUTORS, TILE_ORDERED, ANSWER_TILES };

struct answer {
  enum question_kind kind;
  const char *question; /* in the contract's words; else in the kind's */
  enum answer_state state;
  const char *sentence;                 /* the answer, or that there is none yet and why */
  const char *why;                      /* NONE: why there is none; "" */
  const char *next;                     /* NONE: what would answer it; "" */
  const char *precision;                /* whose figures answer it; "" */
  const struct effect_measured *effect; /* BETTER, with a run before: in the arena; NULL */
  struct answer_tile tiles[ANSWER_TILES];
};

/* What limits the executor, as a diagnosis found it. */
struct answer_finding {
  const char *title, *whose, *rung; /* "Threads wait for a lock"; "serving, ML platform"; "suspected" */
  bool confirmed;                   /* by an experiment: rung says as what */
};

struct answer_evidence {
  const struct contract *contract;      /* NULL: its words are not known */
  const struct summary *summary;        /* of the run; NULL: nothing is measured */
  const struct summary *before;         /* of the run before a change; NULL: none */
  bool interleaved;                     /* their sessions were run in turn */
  const struct answer_finding *finding; /* NULL: none is known */
  const char *file;                     /* how the run's bundle is called in a command */
};

void answer_make(const struct answer_evidence *evidence, struct arena *arena, struct answer *ret);

/* Of a run by itself, in its arena. */
void answer_of_result(struct result *result, struct answer *ret);

/* For a reason that lies outside of the run: there is no answer. why outlives it. */
void answer_refuse(struct answer *answer, const char *why);

/* As a member "answer" of an object that is open. */
void answer_write(const struct answer *answer, struct json_writer *json);

#endif
