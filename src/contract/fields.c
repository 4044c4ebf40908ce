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
    [METRIC_TIME_TO_FIRST_TOKEN] = {"time_to_first_token", "TTFT: from the scheduled time to the first token, reasoning included"},
    [METRIC_TIME_TO_FIRST_ANSWER_TOKEN] = {"time_to_first_answer_token",
                                           "TTFAT: to the first token of the answer itself, which a reasoning model begins later"},
    [METRIC_TIME_TO_FIRST_TOOL_CALL] = {"time_to_first_tool_call", "TTFTC: to the first part of a tool call, of answers that hold one"},
    [METRIC_TIME_PER_OUTPUT_TOKEN] = {"time_per_output_token", "TPOT: (last token - first token) / (tokens - 1), per request"},
    [METRIC_INTER_TOKEN_LATENCY] = {"inter_token_latency", "ITL: every gap between events that carry text, pooled"},
    [METRIC_END_TO_END] = {"end_to_end", "E2E: from the scheduled time to the last byte"},
};

static const struct field_choice loads[] = {
    [LOAD_CONSTANT] = {"constant", "open loop, equal gaps"},
    [LOAD_POISSON] = {"poisson", "open loop, exponential gaps: independent users"},
    [LOAD_BURSTY] = {"bursty", "open loop, gaps from a gamma distribution with burst_shape: below 1 in bursts, 1 is poisson"},
    [LOAD_RAMP] = {"ramp", "open loop, poisson with a rate that grows evenly from rate_per_s to to_per_s"},
    [LOAD_OFFLINE] = {"offline", "batch requests due at once, at the start of the counted window; throughput until the last has ended"},
    [LOAD_REPLAY] = {"replay", "open loop, by the times and lengths of a trace"},
    [LOAD_SINGLE_STREAM] = {"single_stream", "one request at a time"},
    [LOAD_MULTI_STREAM] = {"multi_stream", "batch requests at once, the next batch when all of them have ended"},
    [LOAD_CLOSED] = {"closed", "a fixed number of requests in flight"},
    [LOAD_CONVERSATIONS] = {"conversations", "concurrency users, each with turns that hold all before them, and think_time between them"},
    [LOAD_SATURATION] = {"saturation", "a search for the greatest sustained load, and its certificate"},
    [LOAD_CLIMB] = {"climb",
                    "a closed loop: 1 request in flight, then twice as many each time, up to concurrency, while the throughput grows; "
                    "counted at the knee, the fewest in flight that reach 95 % of the greatest throughput"},
    [LOAD_OBSERVED] = {"observed", "nothing is sent: the requests that others send are read from the network's packets (lynxbench watch)"},
};

