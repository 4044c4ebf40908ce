/* result/result_private.h: what the files of a result share. */
#ifndef RESULT_RESULT_PRIVATE_H
#define RESULT_RESULT_PRIVATE_H

#include "result/result.h"

struct values {
  double *at;
  size_t n, room;
};
void values_add(struct values *values, double value);
void values_release(struct values *values);

/* What one request is to the figures; false: its row is not what the format holds. */
struct seen_request {
  enum outcome outcome;
  bool counted, warm_up, ok;
};
bool result_see(const struct bundle_request *request, struct seen_request *ret);

/* A copy of every session row, in the result's arena. */
struct session_list {
  struct bundle_session *items;
  size_t n_items;
};

struct interval result_interval(const double *x, size_t n, double confidence); /* infinite values make it infinite */

/* steady_window.c: fills in `steady` of the complete sessions of a precision, and of the precision. rows[i] is that of sessions[i]. */
enum lynx_status result_judge_steady(struct bundle *bundle, struct result *result, struct result_precision *p,
                                     const struct bundle_session *const *rows, struct lynx_error *error);
/* points.c: the loads of a search, and its certificate. */
enum lynx_status result_judge_points(struct bundle *bundle, struct result *result, struct result_precision *p,
                                     const struct session_list *sessions, struct lynx_error *error);
/* check_verdicts.c */
enum lynx_status result_judge_checks(struct bundle *bundle, struct result *result, struct result_precision *p,
                                     const struct session_list *sessions, struct lynx_error *error);
/* phases.c */
enum lynx_status result_judge_phases(struct bundle *bundle, struct result *result, struct result_precision *p, struct lynx_error *error);
/* accuracy.c: every precision at once: they are held against one another. */
enum lynx_status result_judge_accuracy(struct bundle *bundle, struct result *result, struct lynx_error *error);
/* represent.c: the distance to the profile in the record. */
enum lynx_status result_judge_distance(struct bundle *bundle, struct result *result, struct result_precision *p, struct lynx_error *error);

#endif
