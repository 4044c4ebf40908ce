#include <curl/curl.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/cage.h"
#include "base/program.h"
#include "base/status.h"
#include "cli/output.h"
#include "cli/version.h"
#include "contract/contract.h"
#include "result/formula.h"
#include "record/bundle.h"

int print_version(bool verbose) {
  static const struct root root = {""};
  const char *lacks = cage_lacks();
  say("lynxbench %s\ncontract version %d, bundle format %d, analysis %d\n", LYNX_VERSION, CONTRACT_VERSION, BUNDLE_FORMAT,
      ANALYSIS_VERSION);
  if (!verbose) return EXIT_HOLDS;
  say("libraries: SQLite %s, jansson %s, %s, %s\n", sqlite3_libversion(), jansson_version_str(), OpenSSL_version(OPENSSL_VERSION),
      curl_version());
  for (int i = 0; i < PROGRAMS; i++) {
    char path[PATH_MAX], why[PATH_MAX + 300];
    bool found = program_find((enum program_id)i, &root, NULL, path, why, sizeof why);
    say("program that lynxbench starts: %s, for %s: %s\n", programs[i].name, programs[i].what_for, found ? path : why);
  }
  say("cage around show, export, diff, attribute, audit, import and ledger pull: %s\n", lacks[0] != 0 ? lacks : "whole");
  return EXIT_HOLDS;
}
