/* lynxbench.h: what programs read with lynxbench: contracts, captures, sealed bundles, their figures and claims, audits.
 *
 * Shapes   texts are JSON in UTF-8, as the command of the same name prints it with --json (docs/library.md); lynxbench_free frees them
 * Errors   a status, and in *error the place and the words; error may be NULL. *ret is set on LYNXBENCH_OK alone
 * Memory   a bundle is the caller's until lynxbench_bundle_close. Where there is no memory for a small thing the process ends with 70,
 *          and so it does where a check of ours fails: this is a library for tools, not for servers of others
 * Threads  a bundle belongs to one thread at a time; different bundles may be read at once
 * Trust    a file may be anybody's: it is checked, bounded, and never run. The commands read in a cage (SECURITY.md); here there is none
 * Stable   what is declared here, from 0.4 on, within one number of the library; JSON may gain members */
#ifndef LYNXBENCH_H
#define LYNXBENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef LYNXBENCH_API
#define LYNXBENCH_API __attribute__((visibility("default")))
#endif

enum lynxbench_status {
  LYNXBENCH_OK = 0,
  LYNXBENCH_INPUT = 1,       /* what was given is not what it should be, or was altered */
  LYNXBENCH_NOT_FOUND = 2,   /* there is no such file or process */
  LYNXBENCH_SYSTEM = 3,      /* the operating system refused: disk, permission */
  LYNXBENCH_UNSUPPORTED = 4, /* this version or machine cannot do it */
};

struct lynxbench_error {
  int line; /* 0 where a line means nothing */
  char file[256], field[128];
  char message[640]; /* what was found, what would be accepted */
};

/* "0.4.0" */
LYNXBENCH_API const char *lynxbench_version(void);
LYNXBENCH_API void lynxbench_free(char *text); /* accepts NULL */

/* --- sealed bundles --- */

struct lynxbench_bundle;

/* Checks every digest, and computes the figures from the raw rows. */
LYNXBENCH_API enum lynxbench_status lynxbench_bundle_open(const char *path, struct lynxbench_bundle **ret, struct lynxbench_error *error);
LYNXBENCH_API void lynxbench_bundle_close(struct lynxbench_bundle *bundle); /* accepts NULL */

/* The bundle's identity, 64 hexadecimal digits; lives as long as the bundle. */
LYNXBENCH_API const char *lynxbench_bundle_root(const struct lynxbench_bundle *bundle);
/* The figures: `lynxbench show --json`. */
LYNXBENCH_API enum lynxbench_status lynxbench_bundle_result(struct lynxbench_bundle *bundle, char **ret, struct lynxbench_error *error);
/* A sentence for each precision, or why there is none: `lynxbench show --json --claim`. */
LYNXBENCH_API enum lynxbench_status lynxbench_bundle_claims(struct lynxbench_bundle *bundle, char **ret, struct lynxbench_error *error);
/* The contract that it ran, as it was written (YAML). */
LYNXBENCH_API enum lynxbench_status lynxbench_bundle_contract(struct lynxbench_bundle *bundle, char **ret, struct lynxbench_error *error);
/* What a re-run of its contract decides: `lynxbench verify SEALED --against AGAIN --json`. One that decides nothing (another contract, an
 * incomplete run, bad conditions) is an INPUT error that says why. Nothing is run here. */
LYNXBENCH_API enum lynxbench_status lynxbench_bundle_verify(struct lynxbench_bundle *sealed, struct lynxbench_bundle *again, char **ret,
                                                            struct lynxbench_error *error);
/* Does all of it hold? Offline, without a ledger: `lynxbench audit --json`. A failed check is no error. */
LYNXBENCH_API enum lynxbench_status lynxbench_audit(const char *path, char **ret, struct lynxbench_error *error);

/* --- contracts, and the executor --- */

/* All problems of a contract's text (YAML), its grade and digest: `lynxbench lint --json`. Problems are no error. Files that it names are
 * not looked for. */
LYNXBENCH_API enum lynxbench_status lynxbench_contract_check(const char *text, size_t length, char **ret, struct lynxbench_error *error);

/* What of the executor is visible from here: of the process, and the server at the URL; each may be left out (0, NULL). It asks the server
 * nothing, and loads no library of it: `lynxbench capture --json --quiet-routes`. */
LYNXBENCH_API enum lynxbench_status lynxbench_capture(int64_t pid, const char *url, char **ret, struct lynxbench_error *error);

#ifdef __cplusplus
}
#endif

#endif
