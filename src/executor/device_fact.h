/* executor/device_fact.h: a value as a device's own tool prints it, as a fact in our units.
 * Shapes   "312.50 W" -> 312500 mW, "24576 MiB" -> bytes, "Enabled" -> 1; what a tool prints for nothing ("N/A", "[Not Supported]") is
 *          unsupported, and what is not understood absent: neither is 0 */
#ifndef EXECUTOR_DEVICE_FACT_H
#define EXECUTOR_DEVICE_FACT_H

#include "base/fact.h"

enum device_form {
  DEVICE_TEXT,
  DEVICE_NUMBER,       /* "P0", "16x", "4" */
  DEVICE_MEBIBYTES,    /* also where a tool says MB and means MiB */
  DEVICE_MILLIWATTS,   /* 0 W is nothing: of a second die, or not known */
  DEVICE_SWITCH,       /* Enabled, On, Disabled, Off */
  DEVICE_COMPUTE_MODE, /* 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process */
  DEVICE_GENERATION    /* of PCIe, by "16.0 GT/s" */
};

struct device_field {
  const char *key, *unit;
  enum device_form form;
  enum layer layer;
  enum fact_kind kind;
};

void device_fact_add(struct fact_list *list, const struct device_field *field, const char *value, const char *source);

#endif
