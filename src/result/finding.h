/* result/finding.h: a bottleneck or a remediable cause: where it shows, whose layers contribute, by what evidence, and what was not
 * established. */
#ifndef RESULT_FINDING_H
#define RESULT_FINDING_H

#include "base/layer.h"

/* How strong its evidence is. Confirmed means one of the last three; before them it is only suspected. */
enum rung { RUNG_COINCIDED, RUNG_ACCOUNTED, RUNG_PERTURBED, RUNG_SWAPPED_BACK, RUNG_FACTORIAL };

enum { FINDING_TEXT = 480 };

struct finding {
  const char *id;    /* of the rule: "launch_bound" */
  const char *title; /* one clause */
  enum rung rung;
  enum layer symptom;      /* where it shows */
  unsigned contributing;   /* 1 << layer for each that may hold a cause */
  char named[240];         /* the function, setting or process that it is about: "encode (/srv/app.py:188)"; "": none is known */
  char process[64];        /* the program whose threads it is about; "": the server's */
  const char *perturber;   /* what `lynxbench confirm` tries (src/experiment/perturbers); NULL: nothing yet, only by hand */
  const char *slowed;      /* of `function`: which one; NULL: that which is named */
  const char *otherwise;   /* the same where that one cannot be; NULL */
  const char *confirm_by;  /* what `lynxbench confirm` must be given for it, behind the finding; "", NULL: nothing more */
  double share;            /* of the window's time that it concerns, 0 to 1 */
  bool bounded;            /* is there a bound on the gain? */
  double bound;            /* at most that share of the window's time could go */
  const char *bound_holds; /* why, or why there is none */
  char evidence[FINDING_TEXT], open[FINDING_TEXT], next[FINDING_TEXT], confirm[FINDING_TEXT];
  char experiment[FINDING_TEXT]; /* what experiments of it in a ledger said, and how that agrees with the account; "": none is known */
  bool refuted;                  /* by the last of them; confirmed is by its rung */
};

static inline const char *rung_text(enum rung rung) {
  static const char *const texts[] = {"coincided", "accounted", "perturbed", "swapped back", "factorial"};
  return texts[rung];
}

static inline const char *finding_status(const struct finding *finding) {
  return finding->refuted ? "refuted" : finding->rung >= RUNG_PERTURBED ? "confirmed" : "suspected";
}

#endif
