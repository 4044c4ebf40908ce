/* result/instruments.h: why two instruments differ that measured one server: which of what they did unlike explains how much.
 *
 * Shapes   a side is what another tool wrote, a bundle of ours, or the server's own metrics page before and after
 * Result   for each figure that both state, the ratio B / A, and the factors of it that follow from how each measured: the formula
 *          (computed again from a side's own requests, where it has them), tokens of an answer, the offered rate, empty slots of a closed
 *          loop, the first requests. What is left is the ratio without them. Differences whose effect nobody can compute are named
 * Limits   factors say what would follow; that the server was the same, and served one side at a time, the files do not say
 * Source   docs/method.md#instruments */
#ifndef RESULT_INSTRUMENTS_H
#define RESULT_INSTRUMENTS_H

#include "base/buffer.h"
#include "result/import_result.h"
#include "result/result.h"

enum { INSTRUMENT_FACTORS = 5, INSTRUMENT_FIGURES_MAX = 48, INSTRUMENT_TRAITS_MAX = 16 };

/* What a tool does by itself, in words. */
struct instrument_habits {
  const char *tool;      /* as the ids of its formulas begin: "vllm" */
  const char *clock;     /* when a request's time begins */
  const char *first;     /* what it takes for the first token; NULL: it knows none */
  const char *tokens;    /* who counts tokens; NULL: nobody */
  const char *window;    /* over which time a rate is */
  const char *late_sent; /* what becomes of a request that is sent late (coordinated omission) */
  bool counts_all;       /* in its requests per second, failed ones, too */
};

struct instrument {
  struct imported m;
  const struct instrument_habits *habits;
  bool of_server; /* its own metrics: of whoever asked */
  const char *name;
  int streamed;         /* 1, 0; -1: not said */
  const char *lateness; /* of the client, in words */
};

enum instrument_kind {
  KIND_REQUESTS,
  KIND_OUTPUT,
  KIND_TOKENS,
  KIND_FIRST,
  KIND_TOKEN,
  KIND_GAP,
  KIND_WHOLE,
  KIND_COUNTS,
  KIND_OTHER_RATE
};

struct instrument_factor {
  const char *what; /* "256 and 507 tokens an answer" */
  double factor;
};

enum instrument_status { INSTRUMENT_AGREES, INSTRUMENT_EXPLAINED, INSTRUMENT_OPEN };

struct instrument_figure {
  enum instrument_kind kind;
  const char *title, *statistic; /* "time to first token", "mean"; "" of rates */
  const char *formula_a, *formula_b;
  double a, b; /* seconds, or 1/s, or counts */
  double ratio, left;
  bool judged; /* one statistic of each kind: the verdict rests on it */
  struct instrument_factor factors[INSTRUMENT_FACTORS];
  size_t n_factors;
  enum instrument_status status;
};

/* One thing that both did, and how. */
struct instrument_trait {
  const char *what, *a, *b;
  bool differs;
  unsigned bears_on; /* bits of enum instrument_kind: figures that it can change by an amount that nobody can compute; 0: none */
};

enum instruments_verdict { INSTRUMENTS_AGREE, INSTRUMENTS_EXPLAINED, INSTRUMENTS_OPEN, INSTRUMENTS_APART };

struct instruments {
  struct arena arena;
  struct instrument_figure figures[INSTRUMENT_FIGURES_MAX];
  struct instrument_trait traits[INSTRUMENT_TRAITS_MAX];
  size_t n_figures, n_traits;
  double margin;
  enum instruments_verdict verdict;
  bool counts_unlike;                    /* one side's answers have more tokens, and take no longer: they are probably counted unlike */
  const struct instrument_figure *named; /* the verdict's; NULL: they have no figure in common */
};

/* Of a bundle: the counted requests of its first precision that ran, and its figures. INPUT: none went well. */
enum lynx_status instrument_of_bundle(struct bundle *bundle, const struct result *result, const char *path, struct instrument *ret,
                                      struct lynx_error *error) LYNX_MUST_CHECK;
/* Of a server's metrics page before and after. INPUT: no counter of a known server; one that went back. */
enum lynx_status instrument_of_server(struct bytes before, struct bytes after, const char *path, struct instrument *ret,
                                      struct lynx_error *error) LYNX_MUST_CHECK;
/* Takes over what was imported. */
void instrument_of_import(const struct imported *imported, struct instrument *ret);
void instrument_release(struct instrument *instrument);

/* margin: within it two figures agree. */
void instruments_judge(const struct instrument *a, const struct instrument *b, double margin, struct instruments *ret);
void instruments_release(struct instruments *instruments);

const char *instruments_verdict_text(enum instruments_verdict verdict);
const char *instrument_status_text(enum instrument_status status);

#endif
