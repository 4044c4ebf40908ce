#include "executor/disclose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const levels[DISCLOSURE_COUNT] = {[DISCLOSE_FULL] = "full", [DISCLOSE_SHARED] = "shared", [DISCLOSE_PUBLIC] = "public"};

const char *disclosure_text(enum disclosure level) {
  return levels[level];
}

bool disclosure_parse(const char *text, enum disclosure *ret) {
  for (int i = 0; i < DISCLOSURE_COUNT; i++) {
    if (strcmp(levels[i], text) != 0) continue;
    *ret = (enum disclosure)i;
    return true;
  }
  return false;
}

void fact_digest(const struct fact *fact, const char *salt, char ret[DIGEST_HEX]) {
  const char *parts[] = {salt, fact->key, fact->value, fact->unit};
  struct digest digest = {{0}};
  uint8_t result[DIGEST_BYTES];
  digest_init(&digest);
  for (size_t i = 0; i < LYNX_COUNT(parts); i++) digest_update(&digest, parts[i], strlen(parts[i]) + 1); /* the final 0 separates */
  digest_final(&digest, result);
  digest_hex(result, ret);
}

static bool holds_any(const char *text, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strstr(text, words[i]) != NULL) return true;
  return false;
}

/* A path: a slash that begins a word and is followed by a name. */
static bool holds_path(const char *text) {
  for (const char *slash = strchr(text, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
    if ((slash == text || strchr(" =:,;'\"([{<@", slash[-1]) != NULL) && slash[1] != 0 && slash[1] != ' ') return true;
  return false;
}

static const char *const personal[] = {"/home/", "/root/", "/Users/", "@", "://"};

/* Letters, digits and hyphens between dots, two dots or more, the last part of letters alone: "node7.corp.example", and no "libx.so.1". */
static bool is_host_name(const char *word, size_t n) {
  size_t dots = 0, last = 0;
  for (size_t i = 0; i < n; i++) {
    bool letter = (word[i] >= 'a' && word[i] <= 'z') || (word[i] >= 'A' && word[i] <= 'Z');
    bool other = (word[i] >= '0' && word[i] <= '9') || word[i] == '-' || word[i] == '_';
    if (word[i] == '.') dots++, last = 0;
    else if (!letter && !other) return false;
    else last = letter ? last + 1 : n;
  }
  return dots >= 2 && last >= 2 && last < n && word[0] != '.';
}

/* "10.0.0.5", "fd00::1", "GPU-8a4b...", "node7.corp.example:5000" */
static bool names_place_on_net(const char *text) {
  static const char ends[] = " =:,;'\"([{<>)]}/@|";
  int a, b, c, d;
  for (const char *p = text; *p != 0; p++) {
    bool begins = p == text || strchr(ends, p[-1]) != NULL;
    if (strncmp(p, "GPU-", 4) == 0 || strncmp(p, "MIG-", 4) == 0) return true;
    if ((p == text || strchr("0123456789.", p[-1]) == NULL) && sscanf(p, "%3d.%3d.%3d.%3d", &a, &b, &c, &d) == 4) return true;
    if (p[0] == ':' && p[1] == ':' && (strchr("0123456789abcdefABCDEF", p[2]) != NULL || begins)) return true;
    if (begins && is_host_name(p, strcspn(p, ends))) return true;
  }
  return false;
}

/* Of facts whose values are an operator's own. */
static const char *const private_keys[] = {"process.argument.", "serving.setting.", "environment.", "kernel.command-line", "code.",
                                           "model.asked-for",   "serving.route",    "network.",     "imported.system-name"};

bool disclosure_hides(enum disclosure level, const char *text) {
  return text != NULL && level != DISCLOSE_FULL &&
         (holds_any(text, personal, LYNX_COUNT(personal)) ||
          (level == DISCLOSE_PUBLIC && (holds_path(text) || holds_any(text, private_keys, LYNX_COUNT(private_keys)))));
}

/* Only where an address is likely; versions have dots too. */
static bool holds_address(const struct fact *fact) {
  static const char *const where[] = {"process.argument.", "environment.", "serving.", "declared."};
  const char *key = fact_without_role(fact->key);
  bool likely = false;
  for (size_t i = 0; i < LYNX_COUNT(where); i++) likely = likely || strncmp(key, where[i], strlen(where[i])) == 0;
  return likely && names_place_on_net(fact->value);
}

/* "alice", of "/home/alice": the last part of a path stands beside the whole, under the same key and ".path". */
static bool is_part_of_personal(const struct fact_list *facts, const struct fact *fact) {
  char key[400];
  (void)snprintf(key, sizeof key, "%.390s.path", fact->key);
  const struct fact *whole = fact_find(facts, key);
  return whole != NULL && holds_any(whole->value, personal, LYNX_COUNT(personal));
}

static bool withholds(const struct fact_list *facts, const struct fact *fact, enum disclosure level) {
  const char *key = fact_without_role(fact->key);
  if (level == DISCLOSE_FULL || (level == DISCLOSE_SHARED && fact->status == FACT_WITHHELD)) return false;
  if (fact->kind == FACT_CONTEXT || holds_any(fact->value, personal, LYNX_COUNT(personal)) || holds_address(fact) ||
      is_part_of_personal(facts, fact))
    return true;
  if (level == DISCLOSE_SHARED) return false;
  if (strncmp(key, "declared.", 9) == 0) return true; /* an operator's own words */
  for (size_t i = 0; i < LYNX_COUNT(private_keys); i++)
    if (strncmp(key, private_keys[i], strlen(private_keys[i])) == 0) return true;
  return holds_path(fact->value);
}

/* A process id, a place on a bus, or a person's path in a source. */
static bool names_place(const char *source) {
  const char *process = strstr(source, "/proc/");
  return holds_any(source, personal, LYNX_COUNT(personal)) || strstr(source, "/devices/0") != NULL ||
         (process != NULL && process[6] >= '0' && process[6] <= '9');
}

void capture_disclose(const struct fact_list *facts, enum disclosure level, struct fact_list *ret) {
  for (size_t i = 0; i < facts->n_items; i++) {
    struct fact fact = facts->items[i];
    char digest[DIGEST_HEX];
    if (withholds(facts, &fact, level)) {
      lynx_assert(facts->salt[0] != 0);
      fact_digest(&fact, facts->salt, digest);
      fact.value = digest;
      fact.status = FACT_WITHHELD;
      fact.unit = "";
      fact.source = "withheld"; /* it may name what the value does not */
    }
    if (level != DISCLOSE_FULL && names_place(fact.source)) fact.source = "withheld";
    fact_add(ret, &fact);
  }
  if (level == DISCLOSE_FULL) (void)snprintf(ret->salt, sizeof ret->salt, "%s", facts->salt);
  fact_sort(ret);
}

void capture_join(struct fact_list *ret, const char *role, const struct fact_list *facts) {
  char key[400], why[200];
  if (facts == NULL) {
    (void)snprintf(key, sizeof key, "%.80s/hole.not-captured", role);
    (void)snprintf(why, sizeof why, "%.80s was not captured: nothing is known of that host", role);
    fact_add(ret, &(struct fact){.layer = LAYER_SYSTEM,
                                 .kind = FACT_IDENTITY,
                                 .status = FACT_ABSENT,
                                 .key = key,
                                 .value = why,
                                 .unit = "",
                                 .source = "the contract or command line"});
    return;
  }
  for (size_t i = 0; i < facts->n_items; i++) {
    struct fact fact = facts->items[i];
    (void)snprintf(key, sizeof key, "%.80s/%.300s", role, fact.key);
    fact.key = key;
    fact_add(ret, &fact);
  }
}

static bool clock_error_us(const struct fact_list *facts, const char *role, long *ret) {
  char key[120];
  (void)snprintf(key, sizeof key, "%.80s/clock.error-most", role);
  const struct fact *fact = fact_find(facts, key);
  if (fact == NULL || !fact_is_known(fact)) return false;
  *ret = strtol(fact->value, NULL, 10);
  return *ret >= 0;
}

void capture_join_clocks(struct fact_list *ret, const char *const *roles, size_t n_roles) {
  for (size_t i = 0; i < n_roles; i++)
    for (size_t k = i + 1; k < n_roles; k++) {
      char key[200], value[120];
      long a = 0, b = 0;
      bool known = clock_error_us(ret, roles[i], &a) && clock_error_us(ret, roles[k], &b);
      (void)snprintf(key, sizeof key, "clocks.%.80s.%.80s", roles[i], roles[k]);
      (void)snprintf(value, sizeof value,
                     known ? "at most %ld us apart" : "not known: a clock of the two is not synchronised, or was not asked", a + b);
      fact_add(ret, &(struct fact){.layer = LAYER_SYSTEM,
                                   .kind = FACT_STATE,
                                   .status = known ? FACT_READ : FACT_UNSUPPORTED,
                                   .key = key,
                                   .value = value,
                                   .unit = "",
                                   .source = "sum of the greatest errors that the two kernels state"});
    }
}
