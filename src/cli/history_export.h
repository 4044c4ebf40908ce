/* cli/history_export.h: `history --export`: the newest figures for Prometheus or OpenTelemetry. */
#ifndef CLI_HISTORY_EXPORT_H
#define CLI_HISTORY_EXPORT_H

#include "cli/command.h"

struct export_wanted {
  bool otlp;              /* JSON; else Prometheus's text, version 0.0.4 */
  const char *out, *send; /* a file, NULL: standard output; a collector's address, NULL */
  const char *contract;   /* of folders and bundles: only this one; NULL */
  bool quiet;
};

/* Of the sources that the arguments name. An exit code: 2 a source cannot be read, 3 there is nothing to show, 4 the file cannot be written,
 * 5 the collector did not take it. */
int history_export(const struct arguments *arguments, const struct export_wanted *wanted);

#endif