static const struct field_choice trace_formats[] = {
    [TRACE_AUTO] = {"auto", "by what the file's first line looks like"},
    [TRACE_JSONL] = {"jsonl", "a line per request: {\"at_s\", \"prompt_tokens\", \"output_tokens\"}, or with a \"prompt\""},
    [TRACE_MOONCAKE] = {"mooncake", "a line per request: {\"timestamp\" in ms, \"input_length\", \"output_length\", \"hash_ids\"}"},
    [TRACE_BURSTGPT] = {"burstgpt", "CSV with Timestamp (s), Request tokens, Response tokens"},
    [TRACE_AZURE] = {"azure", "CSV with TIMESTAMP (date and time), ContextTokens, GeneratedTokens"},
};
static const struct field_choice length_kinds[] = {
    [LENGTH_FIXED] = {"fixed", "all alike"},
    [LENGTH_UNIFORM] = {"uniform", "evenly within spread times the length, to both sides"},
    [LENGTH_LOGNORMAL] = {"lognormal", "the length is the median, spread the deviation of its logarithm"},
    [LENGTH_PROFILE] = {"profile", "drawn from the pairs of lengths in workload.profile_file"},
};
static const struct field_choice output_kinds[] = {
    [LENGTH_FIXED] = {"fixed", "all alike"},
    [LENGTH_UNIFORM] = {"uniform", "evenly within spread times the length, to both sides"},
    [LENGTH_LOGNORMAL] = {"lognormal", "the length is the median, spread the deviation of its logarithm"},
    [LENGTH_PROFILE] = {"profile", "drawn from the pairs of lengths in workload.profile_file"},
    [LENGTH_GIVEN] = {"given", "as long as the prompts' file says: output_tokens of a line, or the answer that follows in ShareGPT"},
};
static const struct field_choice prompt_formats[] = {
    [PROMPTS_TEXT] = {"text", "one text, from which pieces are cut"},
    [PROMPTS_LINES] = {"lines", "a prompt a line"},
    [PROMPTS_JSONL] = {"jsonl",
                       "a line per prompt: {\"prompt\", \"output_tokens\", \"image\"}, the last two if there are any; image is a path"},
    [PROMPTS_SHAREGPT] = {"sharegpt", "ShareGPT's JSON: the first human turn of every conversation"},
};
static const struct field_choice steady_demands[] = {
    [STEADY_REQUIRED] = {"required", "only a final steady part of the window is counted; without one there is no claim"},
    [STEADY_REPORTED] = {"reported", "the whole window is counted, and the claim says what was found"},
};
static const struct field_choice server_profilers[] = {
    [SERVER_PROFILER_ASKED] = {"asked", "where the server was started with a folder for it, for half a second after the last session in "
                                        "which profilers run; stopping it keeps the server busy for some 10 to 30 s"},
    [SERVER_PROFILER_NEVER] = {"never", "it is left alone"},
};
static const struct field_choice machine_speeds[] = {
    [MACHINE_SPEED_NEVER] = {"never", "it is not measured"},
    [MACHINE_SPEED_BEFORE_AND_AFTER] = {"before_and_after",
                                        "for about a second on all processors, before the first session and after the last"},
};
static const struct field_choice accuracy_measures[] = {
    [ACCURACY_LIKELIHOOD] = {"likelihood", "bits per byte of held-out text by teacher forcing (echo with logprobs)"},
    [ACCURACY_EXACT_MATCH] = {"exact_match", "the share of sampled answers that equal the reference's"},
    [ACCURACY_TOKEN_AGREEMENT] = {"token_agreement", "the share of the reference's words, from the first, before the answers part"},
    [ACCURACY_SCORER] = {"scorer", "the mean of what a command gives each sampled answer"},
};
static const struct field_choice search_arrival_kinds[] = {
    [SEARCH_POISSON] = {"poisson", "independent users"}, [SEARCH_CONSTANT] = {"constant", "equal gaps"}};
static const struct field_choice apis[] = {
    [API_COMPLETIONS] = {"completions", "POST /v1/completions"},
    [API_CHAT] = {"chat", "POST /v1/chat/completions"},
    [API_RESPONSES] = {"responses", "POST /v1/responses"},
    [API_EMBEDDINGS] = {"embeddings", "POST /v1/embeddings: no stream, no tokens out; requests are what is counted"},
    [API_NATIVE] = {"native", "the server's own route: llama.cpp's /completion, Ollama's /api/generate, TGI's /generate_stream"},
    [API_NATIVE_CHAT] = {"native_chat", "Ollama's /api/chat"},
};
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
    {"environment", FIELD_TEXTS, AT(contract_start, environment, struct text_list),
     .help = "variables that it gets besides the usual ones (PATH, HOME, locale, those that libraries and GPUs read; none with a secret's "
             "name): NAME=VALUE, or NAME for the value that lynxbench has",
     .example = "[HF_TOKEN, VLLM_LOGGING_LEVEL=WARNING]"},
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
    {"show_arguments", FIELD_TEXTS, AT(contract_executor, show_arguments, struct text_list),
     .help = "arguments of the serving process whose values are recorded too; of those that are not known to be settings there are salted "
             "digests",
     .example = "[--mode]"},
    {"start", FIELD_SECTION, AT(contract_executor, start, struct contract_start), .table = &contract_start_table,
     .help = "how to start the executor; then every session is a fresh process"},
    {"expect", FIELD_MAP, AT(contract_executor, expect, struct text_map), .disclose = true,
     .help =
         "facts that must hold, as layer.key: value (lynxbench capture lists them by layer); a run on another executor is out of contract",
     .example = "{accelerator.cpu.model: AMD EPYC}"},
    {"declare", FIELD_MAP, AT(contract_executor, declare, struct text_map),
     .help = "facts that somebody vouches for, as layer.key: value; where a fact with that key can be read, the two are compared; "
             "else the claim says that nothing was compared",
     .example = "{facility.cooling: air}"},
    {"hosts", FIELD_MAP, AT(contract_executor, hosts, struct text_map),
     .help = "the other hosts of the executor, as role: file made there by lynxbench capture --out; 'none' for one that was not captured, "
             "which the claim then names",
     .example = "{server-1: gpu-7.json, load-balancer: none}"},
};
static const struct field_table contract_executor_table = TABLE(contract_executor);

