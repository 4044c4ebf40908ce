/* result/profile.h: the real workload, as numbers: how long requests are, how they come, how many run at once, how much of their
 * prompts they share. And how far what was run is from it.
 *
 * Shapes   prompt_tokens[n], output_tokens[n]: pairs of the same request, in order of time; gaps[m]: of the mean gap (1 = mean), ascending
 * Units    tokens; requests/s; a share for prefix_reuse; NaN: not known
 * Result   distances: Kolmogorov-Smirnov's D of the distributions, in [0, 1]; concurrency: run / profile; prefix reuse: difference of
 *          shares. NaN where either side does not know
 * Errors   reading INPUT: not a profile of this version, or changed after it was signed */
#ifndef RESULT_PROFILE_H
#define RESULT_PROFILE_H

#include "result/request_log.h"

enum { PROFILE_PAIRS_MAX = 4096, PROFILE_GAPS_MAX = 1024 };

struct profile {
  struct arena arena;
  const char *source;    /* what it was made of, in words */
  const char *taken_at;  /* when it was made */
  const char *from, *to; /* the time it covers; "" where the source has no dates */
  int64_t n_requests;
  double rate_per_s, gap_variation; /* squared coefficient of variation: 1 is Poisson */
  double *prompt_tokens, *output_tokens;
  size_t n_pairs;
  double *gaps;
  size_t n_gaps;
  double mean_concurrency, prefix_reuse;
  const char *signed_by; /* the public key whose signature it carries, checked when it was read; "" where it carries none */
};

/* Pairs and gaps are thinned evenly over time to the limits above. */
void profile_of_log(const struct request_log *log, const char *source, const char *taken_at, struct profile *ret);
/* From an observation: what the server counted between two readings of its metrics, seconds apart, and how many requests were in it
 * (sampled). Lengths are the middles of the histograms' buckets, prompt and output taken as independent. counts: requests finished in
 * each reading's interval; their dispersion stands for that of the gaps. */
struct observation {
  struct bytes before, after;
  double seconds, mean_in_system;
  const double *counts;
  size_t n_counts;
};
enum lynx_status profile_of_observation(const struct observation *observation, const char *source, const char *taken_at,
                                        struct profile *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Without a signature; with one it is profile_sign's. */
bool profile_write(const struct profile *profile, struct buffer *ret);
/* Signed, Ed25519, over exactly what profile_write gives. */
enum lynx_status profile_sign(const struct profile *profile, struct bytes private_pem, struct buffer *ret,
                              struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status profile_read(const char *text, size_t length, struct profile *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void profile_release(struct profile *profile);

struct profile_distance {
  double prompt_length, output_length, arrivals, concurrency_ratio, prefix_reuse;
};

struct profile_distance profile_compare(const struct profile *run, const struct profile *real);

#endif
