#include <stdio.h>

#include "cli/command.h"
#include "base/shell.h"
#include "record/bundle.h"

static int run(const struct arguments *arguments) {
  struct lynx_error error = {0};
  const char *path = arguments->positional[0];
  struct bundle *bundle;
  struct bundle_seal_info seal;
  if (bundle_recover(path, &error) != LYNX_OK || bundle_open(path, &bundle, &seal, &error) != LYNX_OK) return report_error(&error);
  bundle_close(bundle);
  say("%s: %s\nnext: lynxbench show %s\n", path,
      seal.end == BUNDLE_UNSEALED ? "recovered; its run was ended before it could seal it, so that it is incomplete"
                                  : "recovered; it is sealed",
      shell_word(path));
  return EXIT_HOLDS;
}

const struct command command_recover = {
    .name = "recover",
    .summary = "close the file of a killed run, so that it can be read",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .details = "A run that is killed leaves a log (BUNDLE-wal) beside its file, with what it recorded last. This puts it into the file.\n"
               "It is a command of its own, since opening a file to change it lets its log do that: never recover a file that somebody\n"
               "else sent. A log that names other files is refused.",
    .example = "rm -f /tmp/r.lynx*; timeout -s KILL 1 build/lynxbench run examples/null.yaml --out /tmp/r.lynx --quiet; "
               "sleep 1; build/lynxbench recover /tmp/r.lynx",
    .run = run};