static const struct field contract_prompts_fields[] = {
    {"file", FIELD_TEXT, AT(contract_prompts, file, const char *),
     .help = "a text to cut prompts from, at seeded places, or a file of prompts (format), of which count are taken without repetition, by "
             "seed; without it they are seeded words",
     .example = "prompts.txt"},
    {"format", FIELD_CHOICE, AT(contract_prompts, format, int), .fallback = "text", CHOICES(prompt_formats), .help = "what the file is",
     .example = "sharegpt"},
    {"tokens", FIELD_INTEGER, AT(contract_prompts, tokens, int64_t), .least = "1", .greatest = "1000000",
     .help = "length of each in tokens, exactly, by the tokenizer; instead of bytes", .example = "512"},
    {"tokenizer", FIELD_TEXT, AT(contract_prompts, tokenizer, const char *),
     .help = "what counts tokens: server (its own route, /tokenize; it must be running), or a tokenizer.json: of prompts with tokens (its "
             "whole words are used), and of answers for the check usage",
     .example = "tokenizer.json"},
    {"image", FIELD_TEXT, AT(contract_prompts, image, const char *),
     .help = "with each prompt a picture of seeded noise, WIDTHxHEIGHT, as a data URL", .example = "\"64x64\""},
    {"withhold", FIELD_BOOL, AT(contract_prompts, withhold, bool), .fallback = "false",
     .help = "the bundle holds salted digests of what was sent instead of its text", .example = "true"},
    {"count", FIELD_INTEGER, AT(contract_prompts, count, int64_t), .fallback = "64", .least = "1", .greatest = "100000",
     .help = "how many different prompts; a server's prefix cache makes repeated ones cheaper", .example = "64"},
    {"bytes", FIELD_INTEGER, AT(contract_prompts, bytes, int64_t), .fallback = "256", .least = "1", .greatest = "1000000",
     .help = "length of each in bytes", .example = "256"},
    {"distribution", FIELD_CHOICE, AT(contract_prompts, distribution, int), .fallback = "fixed", CHOICES(length_kinds),
     .help = "how lengths vary around bytes", .example = "lognormal"},
    {"spread", FIELD_NUMBER, AT(contract_prompts, spread, double), .fallback = "0", .least = "0", .greatest = "4",
     .help = "how widely, for uniform and lognormal", .example = "0.5"},
    {"shared_prefix_bytes", FIELD_INTEGER, AT(contract_prompts, shared_prefix_bytes, int64_t), .fallback = "0", .least = "0",
     .greatest = "1000000", .help = "a beginning that prompts share, as a system prompt is shared; beside bytes", .example = "512"},
    {"prefix_groups", FIELD_INTEGER, AT(contract_prompts, prefix_groups, int64_t), .fallback = "1", .least = "1", .greatest = "100000",
     .help = "how many different shared beginnings", .example = "4"},
};
static const struct field_table contract_prompts_table = TABLE(contract_prompts);

