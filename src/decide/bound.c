#include "decide/bound.h"

#include <math.h>

double bound_serial(const struct resource_bound *of, size_t n) {
  double left = 1;
  for (size_t i = 0; i < n; i++) left -= of[i].elasticity * (1 - 1 / of[i].factor);
  return left > 0 ? 1 / left : INFINITY;
}

double bound_concave(const struct resource_bound *of, size_t n) {
  double gain = 1;
  for (size_t i = 0; i < n; i++) {
    double e = of[i].elasticity, s = of[i].slowness;
    gain += (of[i].factor - 1) * e * s / (1 + e * (s - 1));
  }
  return gain;
}

double bound_factor(const struct resource_bound *of, size_t n) {
  double most = 1;
  for (size_t i = 0; i < n; i++) most = fmax(most, of[i].factor);
  return most;
}

double bound_elasticity_at(double gain, double s, double factor) {
  double k = (gain - 1) / (factor - 1); /* E s / (1 + E (s - 1)) */
  double e = k / (s - k * (s - 1));
  return k > 0 && k <= 1 ? e : NAN;
}
