/* attribute/live_roofline.h: how near a run came to the ceilings that `lynxbench calibrate` measured on its machine.
 * Units    bytes, operations (a multiplication and an addition are two), seconds
 * Source   MBU: bytes of weights that each step must read / TPOT, by the memory's triad; MFU: 2 operations for each parameter and token, by
 *          the arithmetic of the type in which the run computed (Chowdhery et al., PaLM, appendix B, without attention's own share)
 * Limits   all requests in flight are taken to share a pass over the weights: a server that does not batch reads more, and so MBU is at
 *          least what is said. Caches may hold a small model: beyond 1 the memory is not what is read */
#ifndef ATTRIBUTE_LIVE_ROOFLINE_H
#define ATTRIBUTE_LIVE_ROOFLINE_H

#include "attribute/live_shape.h"

/* ceilings: the record that the run carries, as JSON; NULL: none. */
void live_roofline_read(struct live *live, const char *ceilings);

#endif
