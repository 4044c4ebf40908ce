/* The server that serves: which one it is, by its process and by what its own routes answer; and its batching, cache, parallelism and
 * execution settings, from the command line and from routes that tell them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/control.h"
#include "base/digest.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "executor/argument_map.h"
#include "executor/layer_map.h"
#include "executor/probe.h"

enum { BODY_MAX = 4 << 20, ROUTE_FACTS_MAX = 300 };
static const int64_t ROUTE_TIMEOUT_NS = 1000000000;

enum server { VLLM, SGLANG, TGI, TRITON, LLAMA_CPP, OLLAMA, LYNXBENCH_REF, SERVER_COUNT };

static const struct {
  const char *name;
  const char *words[4];  /* in the executable's name, or in the first arguments of an interpreter */
  const char *package;   /* the Python distribution that carries its version */
  const char *routes[3]; /* that tell its version or settings, as JSON */
  const char *member;    /* that only this server's answer has: an empty object is nobody's */
} servers[SERVER_COUNT] = {
    [VLLM] = {"vLLM", {"vllm"}, "python.package.vllm", {"/version"}, NULL},
    [SGLANG] = {"SGLang", {"sglang"}, "python.package.sglang", {"/get_server_info", "/server_info"}, "tokenizer_path"},
    [TGI] = {"TGI", {"text-generation-launcher", "text-generation-router", "text-generation-server"}, NULL, {"/info"}, "model_id"},
    [TRITON] = {"Triton Inference Server", {"tritonserver"}, NULL, {"/v2"}, "extensions"},
    [LLAMA_CPP] =
        {"llama.cpp", {"llama-server", "llama_cpp.server"}, "python.package.llama-cpp-python", {"/props"}, "default_generation_settings"},
    [OLLAMA] = {"Ollama", {"ollama"}, NULL, {"/api/version", "/api/ps"}, "version"},
    [LYNXBENCH_REF] = {"lynxbench-ref", {"lynxbench-ref"}, NULL, {NULL}, NULL},
};

static const char *serving_applies(const struct probe_target *target) {
  if (target->pid > 0 || target->endpoint != NULL) return NULL;
  return target->why_not != NULL ? target->why_not : "the serving process is not known";
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* By the executable; an interpreter by what it was told to run: "python -m vllm.entrypoints...", "/venv/bin/vllm serve". */
static enum server recognise(const struct fact_list *facts) {
  const struct fact *executable = fact_find(facts, "process.executable");
  const char *candidates[5];
  size_t n = 0;
  if (executable != NULL && fact_is_known(executable)) candidates[n++] = last_part(executable->value);
  static const char *const keys[] = {"process.argument.0", "process.argument.1", "process.argument.-m"};
  for (size_t i = 0; i < LYNX_COUNT(keys); i++) {
    const struct fact *fact = fact_find(facts, keys[i]);
    if (fact != NULL && fact_is_known(fact)) candidates[n++] = last_part(fact->value);
  }
  for (size_t c = 0; c < n; c++)
    for (int s = 0; s < SERVER_COUNT; s++)
      for (size_t w = 0; w < LYNX_COUNT(servers[s].words) && servers[s].words[w] != NULL; w++)
        if (strncmp(candidates[c], servers[s].words[w], strlen(servers[s].words[w])) == 0) return (enum server)s;
  return SERVER_COUNT;
}

/* Short flags mean what they mean to one program only. */
static bool knows_flag(enum server server, const char *flag) {
  static const char *const vllm[] = {"-tp", "-pp", "-q", "-O"};
  if (flag[1] == '-') return true;
  for (size_t i = 0; i < LYNX_COUNT(vllm); i++)
    if (strcmp(flag, vllm[i]) == 0) return server == VLLM;
  return server == LLAMA_CPP;
}

static void put_settings(const struct probe_target *target, struct fact_list *facts, enum server server) {
  size_t n_facts = facts->n_items; /* those that are added meanwhile are none of the command line */
  for (size_t i = 0; i < n_facts; i++) {
    const struct fact *fact = &facts->items[i];
    if (strncmp(fact->key, "process.argument.-", 18) != 0) continue;
    const struct argument *argument = argument_find(fact->key + 17);
    char key[100];
    if (argument == NULL || argument->setting == NULL || !knows_flag(server, argument->name)) continue;
    (void)snprintf(key, sizeof key, "serving.setting.%s", argument->setting);
    probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, key, facts->items[i].value, "", argument->reason);
  }
}

/* --- what the server's own routes say --- */

struct route {
  const struct probe_target *target;
  struct fact_list *facts;
  const char *path;
  int n;
};