static const struct field contract_workload_fields[] = {
    {"driver", FIELD_TEXT, AT(contract_workload, driver, const char *), .fallback = "http",
     .help = "how the workload is run: http, kserve, onnxruntime, command, or null to measure the instrument itself (docs/drivers.md)",
     .example = "http"},
    {"options", FIELD_MAP, AT(contract_workload, options, struct text_map),
     .help = "the driver's own settings; `lynxbench lint --drivers` lists them", .example = "{server: vllm}"},
    {"api", FIELD_CHOICE, AT(contract_workload, api, int), .fallback = "completions", CHOICES(apis), .help = "the route",
     .example = "chat"},
    {"model", FIELD_TEXT, AT(contract_workload, model, const char *), .fallback = "", .disclose = true,
     .help = "the model's name, as the server knows it", .example = "my-model"},
    {"profile", FIELD_TEXT, AT(contract_workload, profile, const char *), .disclose = true,
     .help = "the real workload that this one represents, in words; without it representativeness is unknown",
     .example = "chat traffic of 2026-11-12"},
    {"profile_file", FIELD_TEXT, AT(contract_workload, profile_file, const char *),
     .help = "the profile that `lynxbench profile` made: every claim then states the distance to it", .example = "chat.profile.json"},
    {"api_key_env", FIELD_TEXT, AT(contract_workload, api_key_env, const char *),
     .help = "the environment variable that holds the API key, ..._API_KEY or ..._TOKEN; the key itself is never recorded",
     .example = "OPENAI_API_KEY"},
    {"api_key_file", FIELD_TEXT, AT(contract_workload, api_key_file, const char *),
     .help = "a file whose first line is the API key, instead of a variable; the key itself is never recorded", .example = "key.txt"},
    {"user_agent", FIELD_TEXT, AT(contract_workload, user_agent, const char *), .fallback = "python-httpx/0.28.1",
     .help =
         "what requests say of who sends them; an ordinary one, so that no server treats the instrument otherwise than its users; '' for "
         "none",
     .example = "my-client/1.0"},
    {"stream", FIELD_BOOL, AT(contract_workload, stream, bool), .fallback = "true",
     .help = "ask for a stream; without one there is no first-token time", .example = "true"},
    {"ignore_eos", FIELD_BOOL, AT(contract_workload, ignore_eos, bool), .fallback = "true",
     .help = "ask the server to write output_tokens tokens whatever the model wants", .example = "true"},
    {"continuous_usage", FIELD_BOOL, AT(contract_workload, continuous_usage, bool), .fallback = "false",
     .help = "ask for running usage, which reports the tokens of every chunk (vLLM, SGLang, lynxbench-ref)", .example = "true"},
    {"output_tokens", FIELD_INTEGER, AT(contract_workload, output_tokens, int64_t), .fallback = "64", .least = "1", .greatest = "1000000",
     .disclose = true, .help = "max_tokens of every request", .example = "64"},
    {"output_distribution", FIELD_CHOICE, AT(contract_workload, output_distribution, int), .fallback = "fixed", CHOICES(output_kinds),
     .help = "how max_tokens varies around output_tokens", .example = "lognormal"},
    {"output_spread", FIELD_NUMBER, AT(contract_workload, output_spread, double), .fallback = "0", .least = "0", .greatest = "4",
     .help = "how widely, for uniform and lognormal", .example = "0.5"},
    {"bytes_per_token", FIELD_NUMBER, AT(contract_workload, bytes_per_token, double), .fallback = "4", .least = "0.5", .greatest = "64",
     .help = "to make prompts of a profile's or trace's tokens; what the server counts is reported", .example = "4"},
    {"temperature", FIELD_NUMBER, AT(contract_workload, temperature, double), .fallback = "0", .least = "0", .greatest = "10",
     .help = "sampling temperature", .example = "0"},
    {"prompts", FIELD_SECTION, AT(contract_workload, prompts, struct contract_prompts), .table = &contract_prompts_table, .disclose = true,
     .help = "what is asked"},
};
static const struct field_table contract_workload_table = TABLE(contract_workload);

