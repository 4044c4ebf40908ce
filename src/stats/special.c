#include "stats/special.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

double special_log(double x) {
  /* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m-1)/(m+1)) by its series. frexp only moves bits. */
  int e;
  double m = frexp(x, &e);
  if (m < 0.70710678118654752) {
    m *= 2;
    e--;
  }
  double z = (m - 1) / (m + 1), z2 = z * z, term = z, sum = 0;
  for (int k = 1; k < 60; k += 2) {
    sum += term / k;
    term *= z2;
    if (term == 0) break;
  }
  const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10; /* split so that e * high is exact */
  return e * ln2_high + (2 * sum + e * ln2_low);
}

double special_exp(double x) {
  const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  double k = floor(x / 0.69314718055994530942 + 0.5);
  double r = (x - k * ln2_high) - k * ln2_low, term = 1, sum = 1;
  for (int i = 1; i < 24; i++) {
    term *= r / i;
    sum += term;
  }
  return ldexp(sum, (int)k);
}

double special_percent(double ln) {
  return ln > -600 && ln < 600 ? 100 * (special_exp(ln) - 1) : NAN;
}

double special_log_gamma(double x) {
  double product = 1;
  while (x < 16) { /* Γ(x) = Γ(x+1)/x until the series is exact to the last bits; at most 15!, or 1/x times it */
    product *= x;
    x += 1;
  }
  static const double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  double sum = 0, power = 1 / x;
  for (unsigned i = 0; i < sizeof series / sizeof series[0]; i++) {
    sum += series[i] * power;
    power /= x * x;
  }
  return (x - 0.5) * special_log(x) - x + 0.91893853320467274178 + sum - special_log(product);
}

static double beta_fraction(double x, double a, double b) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (fabs(d) < tiny) d = tiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < 10000; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d;
    c = 1 + even / c;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    c = fabs(c) < tiny ? tiny : c;
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d;
    c = 1 + odd / c;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    c = fabs(c) < tiny ? tiny : c;
    double step = d * c;
    h *= step;
    if (fabs(step - 1) < 1e-15) break;
  }
  return h;
}

double special_beta_cdf(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  double front = special_log_gamma(a + b) - special_log_gamma(a) - special_log_gamma(b) + a * special_log(x) + b * special_log(1 - x);
  double scale = front < -690 ? 0 : special_exp(front);
  if (x < (a + 1) / (a + b + 2)) return scale * beta_fraction(x, a, b) / a;
  return 1 - scale * beta_fraction(1 - x, b, a) / b;
}

double special_beta_quantile(double p, double a, double b) {
  double low = 0, high = 1;
  for (int i = 0; i < 200; i++) {
    double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (special_beta_cdf(middle, a, b) < p) low = middle;
    else high = middle;
  }
  return low + (high - low) / 2;
}

double special_t_cdf(double t, double freedom) {
  double tail = special_beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

double special_t_quantile(double p, double freedom) {
  if (p == 0.5) return 0;
  double low = -1, high = 1;
  while (special_t_cdf(low, freedom) > p && low > -1e12) low *= 2;
  while (special_t_cdf(high, freedom) < p && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && low < high; i++) {
    double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    if (special_t_cdf(middle, freedom) < p) low = middle;
    else high = middle;
  }
  return low + (high - low) / 2;
}

double special_binomial_cdf(long k, long n, double p) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return special_beta_cdf(1 - p, (double)(n - k), (double)k + 1);
}

/* 1 - P(Z <= z) for z >= 0. */
static double normal_tail(double z) {
  double density = z > 37 ? 0 : special_exp(-z * z / 2) * 0.39894228040143267794;
  if (z < 3) {
    double term = z, sum = z;
    for (int k = 3; k < 400 && term > 1e-18 * sum; k += 2) {
      term *= z * z / k;
      sum += term;
    }
    return 0.5 - density * sum;
  }
  double fraction = z;
  for (int k = 120; k >= 1; k--) fraction = z + k / fraction;
  return density / fraction;
}

double special_normal_cdf(double z) {
  return z < 0 ? normal_tail(-z) : 1 - normal_tail(z);
}

double special_normal_quantile(double p) {
  if (p == 0.5) return 0;
  double target = p < 0.5 ? p : 1 - p, low = 0, high = 38; /* by the tail, where there is precision */
  for (int i = 0; i < 200; i++) {
    double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    if (normal_tail(middle) > target) low = middle;
    else high = middle;
  }
  return p < 0.5 ? -low : low;
}
