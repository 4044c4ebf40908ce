/* executor/link_speeds.h: what the links of a machine's devices could carry, by what is known of the machine.
 * Units    bytes/s, each way
 * Result   the slowest link between two GPUs, as a whole is no faster; PCIe from the GPU's own most. 0: not known
 * Limits   the links' raw rates: what a copy or a collective can reach is some 80 to 95 % of them
 * Source   NVIDIA's white papers for a link of NVLink (20 GB/s of P100; 25 of V100, A100, H100, H200; 50 of B100 and later);
 *          PCI Express Base Specification for a lane, coding taken off */
#ifndef EXECUTOR_LINK_SPEEDS_H
#define EXECUTOR_LINK_SPEEDS_H

#include "base/fact.h"

struct link_speeds {
  double peer, host;
  char peer_text[80], host_text[80]; /* "NV18: 18 links of 25 GB/s"; "" where not known */
};

void link_speeds_of(const struct fact_list *facts, struct link_speeds *ret);

#endif