static const struct field contract_search_fields[] = {
    {"resolution", FIELD_NUMBER, AT(contract_search, resolution, double), .fallback = "0.05", .least = "0.005", .greatest = "1",
     .help = "the failing load of the certificate is at most this share above the passing one; a coarser certificate (0.1, 0.2) says so",
     .example = "0.05"},
    {"arrivals", FIELD_CHOICE, AT(contract_search, arrivals, int), .fallback = "poisson", CHOICES(search_arrival_kinds),
     .help = "how requests arrive at each load", .example = "poisson"},
    {"looks_at_most", FIELD_INTEGER, AT(contract_search, looks_at_most, int64_t), .fallback = "6", .least = "1", .greatest = "100",
     .help = "how many windows one load may take until it is decided", .example = "6"},
};
static const struct field_table contract_search_table = TABLE(contract_search);

static const struct field contract_regime_fields[] = {
    {"load", FIELD_CHOICE, AT(contract_regime, load, int), .fallback = "poisson", CHOICES(loads), .help = "how requests arrive",
     .example = "poisson"},
    {"rate_per_s", FIELD_NUMBER, AT(contract_regime, rate_per_s, double), .least = "0.001", .greatest = "10000000",
     .help = "requests per second, for open-loop load; where a ramp or a search for saturation begins", .example = "20"},
    {"to_per_s", FIELD_NUMBER, AT(contract_regime, to_per_s, double), .least = "0.001", .greatest = "10000000",
     .help = "ramp: the rate at its end; saturation: the greatest load that may be tried", .example = "200"},
    {"burst_shape", FIELD_NUMBER, AT(contract_regime, burst_shape, double), .fallback = "0.5", .least = "0.05", .greatest = "100",
     .help = "bursty: the shape of the gamma distribution of gaps", .example = "0.25"},
    {"batch", FIELD_INTEGER, AT(contract_regime, batch, int64_t), .fallback = "8", .least = "1", .greatest = "1000000",
     .help = "multi_stream: requests of one batch; offline: all of them", .example = "8"},
    {"turns", FIELD_INTEGER, AT(contract_regime, turns, int64_t), .fallback = "4", .least = "1", .greatest = "1000",
     .help = "conversations: requests of one conversation", .example = "4"},
    {"think_time", FIELD_DURATION, AT(contract_regime, think_time_ns, int64_t), .fallback = "1s", .least = "0s", .greatest = "1h",
     .help = "conversations: mean time (exponential) between an answer and the next turn", .example = "1s"},
    {"trace", FIELD_TEXT, AT(contract_regime, trace, const char *), .help = "replay: the file", .example = "trace.jsonl"},
    {"trace_format", FIELD_CHOICE, AT(contract_regime, trace_format, int), .fallback = "auto", CHOICES(trace_formats),
     .help = "replay: what the file is", .example = "azure"},
    {"trace_speed", FIELD_NUMBER, AT(contract_regime, trace_speed, double), .fallback = "1", .least = "0.001", .greatest = "1000",
     .help = "replay: how many times faster than it was", .example = "2"},
    {"search", FIELD_SECTION, AT(contract_regime, search, struct contract_search), .table = &contract_search_table,
     .help = "saturation: how it is searched"},
    {"concurrency", FIELD_INTEGER, AT(contract_regime, concurrency, int64_t), .least = "1", .greatest = "65536",
     .help = "closed: requests in flight; open loop: the most in flight before an arrival must wait, and is then late. Left out of an open "
             "loop: no limit but the machine's",
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
    {"attribution_sessions", FIELD_INTEGER, AT(contract_method, attribution_sessions, int64_t), .fallback = "0", .least = "0",
     .greatest = "1000",
     .help = "how many sessions are followed by one in which profilers run: it counts into no figure, and divides the time",
     .example = "2"},
    {"seed", FIELD_INTEGER, AT(contract_method, seed, int64_t), .fallback = "1", .least = "0", .greatest = "9007199254740991",
     .help = "of arrivals and prompts; session k of it uses seed + k", .example = "1"},
    {"threads", FIELD_INTEGER, AT(contract_method, threads, int64_t), .fallback = "1", .least = "1", .greatest = "256",
     .help = "of the load engine", .example = "1"},
    {"processors", FIELD_TEXT, AT(contract_method, processors, const char *),
     .help = "the processors that load threads may run on, away from the executor's, as taskset writes them", .example = "\"2-3\""},
    {"confidence", FIELD_NUMBER, AT(contract_method, confidence, double), .fallback = "0.95", .least = "0.5", .greatest = "0.9999",
     .help = "of every interval", .example = "0.95"},
    {"instrument_error_at_most", FIELD_NUMBER, AT(contract_method, instrument_error_at_most, double), .fallback = "0.05", .least = "0.001",
     .greatest = "1", .disclose = true,
     .help = "a figure that the instrument's own lateness could have changed by a larger share is not stated", .example = "0.02"},
    {"stolen_at_most", FIELD_NUMBER, AT(contract_method, stolen_at_most, double), .fallback = "0.1", .least = "0", .greatest = "1",
     .disclose = true,
     .help = "no claim is made if the hypervisor took a larger share of this machine's processor time in the counted windows",
     .example = "0.05"},
    {"sampling_at_most", FIELD_NUMBER, AT(contract_method, sampling_at_most, double), .fallback = "0.01", .least = "0", .greatest = "1",
     .help = "share of this machine's processor time that sampling its threads may take: it looks less often where it would take more; 0: "
             "only what the run is judged by",
     .example = "0.002"},
    {"server_profiler", FIELD_CHOICE, AT(contract_method, server_profiler, int), CHOICES(server_profilers),
     .help = "the server's own profiler: asked (the default) or never", .example = "never"},
    {"machine_speed", FIELD_CHOICE, AT(contract_method, machine_speed, int), CHOICES(machine_speeds),
     .help = "when the speed of the machine itself is measured, so that `history` can separate a machine that drifted from an executor "
             "that changed",
     .example = "before_and_after"},
    {"failures_at_most", FIELD_NUMBER, AT(contract_method, failures_at_most, double), .fallback = "0.01", .least = "0", .greatest = "1",
     .help = "no claim is made if a larger share of the counted requests failed", .example = "0.01"},
    {"steady", FIELD_CHOICE, AT(contract_method, steady, int), .fallback = "required", CHOICES(steady_demands),
     .help = "what is demanded of the counted window", .example = "required"},
    {"steady_share", FIELD_NUMBER, AT(contract_method, steady_share, double), .fallback = "0.5", .least = "0.1", .greatest = "1",
     .help = "the least share of the counted window that must be steady, up to its end", .example = "0.5"},
    {"steady_tolerance", FIELD_NUMBER, AT(contract_method, steady_tolerance, double), .fallback = "0.2", .least = "0.01", .greatest = "1",
     .help = "a drift or change below this share of the level is none", .example = "0.1"},
    {"precision_target", FIELD_NUMBER, AT(contract_method, precision_target, double), .least = "0.0001", .greatest = "1",
     .help = "sessions go on until the throughput's interval is within this share to each side, and every objective's quantile is bounded",
     .example = "0.02"},
    {"sessions_at_most", FIELD_INTEGER, AT(contract_method, sessions_at_most, int64_t), .fallback = "20", .least = "2", .greatest = "1000",
     .help = "with precision_target: the last look", .example = "20"},
    {"look_every", FIELD_INTEGER, AT(contract_method, look_every, int64_t), .fallback = "5", .least = "1", .greatest = "1000",
     .help = "with precision_target: sessions between two looks, after the first at method.sessions; each look is paid for",
     .example = "5"},
    {"budget", FIELD_DURATION, AT(contract_method, budget_ns, int64_t), .least = "1s", .greatest = "720h",
     .help = "no session begins after this time; what was measured by then is judged. A search aims at the finest of "
             "regime.search.resolution, 0.1 and 0.2 that this time allows",
     .example = "1h"},
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
    {"measure", FIELD_CHOICE, AT(contract_accuracy, measure, int), .fallback = "likelihood", CHOICES(accuracy_measures),
     .help = "how it is measured; answers are sampled from the counted window", .example = "exact_match"},
    {"text_file", FIELD_TEXT, AT(contract_accuracy, text_file, const char *),
     .help = "likelihood: held-out text, forced after the counted window of every session", .example = "held-out.txt"},
    {"references", FIELD_TEXT, AT(contract_accuracy, references, const char *),
     .help = "exact_match, token_agreement, scorer: a line per prompt, {\"prompt\", \"output\"}; the workload then asks these prompts",
     .example = "references.jsonl"},
    {"samples", FIELD_INTEGER, AT(contract_accuracy, samples, int64_t), .fallback = "64", .least = "1", .greatest = "100000",
     .help = "answers kept per session", .example = "64"},
    {"command", FIELD_TEXTS, AT(contract_accuracy, command, struct text_list),
     .help = "scorer: reads lines {\"prompt\", \"output\", \"reference\"}, writes one number from 0 to 1 per line",
     .example = "[python3, score.py]"},
    {"reference", FIELD_TEXT, AT(contract_accuracy, reference, const char *), .fallback = "f32",
     .help = "the precision that the others are compared with", .example = "f32"},
    {"windows", FIELD_INTEGER, AT(contract_accuracy, windows, int64_t), .fallback = "16", .least = "1", .greatest = "10000",
     .help = "how many pieces of the text", .example = "16"},
    {"window_bytes", FIELD_INTEGER, AT(contract_accuracy, window_bytes, int64_t), .fallback = "256", .least = "8", .greatest = "100000",
     .help = "length of each", .example = "256"},
    {"at_least_ratio", FIELD_NUMBER, AT(contract_accuracy, at_least_ratio, double), .least = "0", .greatest = "1", .required = true,
     .help = "the gate: this precision's accuracy / the reference's (likelihood: reference bits per byte / this one's)", .example = "0.99"},
};
static const struct field_table contract_accuracy_table = TABLE(contract_accuracy);

static const struct field contract_decision_fields[] = {
    {"rule", FIELD_CHOICE, AT(contract_decision, rule, int), .fallback = "equivalence", CHOICES(decision_rules),
     .help = "how a re-run is judged", .example = "equivalence"},
    {"margin", FIELD_NUMBER, AT(contract_decision, margin, double), .fallback = "0.05", .least = "0.0001", .greatest = "1",
     .help = "two figures within this share of one another count as the same", .example = "0.05"},
    {"conditions_differ_at_most", FIELD_NUMBER, AT(contract_decision, conditions_differ_at_most, double), .fallback = "0.03", .least = "0",
     .greatest = "1",
     .help = "a share of the machine's processor time: two sides whose neighbours, steal or throttling differ by more are compared by what "
             "the server felt of them, or not at all",
     .example = "0.03"},
    {"baseline_runs", FIELD_INTEGER, AT(contract_decision, baseline_runs, int64_t), .least = "3", .greatest = "1000",
     .help = "a gate compares with so many of the newest runs of the baseline's level (20, where it is not stated)", .example = "30"},
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

static const struct field_choice operating_targets[] = {
    [TARGET_LATENCY] = {"latency", "answers come fast: the first objective's latency is the figure that counts"},
    [TARGET_THROUGHPUT] = {"throughput", "much work is done: the throughput counts, where the objectives hold"},
    [TARGET_COST] = {"cost", "the work costs little: the cost per million output tokens counts, where the objectives hold"},
};
static const struct field contract_targets_fields[] = {
    {"optimise_for", FIELD_CHOICE, AT(contract_targets, optimise_for, int), CHOICES(operating_targets),
     .help = "what the executor is operated for: the figure that is named first, and by which the better of two is told",
     .example = "throughput"},
    {"requests_per_s", FIELD_NUMBER, AT(contract_targets, requests_per_s, double), .least = "0.001", .greatest = "10000000",
     .help = "what one executor was promised to sustain", .example = "300"},
    {"cost_per_million", FIELD_NUMBER, AT(contract_targets, cost_per_million, double), .least = "0", .greatest = "1000000000",
     .help = "what a million output tokens were promised to cost, in cost.currency (requests, where answers hold no tokens)",
     .example = "2.5"},
    {"demand_per_s", FIELD_NUMBER, AT(contract_targets, demand_per_s, double), .least = "0.001", .greatest = "10000000",
     .help = "requests per second that all executors together have to answer", .example = "1200"},
};
static const struct field_table contract_targets_table = TABLE(contract_targets);

const struct field_choice question_kinds[QUESTION_KINDS] = {
    [QUESTION_HOW_FAST] = {"how_fast", "How fast is it?"},
    [QUESTION_HOW_MANY] = {"how_many", "How many requests can it sustain?"},
    [QUESTION_BETTER] = {"better", "Did it get better, and by how much?"},
    [QUESTION_AS_ORDERED] = {"as_ordered", "Is it what was agreed or ordered?"},
    [QUESTION_COST] = {"cost", "What does the work cost?"},
    [QUESTION_WHICH] = {"which", "Which is better?"},
    [QUESTION_LIMIT] = {"limit", "What limits it, and whose is that?"},
    [QUESTION_PRECISION] = {"precision", "May the precision be lowered?"},
};

static const struct field contract_fields[] = {
    {"lynxbench", FIELD_INTEGER, AT(contract, version, int64_t), .least = "1", .greatest = "1", .required = true,
     .help = "the version of this format", .example = "1"},
    {"name", FIELD_TEXT, AT(contract, name, const char *), .fallback = "unnamed", .help = "a short name", .example = "chat-latency"},
    {"question", FIELD_TEXT, AT(contract, question, const char *), .disclose = true, .help = "what the teams want to know",
     .example = "Does the chat model hold its objective at 20 requests/s?"},
    {"question_kind", FIELD_CHOICE, AT(contract, question_kind, int), CHOICES(question_kinds),
     .help = "which kind of question that is: it decides which figure answers it. Left out, it is taken from the question's words",
     .example = "how_fast"},
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
    {"checks", FIELD_TEXTS, AT(contract, checks, struct text_list), .fallback = "[length, usage, first_token, failures]",
     .help = "that the workload was really run: these from the rows; caching, prefix and seed send requests of their own",
     .example = "[length, usage, first_token, failures, caching, prefix, seed]"},
    {"accuracy", FIELD_SECTION, AT(contract, accuracy, struct contract_accuracy), .table = &contract_accuracy_table, .disclose = true,
     .help = "the accuracy that speed must not be bought with"},
    {"decision", FIELD_SECTION, AT(contract, decision, struct contract_decision), .table = &contract_decision_table,
     .help = "how a re-run verifies or contests"},
    {"cost", FIELD_SECTION, AT(contract, cost, struct contract_cost), .table = &contract_cost_table, .help = "where cost is asked"},
    {"targets", FIELD_SECTION, AT(contract, targets, struct contract_targets), .table = &contract_targets_table, .later = true,
     .help = "what was promised, and for what it is operated"},
    {"owners", FIELD_MAP, AT(contract, owners, struct text_map), .disclose = true, .help = "layer: team, where it is not the usual one",
     .example = "{serving: Inference team}"},
    {"signatories", FIELD_TEXTS, AT(contract, signatories, struct text_list), .disclose = true,
     .help = "the teams that agree to this contract", .example = "[ML, Platform, Infrastructure, Procurement]"},
    {"least_grade", FIELD_CHOICE, AT(contract, least_grade, int), .fallback = "D", CHOICES(grades),
     .help = "a claim from a contract with a worse grade is refused", .example = "B"},
};
const struct field_table contract_table = TABLE(contract);

bool load_is_closed(enum load_kind load) {
  return load == LOAD_SINGLE_STREAM || load == LOAD_MULTI_STREAM || load == LOAD_CLOSED || load == LOAD_CONVERSATIONS || load == LOAD_CLIMB;
}

const char *load_text(enum load_kind load) {
  return loads[load].name;
}

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
