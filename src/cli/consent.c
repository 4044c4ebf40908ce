#include "cli/output.h"
#include "cli/consent.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/endpoint.h"

enum { AGREED_LEAST = 12 };

/* Words of a stranger, on somebody's terminal: all of each, since what is left out is what would be hidden. */
static void show_words(const char *label, const struct text_list *words) {
  struct arena arena = {0};
  if (words->n_items == 0) return;
  complain("  %-11s", label);
  for (size_t i = 0; i < words->n_items; i++) {
    size_t n = strlen(words->items[i]);
    complain(" %s", text_sanitise(arena_alloc(&arena, n + 1, 1), n + 1, words->items[i], n));
  }
  complain("\n");
  arena_release(&arena);
}

static void show_word(const char *label, const char *word, const char *more) {
  const struct text_list one = {.items = &word, .n_items = 1};
  if (word == NULL) return;
  show_words(label, &one);
  if (more[0] != 0) complain("              %s\n", more);
}

/* Where the contract starts the service itself, its endpoint on this machine is that service's. */
static bool is_own_service(const struct contract *c) {
  struct endpoint endpoint;
  return contract_states(c, "executor.start") && c->executor.endpoint != NULL &&
         endpoint_parse(c->executor.endpoint, &endpoint, NULL) == LYNX_OK && endpoint.socket_path[0] == 0 &&
         (strcmp(endpoint.host, "127.0.0.1") == 0 || strcmp(endpoint.host, "localhost") == 0 || strcmp(endpoint.host, "::1") == 0);
}

static void show(const struct consent_request *r) {
  const struct contract *c = r->contract;
  complain("The contract in this bundle (digest %.16s) came with it. Running it does this here, with your rights:\n", r->digest);
  show_words("starts", &c->executor.start.command);
  show_words("with", &c->executor.start.environment);
  show_words("shows of it", &c->executor.show_arguments);
  show_word("driver", c->workload.driver, "");
  for (size_t i = 0; i < c->workload.options.n_items; i++) {
    const char *option[] = {c->workload.options.keys[i], c->workload.options.values[i]};
    show_words("option", &(const struct text_list){.items = option, .n_items = LYNX_COUNT(option)});
  }
  show_word(c->regime.load == LOAD_OBSERVED ? "watches" : "sends to", r->endpoint != NULL ? r->endpoint : c->executor.endpoint, "");
  const char *const files[] = {c->workload.prompts.file, c->workload.prompts.tokenizer, c->workload.prompts.image, c->workload.profile_file,
                               c->regime.trace,          c->executor.ca_file,           c->accuracy.references,    c->accuracy.text_file};
  for (size_t i = 0; i < LYNX_COUNT(files); i++) show_word("reads", files[i], "");
  show_words("scores with", &c->accuracy.command);
  show_word("a key in", c->workload.api_key_env, "not used: give your own by --api-key-env or --api-key-file");
  show_word("a key in", c->workload.api_key_file, "not used: give your own by --api-key-env or --api-key-file");
}

bool consent_given(const struct consent_request *r) {
  const struct contract *c = r->contract;
  char answer[16] = "";
  show(r);
  if (r->endpoint == NULL && c->executor.endpoint != NULL && !is_own_service(c)) {
    complain("lynxbench %s: the endpoint is the bundle's, and is not used; name the one to measure: --endpoint URL\n", r->command);
    return false;
  }
  if ((c->workload.api_key_env != NULL || c->workload.api_key_file != NULL) && !r->has_key)
    complain("note: no key is sent; --api-key-env NAME or --api-key-file FILE give one\n");
  if (r->agreed != NULL) {
    bool same = strlen(r->agreed) >= AGREED_LEAST && strncmp(r->agreed, r->digest, strlen(r->agreed)) == 0;
    if (!same)
      complain("lynxbench %s: --run: found '%.80s', accepted: this contract's digest, or its first %d digits: %.16s\n", r->command,
               r->agreed, AGREED_LEAST, r->digest);
    return same;
  }
  if (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {
    complain("Type yes to run it: ");
    return fgets(answer, sizeof answer, stdin) != NULL && strcmp(answer, "yes\n") == 0;
  }
  complain("lynxbench %s: nothing was run. To run it: --run %.16s\n", r->command, r->digest);
  return false;
}
