/* The shared library: the same functions as the commands call, behind names that stay. */
#include "library/lynxbench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "executor/capture.h"
#include "measure/setup.h"
#include "report/audit_report.h"
#include "report/claim_json.h"
#include "report/contract_json.h"
#include "report/verification_report.h"
#include "result/result.h"

enum { TEXT_MAX = 64 << 20 };

struct lynxbench_bundle {
  struct bundle *bundle;
  struct bundle_seal_info seal;
  struct result result;
};

const char *lynxbench_version(void) {
  return LYNX_VERSION;
}

void lynxbench_free(char *text) {
  free(text);
}

static enum lynxbench_status status_of(enum lynx_status status) {
  switch (status) {
    case LYNX_OK: return LYNXBENCH_OK;
    case LYNX_NOT_FOUND: return LYNXBENCH_NOT_FOUND;
    case LYNX_IO: return LYNXBENCH_SYSTEM;
    case LYNX_UNSUPPORTED: return LYNXBENCH_UNSUPPORTED;
    default: return LYNXBENCH_INPUT;
  }
}

static enum lynxbench_status told(enum lynx_status status, const struct lynx_error *own, struct lynxbench_error *error) {
  if (error != NULL) {
    *error = (struct lynxbench_error){.line = own->line};
    (void)snprintf(error->file, sizeof error->file, "%s", own->file);
    (void)snprintf(error->field, sizeof error->field, "%s", own->field);
    (void)snprintf(error->message, sizeof error->message, "%s", own->message);
  }
  return status_of(status);
}

/* Takes the buffer. */
static enum lynxbench_status take_text(struct buffer *text, bool good, char **ret, struct lynxbench_error *error) {
  struct lynx_error own = {0};
  enum lynx_status status = LYNX_OK;
  char *copy = good && text->data != NULL ? strdup(text->data) : NULL;
  if (copy == NULL) status = lynx_fail(&own, LYNX_IO, "the text does not fit into memory");
  else *ret = copy;
  buffer_release(text);
  return told(status, &own, error);
}

/* --- sealed bundles --- */

enum lynxbench_status lynxbench_bundle_open(const char *path, struct lynxbench_bundle **ret, struct lynxbench_error *error) {
  struct lynx_error own = {0};
  struct lynxbench_bundle *b = xalloc(1, sizeof *b);
  enum lynx_status status = access(path, F_OK) == 0 ? bundle_open(path, &b->bundle, &b->seal, &own)
                                                    : lynx_fail(&own, LYNX_NOT_FOUND, "there is no such file");
  if (status == LYNX_OK) status = result_compute(b->bundle, &b->seal, &b->result, &own);
  lynx_error_at(&own, path, 0, NULL);
  if (status == LYNX_OK) *ret = b;
  else {
    bundle_close(b->bundle);
    free(b);
  }
  return told(status, &own, error);
}

void lynxbench_bundle_close(struct lynxbench_bundle *b) {
  if (b == NULL) return;
  result_release(&b->result);
  bundle_close(b->bundle);
  free(b);
}

const char *lynxbench_bundle_root(const struct lynxbench_bundle *b) {
  return b->seal.root;
}

enum lynxbench_status lynxbench_bundle_result(struct lynxbench_bundle *b, char **ret, struct lynxbench_error *error) {
  struct buffer text;
  buffer_init(&text, TEXT_MAX);
  return take_text(&text, result_write(&b->result, &text), ret, error);
}

enum lynxbench_status lynxbench_bundle_claims(struct lynxbench_bundle *b, char **ret, struct lynxbench_error *error) {
  struct buffer text;
  buffer_init(&text, TEXT_MAX);
  struct answer answer;
  answer_of_result(&b->result, &answer);
  return take_text(&text, json_claims(&answer, claim_build_all(&b->result), b->result.n_precisions, NULL, &text), ret, error);
}

enum lynxbench_status lynxbench_bundle_contract(struct lynxbench_bundle *b, char **ret, struct lynxbench_error *error) {
  struct buffer text;
  const char *contract = bundle_meta(b->bundle, "contract");
  buffer_init(&text, TEXT_MAX);
  return take_text(&text, contract != NULL && buffer_text(&text, contract), ret, error);
}

enum lynxbench_status lynxbench_bundle_verify(struct lynxbench_bundle *sealed, struct lynxbench_bundle *again, char **ret,
                                              struct lynxbench_error *error) {
  struct lynx_error own = {0};
  struct verification made;
  struct buffer text;
  const struct verification_side a = {sealed->bundle, &sealed->result}, b = {again->bundle, &again->result};
  enum lynx_status status = verification_make(&a, &b, &made, &own);
  enum lynxbench_status code = told(status, &own, error);
  if (status == LYNX_OK) {
    buffer_init(&text, TEXT_MAX);
    bool good = json_verification_whole(sealed->seal.root, again->seal.root, &made.report, &made.configuration, &text);
    code = take_text(&text, good, ret, error);
  }
  verification_release(&made);
  return code;
}

enum lynxbench_status lynxbench_audit(const char *path, char **ret, struct lynxbench_error *error) {
  struct lynx_error own = {0};
  struct audit audit;
  struct buffer text;
  if (access(path, F_OK) != 0) {
    enum lynx_status status = lynx_fail(&own, LYNX_NOT_FOUND, "there is no such file");
    lynx_error_at(&own, path, 0, NULL);
    return told(status, &own, error);
  }
  const struct audit_bundle_request request = {.path = path};
  audit_bundle(&request, &audit);
  buffer_init(&text, TEXT_MAX);
  enum lynxbench_status status = take_text(&text, json_audit(&audit, &text), ret, error);
  audit_release(&audit);
  return status;
}

/* --- contracts, and the executor --- */

enum lynxbench_status lynxbench_contract_check(const char *given, size_t length, char **ret, struct lynxbench_error *error) {
  struct arena arena = {0};
  struct contract contract = {0};
  struct problem_list problems = {0};
  struct buffer text;
  (void)contract_parse(given, length, &arena, &contract, &problems); /* its problems are in the list */
  setup_check(&contract, &problems);
  buffer_init(&text, TEXT_MAX);
  enum lynxbench_status status = take_text(&text, json_problems(&contract, &problems, &text), ret, error);
  arena_release(&arena);
  return status;
}

enum lynxbench_status lynxbench_capture(int64_t pid, const char *url, char **ret, struct lynxbench_error *error) {
  static const struct root root = {""};
  struct lynx_error own = {0};
  struct endpoint endpoint;
  struct fact_list facts = {0};
  struct buffer text;
  char path[64], line[64], now[40], fingerprint[DIGEST_HEX];
  enum lynx_status status = url != NULL ? endpoint_parse(url, &endpoint, &own) : LYNX_OK;
  (void)snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
  if (status == LYNX_OK && pid != 0 && (pid < 0 || !root_read_line(&root, path, line, sizeof line)))
    status = lynx_fail(&own, LYNX_NOT_FOUND, "no process %lld runs on this machine", (long long)pid);
  if (status != LYNX_OK) return told(status, &own, error);
  const struct capture_request request = {.root = &root, .clock = &clock_system, .pid = pid, .endpoint = url};
  capture_run(&request, &facts);
  capture_fingerprint(&facts, fingerprint);
  const struct capture_head head = {clock_text(now, clock_system.realtime_ns(clock_system.context)), fingerprint, NULL};
  buffer_init(&text, TEXT_MAX);
  enum lynxbench_status code = take_text(&text, capture_write(&facts, &head, &text), ret, error);
  fact_list_release(&facts);
  return code;
}
