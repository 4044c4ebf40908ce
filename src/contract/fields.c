/* The table of every field of a contract. Adding a field is one row here and one member in contract.h. */
#include <stddef.h>
#include <string.h>

#include "contract/fields_private.h"

/* The macro refuses a member of the wrong C type. */
#define AT(section, member, c_type) .offset = offsetof(struct section, member) + 0 * sizeof((c_type *)0 == &((struct section *)0)->member)
#define CHOICES(list) .choices = (list), .n_choices = LYNX_COUNT(list)
#define TABLE(section)                                                                                                                     \
  { .name = #section, .size = sizeof(struct section), .fields = section##_fields, .n_fields = LYNX_COUNT(section##_fields) }

static const struct field_choice environments[] = {
    {"twin", "a copy of the production stack that serves nobody"},
    {"canary", "a small part of production, with real users"},
    {"production", "the live service"},
    {"development", "somebody's machine: for trying things out"},
};

static const struct field_choice metrics[] = {
    [METRIC_TIME_TO_FIRST_TOKEN] = {"time_to_first_token", "TTFT: from the scheduled time to the first token"},
    [METRIC_TIME_PER_OUTPUT_TOKEN] = {"time_per_output_token", "TPOT: (last token - first token) / (tokens - 1), per request"},
    [METRIC_INTER_TOKEN_LATENCY] = {"inter_token_latency", "ITL: every gap between events that carry text, pooled"},
    [METRIC_END_TO_END] = {"end_to_end", "E2E: from the scheduled time to the last byte"},
};

static const struct field_choice loads[] = {
    [LOAD_CONSTANT] = {"constant", "open loop, equal gaps"},
    [LOAD_POISSON] = {"poisson", "open loop, exponential gaps: independent users"},
    [LOAD_CLOSED] = {"closed", "a fixed number of requests in flight"},
};

static const struct field_choice apis[] = {
    [API_COMPLETIONS] = {"completions", "POST /v1/completions"}, [API_CHAT] = {"chat", "POST /v1/chat/completions"}};
static const struct field_choice origins[] = {
    [LATENCY_FROM_SCHEDULED] = {"scheduled", "from the time the request was due: an executor that stalls cannot hide its queue"},
    [LATENCY_FROM_SENT] = {"sent", "from the first byte written: leaves out the wait before sending"},
};
static const struct field_choice failure_rules[] = {
    {"slo_miss", "a failed or timed-out request misses every objective; its latency is infinite"}};
static const struct field_choice unfinished_rules[] = {
    {"at_least_age", "a counted request still running when the drain ends has at least its age as latency"}};
static const struct field_choice decision_rules[] = {
    {"equivalence", "two one-sided tests on the log-ratio of the sessions' figures, with the margin"}};
static const struct field_choice grades[] = {[GRADE_A] = {"A", "nothing left unstated"},
                                             [GRADE_B] = {"B", "up to two things unstated"},
                                             [GRADE_C] = {"C", "up to five"},
                                             [GRADE_D] = {"D", "any number"}};

static const struct field contract_abort_fields[] = {
    {"metric", FIELD_CHOICE, AT(contract_abort, metric, int), .fallback = "end_to_end", CHOICES(metrics),
     .help = "what is watched while the run goes on", .example = "end_to_end"},
    {"over", FIELD_DURATION, AT(contract_abort, over_ns, int64_t), .least = "1us", .greatest = "24h", .required = true,
     .help = "a request slower than this is bad; so is a failed one", .example = "5s"},
    {"share", FIELD_NUMBER, AT(contract_abort, share, double), .fallback = "0.5", .least = "0.001", .greatest = "1",
     .help = "the run stops when more than this share of the requests in the window is bad", .example = "0.5"},
    {"window", FIELD_DURATION, AT(contract_abort, window_ns, int64_t), .fallback = "10s", .least = "1s", .greatest = "1h",
     .help = "over which the share is taken", .example = "10s"},
};
static const struct field_table contract_abort_table = TABLE(contract_abort);

static const struct field contract_where_fields[] = {
    {"environment", FIELD_CHOICE, AT(contract_where, environment, int), .fallback = "twin", CHOICES(environments), .disclose = true,
     .help = "where the measurement may run", .example = "twin"},
    {"load_cap_per_s", FIELD_NUMBER, AT(contract_where, load_cap_per_s, double), .least = "0.001", .greatest = "10000000",
     .help = "never offer more requests per second than this", .example = "50"},
    {"load_cap_in_flight", FIELD_INTEGER, AT(contract_where, load_cap_in_flight, int64_t), .least = "1", .greatest = "100000",
     .help = "never have more requests in flight than this", .example = "64"},
    {"abort_slo", FIELD_SECTION, AT(contract_where, abort_slo, struct contract_abort), .table = &contract_abort_table,
     .help = "when the run must stop because it does harm"},
};
static const struct field_table contract_where_table = TABLE(contract_where);

static const struct field contract_start_fields[] = {
    {"command", FIELD_TEXTS, AT(contract_start, command, struct text_list), .required = true,
     .help = "program and arguments, run without a shell; {precision} and {port} are filled in",
     .example = "[build/lynxbench-ref, --port, \"8100\", --precision, \"{precision}\"]"},
    {"ready_within", FIELD_DURATION, AT(contract_start, ready_within_ns, int64_t), .fallback = "60s", .least = "100ms", .greatest = "4h",
     .help = "how long it may take until ready_path answers 200", .example = "60s"},
    {"stop_within", FIELD_DURATION, AT(contract_start, stop_within_ns, int64_t), .fallback = "10s", .least = "100ms", .greatest = "1h",
     .help = "how long it may take to end after SIGTERM, before SIGKILL", .example = "10s"},
    {"unavailable_exit", FIELD_INTEGER, AT(contract_start, unavailable_exit, int64_t), .fallback = "69", .least = "1", .greatest = "255",
     .help = "the exit code that means: this precision cannot run on this machine", .example = "69"},
};
static const struct field_table contract_start_table = TABLE(contract_start);

static const struct field contract_executor_fields[] = {
    {"endpoint", FIELD_TEXT, AT(contract_executor, endpoint, const char *),
     .help = "where the executor serves: http:// or https://, host and port; required by the http driver",
     .example = "http://127.0.0.1:8000"},
    {"ready_path", FIELD_TEXT, AT(contract_executor, ready_path, const char *), .fallback = "/v1/models",
     .help = "answers 200 once the executor can serve", .example = "/health"},
    {"ca_file", FIELD_TEXT, AT(contract_executor, ca_file, const char *),
     .help = "certificates to trust for https, in PEM; else the system's", .example = "ca.pem"},
    {"pid", FIELD_INTEGER, AT(contract_executor, pid, int64_t), .least = "1", .greatest = "4194304",
     .help = "the serving process, where it cannot be found from the endpoint's listening socket", .example = "4711"},
    {"behind_proxy", FIELD_BOOL, AT(contract_executor, behind_proxy, bool), .fallback = "false",
     .help = "the endpoint is a proxy or load balancer: what serves behind it is a hole that the claim names", .example = "true"},
    {"start", FIELD_SECTION, AT(contract_executor, start, struct contract_start), .table = &contract_start_table,
     .help = "how to start the executor; then every session is a fresh process"},
    {"expect", FIELD_MAP, AT(contract_executor, expect, struct text_map), .disclose = true,
     .help = "facts that must hold, by key (lynxbench capture lists them); a run on another executor is out of contract",
     .example = "{cpu.model: AMD EPYC}"},
    {"declare", FIELD_MAP, AT(contract_executor, declare, struct text_map),
     .help = "facts that no machine can tell, as layer.name: value; marked as declared", .example = "{facility.cooling: air}"},
};
static const struct field_table contract_executor_table = TABLE(contract_executor);

static const struct field contract_prompts_fields[] = {
    {"file", FIELD_TEXT, AT(contract_prompts, file, const char *),
     .help = "a text to cut prompts from, at seeded places; without it they are seeded words", .example = "prompts.txt"},
    {"count", FIELD_INTEGER, AT(contract_prompts, count, int64_t), .fallback = "64", .least = "1", .greatest = "100000",
     .help = "how many different prompts; a server's prefix cache makes repeated ones cheaper", .example = "64"},
    {"bytes", FIELD_INTEGER, AT(contract_prompts, bytes, int64_t), .fallback = "256", .least = "1", .greatest = "1000000",
     .help = "length of each in bytes", .example = "256"},
};
static const struct field_table contract_prompts_table = TABLE(contract_prompts);

static const struct field contract_workload_fields[] = {
    {"driver", FIELD_TEXT, AT(contract_workload, driver, const char *), .fallback = "http",
     .help = "http, or null to measure the instrument itself", .example = "http"},
    {"api", FIELD_CHOICE, AT(contract_workload, api, int), .fallback = "completions", CHOICES(apis), .help = "the route",
     .example = "chat"},
    {"model", FIELD_TEXT, AT(contract_workload, model, const char *), .fallback = "", .disclose = true,
     .help = "the model's name, as the server knows it", .example = "my-model"},
    {"profile", FIELD_TEXT, AT(contract_workload, profile, const char *), .disclose = true,
     .help = "the real workload that this one stands for, in words; without it representativeness is unknown",
     .example = "chat traffic of 2026-11-12"},
    {"api_key_env", FIELD_TEXT, AT(contract_workload, api_key_env, const char *),
     .help = "the environment variable that holds the API key; the key itself is never recorded", .example = "OPENAI_API_KEY"},
    {"stream", FIELD_BOOL, AT(contract_workload, stream, bool), .fallback = "true",
     .help = "ask for a stream; without one there is no first-token time", .example = "true"},
    {"ignore_eos", FIELD_BOOL, AT(contract_workload, ignore_eos, bool), .fallback = "true",
     .help = "ask the server to write output_tokens tokens whatever the model wants", .example = "true"},
    {"continuous_usage", FIELD_BOOL, AT(contract_workload, continuous_usage, bool), .fallback = "false",
     .help = "ask for running usage, which tells the tokens of every chunk (vLLM, SGLang, lynxbench-ref)", .example = "true"},
    {"output_tokens", FIELD_INTEGER, AT(contract_workload, output_tokens, int64_t), .fallback = "64", .least = "1", .greatest = "1000000",
     .disclose = true, .help = "max_tokens of every request", .example = "64"},
    {"temperature", FIELD_NUMBER, AT(contract_workload, temperature, double), .fallback = "0", .least = "0", .greatest = "10",
     .help = "sampling temperature", .example = "0"},
    {"prompts", FIELD_SECTION, AT(contract_workload, prompts, struct contract_prompts), .table = &contract_prompts_table, .disclose = true,
     .help = "what is asked"},
};
static const struct field_table contract_workload_table = TABLE(contract_workload);

static const struct field contract_regime_fields[] = {
    {"load", FIELD_CHOICE, AT(contract_regime, load, int), .fallback = "poisson", CHOICES(loads), .help = "how requests arrive",
     .example = "poisson"},
    {"rate_per_s", FIELD_NUMBER, AT(contract_regime, rate_per_s, double), .least = "0.001", .greatest = "10000000",
     .help = "requests per second, for constant and poisson", .example = "20"},
    {"concurrency", FIELD_INTEGER, AT(contract_regime, concurrency, int64_t), .fallback = "256", .least = "1", .greatest = "20000",
     .help = "closed: requests in flight; open loop: the most in flight before an arrival must wait (it is then late, and said to be)",
     .example = "8"},
};
static const struct field_table contract_regime_table = TABLE(contract_regime);

static const struct field contract_slo_fields[] = {
    {"metric", FIELD_CHOICE, AT(contract_slo, metric, int), CHOICES(metrics), .required = true, .help = "which latency",
     .example = "time_to_first_token"},
    {"quantile", FIELD_NUMBER, AT(contract_slo, quantile, double), .fallback = "0.99", .least = "0.01", .greatest = "0.99999",
     .help = "of all counted requests", .example = "0.99"},
    {"at_most", FIELD_DURATION, AT(contract_slo, at_most_ns, int64_t), .least = "1us", .greatest = "24h", .required = true,
     .help = "the objective", .example = "200ms"},
};
static const struct field_table contract_slo_table = TABLE(contract_slo);

static const struct field contract_method_fields[] = {
    {"warm_up", FIELD_DURATION, AT(contract_method, warm_up_ns, int64_t), .fallback = "10s", .least = "0s", .greatest = "24h",
     .help = "load that is not counted, at the start of every session", .example = "10s"},
    {"counted", FIELD_DURATION, AT(contract_method, counted_ns, int64_t), .fallback = "30s", .least = "100ms", .greatest = "72h",
     .help = "the window that counts", .example = "30s"},
    {"drain", FIELD_DURATION, AT(contract_method, drain_ns, int64_t), .fallback = "30s", .least = "0s", .greatest = "24h",
     .help = "how long counted requests may take to finish after the window; the load goes on meanwhile", .example = "30s"},
    {"request_timeout", FIELD_DURATION, AT(contract_method, request_timeout_ns, int64_t), .fallback = "60s", .least = "1ms",
     .greatest = "24h", .help = "from the scheduled time; a request that takes longer has failed", .example = "60s"},
    {"sessions", FIELD_INTEGER, AT(contract_method, sessions, int64_t), .fallback = "3", .least = "1", .greatest = "1000",
     .help = "how often everything is repeated; intervals are over sessions", .example = "5"},
    {"seed", FIELD_INTEGER, AT(contract_method, seed, int64_t), .fallback = "1", .least = "0", .greatest = "9007199254740991",
     .help = "of arrivals and prompts; session k of it uses seed + k", .example = "1"},
    {"threads", FIELD_INTEGER, AT(contract_method, threads, int64_t), .fallback = "1", .least = "1", .greatest = "256",
     .help = "of the load engine", .example = "1"},
    {"confidence", FIELD_NUMBER, AT(contract_method, confidence, double), .fallback = "0.95", .least = "0.5", .greatest = "0.9999",
     .help = "of every interval", .example = "0.95"},
    {"lag_p99_at_most", FIELD_DURATION, AT(contract_method, lag_p99_at_most_ns, int64_t), .fallback = "5ms", .least = "1us",
     .greatest = "10s", .disclose = true,
     .help = "a run in which the instrument itself was later than this at the 99th percentile is instrument-limited", .example = "1ms"},
    {"failures_at_most", FIELD_NUMBER, AT(contract_method, failures_at_most, double), .fallback = "0.01", .least = "0", .greatest = "1",
     .help = "no claim is made if a larger share of the counted requests failed", .example = "0.01"},
};
static const struct field_table contract_method_table = TABLE(contract_method);

static const struct field contract_counting_fields[] = {
    {"latency_from", FIELD_CHOICE, AT(contract_counting, latency_from, int), .fallback = "scheduled", CHOICES(origins),
     .help = "where latencies begin", .example = "scheduled"},
    {"failures", FIELD_CHOICE, AT(contract_counting, failures, int), .fallback = "slo_miss", CHOICES(failure_rules),
     .help = "what a failure counts as", .example = "slo_miss"},
    {"unfinished", FIELD_CHOICE, AT(contract_counting, unfinished, int), .fallback = "at_least_age", CHOICES(unfinished_rules),
     .help = "what an unfinished request counts as", .example = "at_least_age"},
    {"excluded", FIELD_TEXTS, AT(contract_counting, excluded, struct text_list), .fallback = "[warm-up, tail]",
     .help = "phases whose requests are recorded and not counted", .example = "[warm-up, tail]"},
};
static const struct field_table contract_counting_table = TABLE(contract_counting);

static const struct field contract_change_fields[] = {
    {"layer", FIELD_TEXT, AT(contract_change, layer, const char *), .required = true, .help = "one of the nine layers",
     .example = "serving"},
    {"what", FIELD_TEXT, AT(contract_change, what, const char *), .required = true, .help = "a fact's key, or its beginning and *",
     .example = "process.argument.*"},
    {"note", FIELD_TEXT, AT(contract_change, note, const char *), .help = "why", .example = "batch size is tuned by the platform team"},
};
static const struct field_table contract_change_table = TABLE(contract_change);

static const struct field contract_optimisation_fields[] = {
    {"may_change", FIELD_SECTIONS, AT(contract_optimisation, may_change, struct item_list), .table = &contract_change_table,
     .help = "what may differ between two runs of this contract"},
    {"must_not_change", FIELD_SECTIONS, AT(contract_optimisation, must_not_change, struct item_list), .table = &contract_change_table,
     .help = "what may not; it wins over may_change"},
};
static const struct field_table contract_optimisation_table = TABLE(contract_optimisation);

static const struct field contract_accuracy_fields[] = {
    {"text_file", FIELD_TEXT, AT(contract_accuracy, text_file, const char *), .required = true,
     .help = "held-out text: its bits per byte are measured by teacher forcing, after the counted window of every session",
     .example = "held-out.txt"},
    {"reference", FIELD_TEXT, AT(contract_accuracy, reference, const char *), .fallback = "f32",
     .help = "the precision that the others are held against", .example = "f32"},
    {"windows", FIELD_INTEGER, AT(contract_accuracy, windows, int64_t), .fallback = "16", .least = "1", .greatest = "10000",
     .help = "how many pieces of the text", .example = "16"},
    {"window_bytes", FIELD_INTEGER, AT(contract_accuracy, window_bytes, int64_t), .fallback = "256", .least = "8", .greatest = "100000",
     .help = "length of each", .example = "256"},
    {"at_least_ratio", FIELD_NUMBER, AT(contract_accuracy, at_least_ratio, double), .fallback = "0.99", .least = "0", .greatest = "1",
     .help = "the gate: reference bits per byte / this precision's bits per byte", .example = "0.99"},
};
static const struct field_table contract_accuracy_table = TABLE(contract_accuracy);

static const struct field contract_decision_fields[] = {
    {"rule", FIELD_CHOICE, AT(contract_decision, rule, int), .fallback = "equivalence", CHOICES(decision_rules),
     .help = "how a re-run is judged", .example = "equivalence"},
    {"margin", FIELD_NUMBER, AT(contract_decision, margin, double), .fallback = "0.05", .least = "0.0001", .greatest = "1",
     .help = "two figures within this share of one another count as the same", .example = "0.05"},
};
static const struct field_table contract_decision_table = TABLE(contract_decision);

static const struct field contract_cost_fields[] = {
    {"price_per_hour", FIELD_NUMBER, AT(contract_cost, price_per_hour, double), .least = "0", .greatest = "1000000000", .required = true,
     .help = "what the executor costs per hour", .example = "2.5"},
    {"currency", FIELD_TEXT, AT(contract_cost, currency, const char *), .required = true, .help = "three letters", .example = "EUR"},
    {"power_watts", FIELD_NUMBER, AT(contract_cost, power_watts, double), .least = "0", .greatest = "1000000000",
     .help = "declared power, where it is not measured", .example = "700"},
    {"source", FIELD_TEXT, AT(contract_cost, source, const char *), .help = "where the price comes from", .example = "offer of 2026-10-01"},
};
static const struct field_table contract_cost_table = TABLE(contract_cost);

static const struct field contract_fields[] = {
    {"lynxbench", FIELD_INTEGER, AT(contract, version, int64_t), .least = "1", .greatest = "1", .required = true,
     .help = "the version of this format", .example = "1"},
    {"name", FIELD_TEXT, AT(contract, name, const char *), .fallback = "unnamed", .help = "a short name", .example = "chat-latency"},
    {"question", FIELD_TEXT, AT(contract, question, const char *), .disclose = true, .help = "what the teams want to know",
     .example = "Does the chat model hold its objective at 20 requests/s?"},
    {"where", FIELD_SECTION, AT(contract, where, struct contract_where), .table = &contract_where_table,
     .help = "where it may run, and what must not be exceeded"},
    {"executor", FIELD_SECTION, AT(contract, executor, struct contract_executor), .table = &contract_executor_table,
     .help = "what is measured"},
    {"workload", FIELD_SECTION, AT(contract, workload, struct contract_workload), .table = &contract_workload_table,
     .help = "what it is given to do"},
    {"regime", FIELD_SECTION, AT(contract, regime, struct contract_regime), .table = &contract_regime_table, .required = true,
     .help = "how much of it, and when"},
    {"slo", FIELD_SECTIONS, AT(contract, slo, struct item_list), .table = &contract_slo_table, .disclose = true,
     .help = "the objectives: what good means"},
    {"precisions", FIELD_TEXTS, AT(contract, precisions, struct text_list), .fallback = "[as-served]", .disclose = true,
     .help = "each is measured and reported by itself", .example = "[f32, bf16, int8]"},
    {"method", FIELD_SECTION, AT(contract, method, struct contract_method), .table = &contract_method_table, .help = "how it is measured"},
    {"counting", FIELD_SECTION, AT(contract, counting, struct contract_counting), .table = &contract_counting_table,
     .help = "what is counted and what is excluded"},
    {"optimisation", FIELD_SECTION, AT(contract, optimisation, struct contract_optimisation), .table = &contract_optimisation_table,
     .disclose = true, .help = "what may be tuned, by layer"},
    {"accuracy", FIELD_SECTION, AT(contract, accuracy, struct contract_accuracy), .table = &contract_accuracy_table, .disclose = true,
     .help = "the accuracy that speed must not be bought with"},
    {"decision", FIELD_SECTION, AT(contract, decision, struct contract_decision), .table = &contract_decision_table,
     .help = "how a re-run verifies or contests"},
    {"cost", FIELD_SECTION, AT(contract, cost, struct contract_cost), .table = &contract_cost_table, .help = "where cost is asked"},
    {"owners", FIELD_MAP, AT(contract, owners, struct text_map), .disclose = true, .help = "layer: team, where it is not the usual one",
     .example = "{serving: Inference team}"},
    {"signatories", FIELD_TEXTS, AT(contract, signatories, struct text_list), .disclose = true,
     .help = "the teams that agree to this contract", .example = "[ML, Platform, Infrastructure, Procurement]"},
    {"least_grade", FIELD_CHOICE, AT(contract, least_grade, int), .fallback = "D", CHOICES(grades),
     .help = "a claim from a contract with a worse grade is refused", .example = "B"},
};
const struct field_table contract_table = TABLE(contract);

const char *metric_text(enum metric metric) {
  return metrics[metric].name;
}

const char *grade_text(enum grade grade) {
  return grades[grade].name;
}

bool field_table_demands(const struct field_table *table) {
  for (size_t i = 0; i < table->n_fields; i++)
    if (table->fields[i].required) return true;
  return false;
}