/* What differs from one moment, request or start to the next is state: by whole words, so that max_running_requests is none. */
static bool is_volatile(const char *name) {
  static const char *const names[] = {"time",
                                      "uptime",
                                      "timestamp",
                                      "port",
                                      "host",
                                      "pid",
                                      "seed",
                                      "random_seed",
                                      "usage",
                                      "expires_at",
                                      "modified_at",
                                      "created",
                                      "created_at",
                                      "is_processing",
                                      "id_task",
                                      "n_remain",
                                      "next_token",
                                      "is_sleeping",
                                      "state",
                                      "status",
                                      "running",
                                      "waiting",
                                      "size_vram",
                                      "num_gpu_blocks",
                                      "num_cpu_blocks",
                                      "max_total_num_tokens",
                                      "available_gpu_mem",
                                      "nccl_port",
                                      "dist_init_addr",
                                      "start_time",
                                      "last_gen_throughput"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strcasecmp(name, names[i]) == 0) return true;
  return strcasestr(name, "throughput") != NULL || strcasestr(name, "elapsed") != NULL;
}

static const char *scalar_text(const json_t *value, char *text, size_t size) {
  text[0] = 0;
  if (json_is_string(value)) {
    size_t n = json_string_length(value);
    if (n < size) (void)snprintf(text, size, "%s", json_string_value(value));
    else { /* a chat template, say: known again by its digest */ char hex[DIGEST_HEX];
      uint8_t digest[DIGEST_BYTES];
      digest_of(json_string_value(value), n, digest);
      (void)snprintf(text, size, "%zu bytes, SHA-256 %s", n, digest_hex(digest, hex));
    }
  } else if (json_is_integer(value)) (void)snprintf(text, size, "%lld", (long long)json_integer_value(value));
  else if (json_is_real(value)) (void)snprintf(text, size, "%.10g", json_real_value(value));
  else if (json_is_boolean(value)) (void)snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
  else return NULL;
  return text;
}

/* Under a name with "token" only numbers are taken ("max_total_tokens"), and the tokenizer. */
static bool is_secret(const char *name, const json_t *value) {
  if (variable_is_secret(name)) return true;
  if (!json_is_string(value)) return false;
  if (strcasestr(name, "token") != NULL && strcasestr(name, "tokenizer") == NULL) return true;
  return value_may_be_secret(json_string_value(value));
}

static void flatten(struct route *route, const char *prefix, const json_t *value, int depth);

static void put_member(struct route *route, const char *prefix, const char *name, const json_t *member, int depth) {
  char key[300], plain[120], text[600];
  text_sanitise(plain, sizeof plain, name, strlen(name));
  if (is_secret(plain, member)) return;
  (void)snprintf(key, sizeof key, "%.160s.%s", prefix, plain);
  if ((json_is_object(member) || json_is_array(member)) && depth < 3) flatten(route, key, member, depth + 1);
  if (scalar_text(member, text, sizeof text) == NULL || route->n++ >= ROUTE_FACTS_MAX) return;
  probe_fact(route->target, route->facts, LAYER_SERVING, is_volatile(plain) ? FACT_STATE : FACT_IDENTITY, key, text, "", route->path);
}

static void flatten(struct route *route, const char *prefix, const json_t *value, int depth) {
  const char *name;
  json_t *member;
  char index[24];
  json_object_foreach((json_t *)(uintptr_t)value, name, member) put_member(route, prefix, name, member, depth);
  for (size_t i = 0; i < json_array_size(value) && i < 16; i++) {
    (void)snprintf(index, sizeof index, "%zu", i);
    put_member(route, prefix, index, json_array_get(value, i), depth);
  }
}

struct answers {
  bool dead;    /* one did not answer in time: no other is asked */
  bool matches; /* the answer has the member that only this server's has */
};

static void ask(const struct probe_target *target, struct fact_list *facts, const char *path, const char *member, struct answers *ret) {
  char url[600], key[80], text[100];
  struct buffer body;
  struct lynx_error error = {0};
  int code = 0;
  buffer_init(&body, BODY_MAX);
  endpoint_route(target->endpoint, path, url, sizeof url);
  enum lynx_status status = control_fetch(&(struct control_request){.url = url, .timeout_ns = ROUTE_TIMEOUT_NS}, &body, &code, &error);
  ret->dead = status != LYNX_OK;
  json_t *json = status == LYNX_OK && code == 200 ? json_parse(body.data, body.length, BODY_MAX, NULL) : NULL;
  (void)snprintf(key, sizeof key, "serving.route%.60s", path);
  if (json_is_object(json) && json_object_size(json) > 0) {
    struct route route = {target, facts, path, 0};
    flatten(&route, key, json, 0);
    ret->matches = ret->matches || (member != NULL && json_object_get(json, member) != NULL);
    if (scalar_text(json_object_get(json, "version"), text, sizeof text) != NULL && text[0] != 0 && strcmp(path, "/v2") != 0)
      probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "serving.version", text, "", path);
  } else if (status == LYNX_OK && (code == 401 || code == 403))
    probe_missing(target, facts, LAYER_SERVING, FACT_STATE, key, FACT_DENIED, "the server asks for a key", path);
  else if (status != LYNX_OK) probe_missing(target, facts, LAYER_SERVING, FACT_STATE, key, FACT_UNSUPPORTED, error.message, path);
  json_decref(json);
  buffer_release(&body);
}

