/* A bisection's plan as it is in a bundle: somebody else's words. */
#include "experiment/bisected.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

static char dir[64], path[128];

static enum lynx_status read_with(const char *plan, struct bisected *ret) {
  struct lynx_error error = {0};
  struct bundle *bundle;
  struct bundle_seal_info seal;
  char root[DIGEST_HEX];
  const struct contract contract = {.set = 0};
  (void)unlink(path);
  CHECK_INT(bundle_create(path, &bundle, &error), LYNX_OK);
  if (plan != NULL) bundle_put_meta(bundle, bisected_key, plan);
  CHECK_INT(bundle_seal(bundle, BUNDLE_COMPLETE, "", root, &error), LYNX_OK);
  bundle_close(bundle);
  CHECK_INT(bundle_open(path, &bundle, &seal, &error), LYNX_OK);
  CHECK_INT(bisected_is(bundle), plan != NULL);
  enum lynx_status status = bisected_read(bundle, &contract, ret, &error);
  if (status != LYNX_OK) CHECK(error.message[0] != 0);
  bundle_close(bundle);
  return status;
}

static const char *plan_of(const char *least, const char *confidence, const char *sessions, int n_facts) {
  static char text[8192];
  (void)snprintf(text, sizeof text, "{\"method\":1,\"least\":%s,\"confidence\":%s,\"sessions_at_most\":%s,\"seed\":-1,\"facts\":[", least,
                 confidence, sessions);
  for (int i = 0; i < n_facts; i++)
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s{\"name\":\"f\\u001b%d\",\"a\":1,\"layer\":\"runtime\"}",
                   i > 0 ? "," : "", i);
  (void)strcat(text, "]}");
  return text;
}

static void check_plan(const char *plan, enum lynx_status wanted) {
  struct bisected b;
  CHECK_INT(read_with(plan, &b), wanted);
  if (wanted == LYNX_OK) {
    CHECK_INT(b.found.verdict, BISECTION_INCONCLUSIVE); /* nothing was measured */
    CHECK_INT(b.found.n_sessions, 0);
    CHECK(strchr(b.swaps.items[0].name, '\033') == NULL); /* fit for a terminal */
    CHECK(b.swaps.items[0].has_layer);
  }
  bisected_release(&b);
}

static void check_targets(void) {
  char target[TARGET_NAME];
  mixture_target(0, target);
  CHECK_TEXT(target, "");
  mixture_target(0x8001, target);
  CHECK_TEXT(target, "facts: 1 16");
  mixture_target(((uint64_t)1 << 60) - 1, target);
  CHECK_TEXT(target, "facts: 0xfffffffffffffff");
  mixture_target((uint64_t)0x3ff << 50, target);
  CHECK_TEXT(target, "facts: 51 52 53 54 55 56 57 58 59 60");
}

int main(void) {
  (void)snprintf(dir, sizeof dir, "/tmp/lynx-bisected-XXXXXX");
  CHECK(mkdtemp(dir) != NULL);
  (void)snprintf(path, sizeof path, "%s/b.lynx", dir);
  check_plan(NULL, LYNX_INPUT);
  check_plan(plan_of("0.05", "0.95", "100", 1), LYNX_OK);
  check_plan(plan_of("0.05", "0.95", "100", 60), LYNX_OK);
  check_plan(plan_of("0.05", "0.95", "100", 61), LYNX_INPUT);
  check_plan(plan_of("0.05", "0.95", "100", 0), LYNX_INPUT);
  check_plan(plan_of("0", "0.95", "100", 1), LYNX_INPUT);
  check_plan(plan_of("-1", "0.95", "100", 1), LYNX_INPUT);
  check_plan(plan_of("1e300", "0.95", "100", 1), LYNX_INPUT);
  check_plan(plan_of("null", "0.95", "100", 1), LYNX_INPUT);
  check_plan(plan_of("0.05", "1", "100", 1), LYNX_INPUT);
  check_plan(plan_of("0.05", "0.95", "0", 1), LYNX_INPUT);
  check_plan(plan_of("0.05", "0.95", "9000000000000000000", 1), LYNX_INPUT);
  check_plan("[1", LYNX_INPUT);
  check_plan("[]", LYNX_UNSUPPORTED);
  check_plan("{\"method\":2}", LYNX_UNSUPPORTED);
  check_plan("{\"method\":1,\"facts\":7}", LYNX_INPUT);
  check_targets();
  (void)unlink(path);
  (void)rmdir(dir);
  return check_end();
}
