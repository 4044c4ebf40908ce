/* stats/special.h: the special functions that intervals need.
 *
 * stats holds pure functions on numbers; no I/O, no clock, no random source, and no libm in anything that reaches a result:
 * logarithm and exponential here use only IEEE additions, multiplications and divisions, so every machine gets the same bits
 * (built with -ffp-contract=off).
 * Accuracy  log, exp: 2e-16 relative; incomplete beta: 1e-12 against published tables (tests/unit/test_special.c)
 * Source    normal distribution by its power series and continued fraction (DLMF 7.6.2, 7.9.1); incomplete beta by Lentz's continued
 * fraction (DLMF 8.17.22); ln Γ by Stirling's series (DLMF 5.11.1) */
#ifndef STATS_SPECIAL_H
#define STATS_SPECIAL_H

double special_log(double x);                               /* x > 0 */
double special_exp(double x);                               /* |x| < 700 */
double special_percent(double ln);                          /* what a difference of ln is of the ratio less one; NaN beyond 600 */
double special_log_gamma(double x);                         /* x > 0 */
double special_beta_cdf(double x, double a, double b);      /* I_x(a,b); 0 <= x <= 1; a, b > 0 */
double special_beta_quantile(double p, double a, double b); /* 0 <= p <= 1; by bisection */
double special_t_cdf(double t, double freedom);             /* P(T <= t) */
double special_t_quantile(double p, double freedom);        /* 0 < p < 1; by bisection on the distribution function */
double special_binomial_cdf(long k, long n, double p);      /* P(B <= k); k < 0 gives 0 */
double special_normal_cdf(double z);                        /* P(Z <= z) */
double special_normal_quantile(double p);                   /* 0 < p < 1; by bisection */

#endif
