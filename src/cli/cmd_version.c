#include <curl/curl.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/cage.h"
#include "base/program.h"
#include "base/status.h"
#include "cli/command.h"
#include "contract/contract.h"
#include "result/formula.h"
#include "record/bundle.h"

enum { FLAG_VERBOSE };

static const struct option_spec options[] = {
    [FLAG_VERBOSE] = SWITCH(
        "verbose", "the libraries, the programs that it starts and from where, and what of the cage around readers this kernel cannot do")};

static int run(const struct arguments *arguments) {
  static const struct root root = {""};
  const char *lacks = cage_lacks();
  say("lynxbench %s\ncontract version %d, bundle format %d, analysis %d\n", LYNX_VERSION, CONTRACT_VERSION, BUNDLE_FORMAT,
      ANALYSIS_VERSION);
  if (arguments->option[FLAG_VERBOSE] == NULL) return EXIT_HOLDS;
  say("libraries: SQLite %s, jansson %s, %s, %s\n", sqlite3_libversion(), jansson_version_str(), OpenSSL_version(OPENSSL_VERSION),
      curl_version());
  for (int i = 0; i < PROGRAMS; i++) {
    char path[PATH_MAX], why[PATH_MAX + 300];
    bool found = program_find((enum program_id)i, &root, NULL, path, why, sizeof why);
    say("program that lynxbench starts: %s, for %s: %s\n", programs[i].name, programs[i].what_for, found ? path : why);
  }
  say("cage around show, claim, export, diff, attribute, audit, report, import and pull: %s\n", lacks[0] != 0 ? lacks : "whole");
  return EXIT_HOLDS;
}

const struct command command_version = {.name = "version",
                                        .summary = "print the versions of the program and its formats",
                                        .usage = "",
                                        .options = options,
                                        .n_options = LYNX_COUNT(options),
                                        .example = "build/lynxbench version --verbose",
                                        .run = run};