/* vLLM prints its cache configuration as the labels of one metric: vllm:cache_config_info{block_size="16",...} 1.0 */
static bool ask_metrics(const struct probe_target *target, struct fact_list *facts) {
  char url[600], key[120];
  struct buffer body;
  int code = 0;
  bool found = false;
  buffer_init(&body, BODY_MAX);
  endpoint_route(target->endpoint, "/metrics", url, sizeof url);
  if (control_fetch(&(struct control_request){.url = url, .timeout_ns = ROUTE_TIMEOUT_NS}, &body, &code, NULL) == LYNX_OK && code == 200) {
    const char *line = strstr(body.data, "vllm:cache_config_info{");
    found = line != NULL || strstr(body.data, "vllm:") != NULL;
    for (const char *at = line != NULL ? strchr(line, '{') + 1 : NULL; at != NULL && *at != 0 && *at != '}' && *at != '\n';) {
      char name[64], value[200];
      int used = 0;
      value[0] = 0;
      (void)sscanf(at, "%63[^=]=\"%199[^\"]\"%n", name, value, &used);
      if (used == 0 && sscanf(at, "%63[^=]=\"\"%n", name, &used) != 1) break; /* an empty value */
      if (used == 0) break;
      (void)snprintf(key, sizeof key, "serving.cache.%s", name);
      probe_fact(target, facts, LAYER_SERVING, is_volatile(name) ? FACT_STATE : FACT_IDENTITY, key, value, "", "vllm:cache_config_info");
      at += used;
      at += *at == ',';
    }
  }
  buffer_release(&body);
  return found;
}

static void ask_routes(const struct probe_target *target, struct fact_list *facts, enum server *server) {
  struct answers answers = {.dead = false};
  bool asked = *server == SERVER_COUNT; /* a server that nothing names yet may betray itself by its metrics */
  if (asked && ask_metrics(target, facts)) *server = VLLM;
  for (int s = 0; s < SERVER_COUNT && !answers.dead; s++) {
    if (*server != SERVER_COUNT && (int)*server != s) continue;
    if (*server == SERVER_COUNT && servers[s].member == NULL) continue;
    answers.matches = false;
    for (size_t r = 0; r < LYNX_COUNT(servers[s].routes) && servers[s].routes[r] != NULL && !answers.dead; r++)
      ask(target, facts, servers[s].routes[r], servers[s].member, &answers);
    if (answers.matches && *server == SERVER_COUNT) *server = (enum server)s; /* nothing else answers there */
  }
  if (*server == VLLM && !asked && !answers.dead) (void)ask_metrics(target, facts);
}

static void serving_collect(const struct probe_target *target, struct fact_list *facts) {
  enum server server = target->pid > 0 ? recognise(facts) : SERVER_COUNT;
  if (target->endpoint != NULL) ask_routes(target, facts, &server);
  if (server != SERVER_COUNT) put_settings(target, facts, server);
  if (server == SERVER_COUNT) {
    probe_missing(target, facts, LAYER_SERVING, FACT_IDENTITY, "serving.server", FACT_ABSENT,
                  "none that is known by its process or routes: vLLM, SGLang, TGI, Triton, llama.cpp, Ollama", "process, routes");
    return;
  }
  probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "serving.server", servers[server].name, "", "process, routes");
  const struct fact *version = servers[server].package != NULL ? fact_find(facts, servers[server].package) : NULL;
  if (version != NULL && fact_is_known(version))
    probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "serving.version", version->value, "", servers[server].package);
}

const struct probe probe_serving;
const struct probe probe_serving = {.name = "serving",
                                    .summary = "which server it is, and its batching, cache, parallelism and execution settings",
                                    .reads = "the command line, the server's own routes and metrics",
                                    .stage = 2,
                                    .layer = LAYER_SERVING,
                                    .applies = serving_applies,
                                    .collect = serving_collect};
