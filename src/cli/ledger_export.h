/* cli/ledger_export.h: a ledger as a folder of static files, for any web server to serve (ledger/tile.h). */
#ifndef CLI_LEDGER_EXPORT_H
#define CLI_LEDGER_EXPORT_H

#include "cli/ledger_file.h"

/* Writes what is not there yet; the checkpoint last, so that whoever reads meanwhile finds all that it signs. False: reported. */
bool ledger_export(struct ledger_file *file, const char *folder);

#endif
