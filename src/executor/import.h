/* executor/import.h: executors as they stand in files: our captures, and what other tools wrote of a machine.
 * Shapes   lynxbench capture JSON; MLPerf system description (systems/ID.json); text of PyTorch's collect_env (and vLLM's, which
 *          begins with it); `nvidia-smi topo -m`; what the tools of devices print (executor/device_text.h)
 * Result   facts sorted; keys are ours where the meaning is the same, else "imported.NAME". What people typed is declared, not read;
 *          "N/A" is absent
 * Errors   INPUT: none of them; LIMIT: more than is accepted
 */
#ifndef EXECUTOR_IMPORT_H
#define EXECUTOR_IMPORT_H

#include "base/fact.h"

enum lynx_status capture_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
