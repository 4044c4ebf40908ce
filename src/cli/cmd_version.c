#include "base/status.h"
#include "cli/command.h"
#include "contract/contract.h"
#include "result/formula.h"
#include "record/bundle.h"

static int run(const struct arguments *arguments) {
  (void)arguments;
  (void)printf("lynxbench %s\ncontract version %d, bundle format %d, analysis %d\n", LYNX_VERSION, CONTRACT_VERSION, BUNDLE_FORMAT,
               ANALYSIS_VERSION);
  return EXIT_HOLDS;
}

const struct command command_version = {
    .name = "version", .summary = "versions of the program and its formats", .usage = "", .example = "build/lynxbench version", .run = run};
