/* The kserve driver: the Open Inference Protocol v2 over HTTP, as Triton, OpenVINO Model Server and MLServer serve it. The model's metadata
 * say what it takes; inputs are made to that, or read from a file; tensors travel as bytes behind the JSON, or as JSON.
 *
 * gRPC is not spoken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/number.h"
#include "drivers/exchange.h"
#include "base/json_scan.h"
#include "drivers/tensor.h"

enum { KSERVE_VERSION, KSERVE_TENSORS, KSERVE_SIZES, KSERVE_INPUTS, KSERVE_BELOW, KSERVE_STATISTICS };
enum { METADATA_MAX = 4 << 20, ASK_WITHIN_NS = 10000000 };

static const struct driver_option kserve_options[] = {
    [KSERVE_VERSION] = {.name = "version", .kind = OPTION_TEXT, .help = "the model's version; else as the server chooses", .example = "1"},
    [KSERVE_TENSORS] = {.name = "tensors",
                        .kind = OPTION_CHOICE,
                        .fallback = "auto",
                        .choices = "auto, binary, json",
                        .help = "how tensors travel, both ways: as bytes behind the JSON (the binary data extension), or in it; auto: as "
                                "bytes, if the server lists the extension",
                        .example = "json"},
    [KSERVE_SIZES] = {.name = "sizes",
                      .kind = OPTION_TEXT,
                      .help = "sizes of dimensions that the model leaves open (-1), by INPUT.INDEX, or * for all; else 1",
                      .example = "'input.0=8'"},
    [KSERVE_INPUTS] =
        {.name = "inputs",
         .kind = OPTION_TEXT,
         .help = "a file with a request a line, {\"inputs\": [{\"name\", \"shape\", \"datatype\", \"data\"}]}; else made from the seed",
         .example = "requests.jsonl"},
    [KSERVE_BELOW] = {.name = "integers_below",
                      .kind = OPTION_INTEGER,
                      .fallback = "100",
                      .least = 1,
                      .greatest = INT64_MAX,
                      .help = "made integers (token ids, indexes) are below this",
                      .example = "30000"},
    [KSERVE_STATISTICS] = {.name = "statistics",
                           .kind = OPTION_BOOL,
                           .fallback = "true",
                           .help = "ask Triton's statistics before and after, for the time in its queue and in computing",
                           .example = "false"},
};

struct kserve_driver {
  struct driver_options options;
  struct exchange *exchange;
  struct arena arena;
  bool binary;
  const char *path;        /* "/v2/models/m[/versions/1]" */
  struct tensor *declared; /* the model's inputs */
  const char **outputs;
  size_t n_inputs, n_outputs;
  struct fact_list facts;
};

static void kserve_close(void *state) {
  struct kserve_driver *driver = state;
  if (driver == NULL) return;
  exchange_close(driver->exchange);
  fact_list_release(&driver->facts);
  arena_release(&driver->arena);
  free(driver);
}

/* --- what the server says of itself and of the model --- */

static enum lynx_status ask(const struct kserve_driver *driver, const char *path, json_t **ret, struct lynx_error *error) {
  char url[1200], found[120];
  struct buffer body;
  int code = 0;
  buffer_init(&body, METADATA_MAX);
  endpoint_route(driver->options.endpoint, path, url, sizeof url);
  struct control_request request = {
      .url = url, .bearer = driver->options.bearer, .ca_file = driver->options.ca_file, .timeout_ns = (int64_t)ASK_WITHIN_NS * 1000};
  enum lynx_status status = control_fetch(&request, &body, &code, error);
  *ret = status == LYNX_OK && code == 200 ? json_parse(body.data, body.length, METADATA_MAX, NULL) : NULL;
  if (status == LYNX_OK && !json_is_object(*ret)) {
    json_decref(*ret);
    *ret = NULL;
    secret_redact(text_sanitise(found, sizeof found, body.data, body.length), driver->options.bearer);
    status = lynx_fail(error, LYNX_INPUT, "%s answers %d and no JSON object: '%s'", url, code, found);
  }
  buffer_release(&body);
  return status;
}

static void add_fact(struct kserve_driver *driver, enum layer layer, const char *key, const char *value, const char *source) {
  if (value == NULL || value[0] == 0) return;
  fact_add(
      &driver->facts,
      &(struct fact){.layer = layer, .kind = FACT_IDENTITY, .status = FACT_READ, .key = key, .value = value, .unit = "", .source = source});
}

/* {"name":"triton","version":"2.53.0","extensions":[...]} */
static enum lynx_status read_server(struct kserve_driver *driver, struct lynx_error *error) {
  json_t *root;
  enum lynx_status status = ask(driver, "/v2", &root, error);
  if (status != LYNX_OK) return status;
  char list[600] = "";
  size_t n = 0;
  const json_t *extensions = json_object_get(root, "extensions");
  bool binary = false;
  for (size_t i = 0; i < json_array_size(extensions) && n < sizeof list; i++) {
    const char *name = json_string_value(json_array_get(extensions, i));
    if (name == NULL) continue;
    binary = binary || strcmp(name, "binary_tensor_data") == 0;
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", name);
  }
  add_fact(driver, LAYER_SERVING, "kserve.server", json_get_text(root, "name", ""), "/v2");
  add_fact(driver, LAYER_SERVING, "kserve.version", json_get_text(root, "version", ""), "/v2");
  add_fact(driver, LAYER_SERVING, "kserve.extensions", list, "/v2");
  json_decref(root);
  const char *wanted = driver->options.values[KSERVE_TENSORS];
  driver->binary = strcmp(wanted, "binary") == 0 || (strcmp(wanted, "auto") == 0 && binary);
  if (driver->binary && !binary)
    return lynx_fail(error, LYNX_INPUT,
                     "the server does not list the extension binary_tensor_data (it has: %.200s); set workload.options.tensors: json",
                     list[0] != 0 ? list : "none");
  return LYNX_OK;
}

static enum lynx_status read_tensor(struct kserve_driver *driver, const json_t *object, struct tensor *ret, struct lynx_error *error) {
  const struct tensor_sizes sizes = {driver->options.values[KSERVE_SIZES]};
  const char *name = json_get_text(object, "name", NULL), *type = json_get_text(object, "datatype", NULL);
  const json_t *shape = json_object_get(object, "shape");
  char clean[100];
  if (name == NULL || type == NULL || !json_is_array(shape))
    return lynx_fail(error, LYNX_INPUT, "the model's metadata: input '%.60s' lacks its name, datatype (found '%.20s') or shape",
                     name != NULL ? name : "", type != NULL ? type : "");
  *ret = (struct tensor){.name = arena_copy(&driver->arena, name), .n_dims = json_array_size(shape)};
  text_sanitise(clean, sizeof clean, name, strlen(name));
  if (!tensor_type_parse(type, &ret->type))
    return lynx_fail(error, LYNX_INPUT,
                     "input '%s' is of datatype '%.20s'; BOOL, UINT8 to INT64, FP16, BF16, FP32, FP64 and BYTES are made", clean, type);
  if (ret->n_dims > TENSOR_DIMS)
    return lynx_fail(error, LYNX_INPUT, "input '%s' has %zu dimensions; at most %d are made", clean, ret->n_dims, TENSOR_DIMS);
  for (size_t i = 0; i < ret->n_dims; i++) {
    const json_t *dim = json_array_get(shape, i);
    int64_t size = json_is_integer(dim) ? (int64_t)json_integer_value(dim) : -1;
    ret->dims[i] = size >= 0 ? size : tensor_size_of(&sizes, ret->name, i, NULL);
  }
  return LYNX_OK;
}

static enum lynx_status read_model(struct kserve_driver *driver, struct lynx_error *error) {
  json_t *root;
  enum lynx_status status = ask(driver, driver->path, &root, error);
  if (status != LYNX_OK) return status;
  const json_t *inputs = json_object_get(root, "inputs"), *outputs = json_object_get(root, "outputs");
  size_t n_inputs = json_array_size(inputs), n_outputs = json_array_size(outputs);
  if (n_inputs > TENSORS_MAX || n_outputs > TENSORS_MAX)
    status = lynx_fail(error, LYNX_INPUT, "the model has %zu inputs and %zu outputs; at most %d are taken", n_inputs, n_outputs,
                       TENSORS_MAX);
  driver->declared = arena_alloc(&driver->arena, n_inputs + 1, sizeof *driver->declared);
  driver->outputs = arena_alloc(&driver->arena, n_outputs + 1, sizeof *driver->outputs);
  for (size_t i = 0; i < n_inputs && status == LYNX_OK; i++)
    status = read_tensor(driver, json_array_get(inputs, i), &driver->declared[i], error);
  for (size_t i = 0; i < n_outputs && status == LYNX_OK; i++)
    driver->outputs[driver->n_outputs++] = arena_copy(&driver->arena, json_get_text(json_array_get(outputs, i), "name", ""));
  driver->n_inputs = status == LYNX_OK ? n_inputs : 0;
  add_fact(driver, LAYER_APPLICATION, "kserve.model", json_get_text(root, "name", ""), driver->path);
  add_fact(driver, LAYER_RUNTIME, "kserve.platform", json_get_text(root, "platform", ""), driver->path);
  for (size_t i = 0; i < driver->n_inputs; i++) {
    char key[96], shape[200];
    const struct tensor *t = &driver->declared[i];
    size_t n = (size_t)snprintf(shape, sizeof shape, "%s", tensor_type_text(t->type));
    for (size_t k = 0; k < t->n_dims && n < sizeof shape; k++)
      n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", k == 0 ? " " : "x", (long long)t->dims[k]);
    (void)snprintf(key, sizeof key, "kserve.input.%.60s", t->name);
    add_fact(driver, LAYER_APPLICATION, key, shape, "the model's metadata, open dimensions as the contract sets them");
  }
  json_decref(root);
  return status;
}

/* --- what is asked --- */

static void put_shape(struct json_writer *json, const struct tensor *t) {
  json_key(json, "shape");
  json_open_array(json);
  for (size_t i = 0; i < t->n_dims; i++) json_int(json, t->dims[i]);
  json_close(json);
}

static double float_of(enum tensor_type type, const char *p) {
  double wide;
  float single;
  memcpy(&wide, p, type == TENSOR_FP64 ? 8 : 0);
  if (type == TENSOR_FP64) return wide;
  memcpy(&single, p, sizeof single);
  return (double)single;
}

static int64_t integer_of(enum tensor_type type, const char *p) {
  size_t bytes = tensor_type_bytes(type);
  uint64_t value = 0;
  memcpy(&value, p, bytes);
  bool is_signed = type >= TENSOR_INT8 && type <= TENSOR_INT64;
  if (is_signed && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0) value |= ~(uint64_t)0 << (8 * bytes);
  return (int64_t)value;
}

static void put_data(struct json_writer *json, const struct tensor *t) {
  size_t each = tensor_type_bytes(t->type);
  json_key(json, "data");
  json_open_array(json);
  for (size_t at = 0; at < t->data.length;) {
    const char *p = t->data.ptr + at;
    if (t->type == TENSOR_BYTES) {
      uint32_t n;
      memcpy(&n, p, sizeof n);
      json_bytes(json, p + 4, n);
      at += 4 + n;
      continue;
    }
    if (t->type == TENSOR_BOOL) json_bool(json, *p != 0);
    else if (t->type == TENSOR_FP32 || t->type == TENSOR_FP64) json_double(json, float_of(t->type, p));
    else json_int(json, integer_of(t->type, p));
    at += each;
  }
  json_close(json);
}

static void put_input(struct json_writer *json, const struct tensor *t, bool binary) {
  json_open_object(json);
  json_put_text(json, "name", t->name);
  put_shape(json, t);
  json_put_text(json, "datatype", tensor_type_text(t->type));
  if (binary) {
    json_key(json, "parameters");
    json_open_object(json);
    json_put_int(json, "binary_data_size", (int64_t)t->data.length);
    json_close(json);
  } else put_data(json, t);
  json_close(json);
}

static bool write_request(const struct kserve_driver *driver, const struct tensor *inputs, struct buffer *ret, size_t *ret_json_length) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_key(&json, "inputs");
  json_open_array(&json);
  for (size_t i = 0; i < driver->n_inputs; i++) put_input(&json, &inputs[i], driver->binary);
  json_close(&json);
  json_key(&json, "outputs");
  json_open_array(&json);
  for (size_t i = 0; i < driver->n_outputs; i++) {
    json_open_object(&json);
    json_put_text(&json, "name", driver->outputs[i]);
    if (driver->binary) {
      json_key(&json, "parameters");
      json_open_object(&json);
      json_put_bool(&json, "binary_data", true);
      json_close(&json);
    }
    json_close(&json);
  }
  json_close(&json);
  json_close(&json);
  bool good = json_finish(&json);
  *ret_json_length = ret->length;
  for (size_t i = 0; i < driver->n_inputs && good && driver->binary; i++)
    good = buffer_append(ret, inputs[i].data.ptr, inputs[i].data.length);
  return good;
}

static enum lynx_status choose_inputs(struct kserve_driver *driver, size_t index, const struct tensor_set *given, struct bytes text,
                                      struct arena *scratch, struct tensor *ret, struct lynx_error *error) {
  int64_t below = atoll(driver->options.values[KSERVE_BELOW]); /* checked: an integer in range */
  size_t room = EXCHANGE_BODY_MAX;
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < driver->n_inputs && given == NULL && status == LYNX_OK; i++) { /* before any of it is made */
    size_t n = 0;
    if (!tensor_bytes(&driver->declared[i], text.length, &n) || n > room)
      status = lynx_fail(error, LYNX_LIMIT,
                         "the model's inputs, as the contract sizes them, are more than %d bytes of a request (at '%.100s')",
                         EXCHANGE_BODY_MAX, driver->declared[i].name);
    else room -= n;
  }
  for (size_t i = 0; i < driver->n_inputs && status == LYNX_OK; i++) {
    const struct tensor *found = given != NULL ? tensor_find(given, driver->declared[i].name) : NULL;
    ret[i] = driver->declared[i];
    if (given != NULL && found == NULL)
      status = lynx_fail(error, LYNX_INPUT, "workload.options.inputs: request %zu lacks the input '%.100s'", index + 1, ret[i].name);
    else if (found != NULL && found->type != ret[i].type)
      status = lynx_fail(error, LYNX_INPUT, "workload.options.inputs: request %zu: '%.100s' is %s, and the model takes %s", index + 1,
                         ret[i].name, tensor_type_text(found->type), tensor_type_text(ret[i].type));
    else if (found != NULL) ret[i] = *found;
    else status = tensor_fill(&ret[i], (uint64_t)driver->options.seed * 1000003 + index, below, text, scratch, error);
    if (status == LYNX_OK && !driver->binary && (ret[i].type == TENSOR_FP16 || ret[i].type == TENSOR_BF16))
      status = lynx_fail(error, LYNX_INPUT, "input '%.100s' is %s, which JSON has no form for; set workload.options.tensors: binary",
                         ret[i].name, tensor_type_text(ret[i].type));
  }
  return status;
}

static enum lynx_status kserve_prepare(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error) {
  struct kserve_driver *driver = state;
  struct tensor_set *sets = NULL;
  size_t n_sets = 0, json_length;
  struct buffer body;
  char headers[120], path[600];
  struct arena scratch = {0}; /* of one request */
  enum lynx_status status = LYNX_OK;
  const char *file = driver->options.values[KSERVE_INPUTS];
  if (file != NULL) status = tensor_read_file(file, &driver->arena, &sets, &n_sets, error);
  struct tensor *chosen = arena_alloc(&driver->arena, driver->n_inputs + 1, sizeof *chosen);
  (void)snprintf(path, sizeof path, "%s/infer", driver->path);
  buffer_init(&body, EXCHANGE_BODY_MAX);
  for (size_t i = 0; i < n_inputs && status == LYNX_OK; i++) {
    buffer_clear(&body);
    status = choose_inputs(driver, i, n_sets > 0 ? &sets[i % n_sets] : NULL, (struct bytes){inputs[i].prompt, inputs[i].length}, &scratch,
                           chosen, error);
    if (status == LYNX_OK && !write_request(driver, chosen, &body, &json_length))
      status = lynx_fail(error, LYNX_LIMIT, "input %zu makes a request of more than %d bytes", i, EXCHANGE_BODY_MAX);
    if (status != LYNX_OK) break;
    (void)snprintf(headers, sizeof headers, "Inference-Header-Content-Length: %zu\r\n", json_length);
    struct exchange_post post = {.path = path,
                                 .content_type = driver->binary ? "application/octet-stream" : "application/json",
                                 .accept = "*/*",
                                 .headers = driver->binary ? headers : NULL,
                                 .body = {body.data, body.length}};
    status = exchange_add(driver->exchange, &post, error);
    arena_release(&scratch);
  }
  arena_release(&scratch);
  buffer_release(&body);
  return status;
}

/* --- what comes back --- */

struct verdict {
  bool has_outputs, has_error;
  char error[160];
  int64_t binary_bytes; /* of all outputs, by their own word */
};

static void visit(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct verdict *v = context;
  if (depth == 1 && bytes_equal(path[0], "outputs") && kind == JSON_SCAN_ARRAY) v->has_outputs = true;
  if (depth == 1 && bytes_equal(path[0], "error") && kind == JSON_SCAN_STRING) {
    v->has_error = true;
    text_sanitise(v->error, sizeof v->error, raw.ptr, raw.length);
  }
  bool size = depth == 4 && bytes_equal(path[0], "outputs") && bytes_equal(path[2], "parameters") &&
              bytes_equal(path[3], "binary_data_size");
  int64_t value;
  if (size && number_int64(raw.ptr, raw.length, &value) && value >= 0 && value <= EXCHANGE_BODY_MAX) v->binary_bytes += value;
}

static bool take_piece(void *context, struct answer *answer, struct bytes data, const char **ret_reason) {
  (void)context, (void)answer, (void)data;
  *ret_reason = "an event stream, where one answer was asked for";
  return false;
}

static void judge(void *context, struct answer *answer, struct bytes body) {
  struct verdict v = {0};
  char found[60];
  struct answer_end *end = &answer->end;
  (void)context;
  int64_t head = answer->http->inference_header_length;
  size_t n = head >= 0 && (size_t)head <= body.length ? (size_t)head : body.length;
  bool is_json = json_scan(body.ptr, n, visit, &v);
  if (answer->http->status != 200) {
    end->outcome = OUTCOME_HTTP_STATUS;
    if (v.has_error) memcpy(end->reason, v.error, sizeof end->reason);
    else text_sanitise(end->reason, sizeof end->reason, body.ptr, body.length);
  } else if (v.has_error) {
    end->outcome = OUTCOME_ERROR_IN_STREAM;
    memcpy(end->reason, v.error, sizeof end->reason);
  } else if (!is_json || !v.has_outputs) {
    end->outcome = OUTCOME_PROTOCOL;
    (void)snprintf(end->reason, sizeof end->reason, "200, but no outputs in JSON; it begins '%s'",
                   text_sanitise(found, sizeof found, body.ptr, body.length));
  } else if (v.binary_bytes != (int64_t)(body.length - n)) {
    end->outcome = OUTCOME_PROTOCOL;
    (void)snprintf(end->reason, sizeof end->reason, "the outputs say that %lld bytes follow the JSON, and %zu do",
                   (long long)v.binary_bytes, body.length - n);
  }
}

/* --- the driver --- */

static enum lynx_status kserve_open(const struct driver_options *options, void **ret_state, struct lynx_error *error) {
  struct kserve_driver *driver = xalloc(1, sizeof *driver);
  driver->options = *options;
  driver->options.stream = false;
  const char *version = options->values[KSERVE_VERSION];
  driver->path = arena_printf(&driver->arena, "/v2/models/%s%s%s", options->model, version != NULL ? "/versions/" : "",
                              version != NULL ? version : "");
  const struct tensor_sizes sizes = {options->values[KSERVE_SIZES]};
  const struct exchange_reader reader = {.framing = FRAMING_WHOLE, .piece = take_piece, .judge = judge};
  enum lynx_status status = tensor_sizes_check(&sizes, error);
  if (status == LYNX_OK &&
      (options->model[0] == 0 || strpbrk(options->model, "/?# \r\n") != NULL || (version != NULL && strpbrk(version, "/?# \r\n") != NULL)))
    status = lynx_fail(error, LYNX_INPUT,
                       "workload.model: '%.60s' where the kserve driver needs the model's name on the server, and its version a name too",
                       options->model);
  if (status == LYNX_OK) status = read_server(driver, error);
  if (status == LYNX_OK) status = read_model(driver, error);
  if (status == LYNX_OK) status = exchange_open(options, &reader, driver, &driver->exchange, error);
  if (status != LYNX_OK) {
    kserve_close(driver);
    return status;
  }
  *ret_state = driver;
  return LYNX_OK;
}

static int64_t kserve_describe(void *state, struct fact_list *facts) {
  const struct kserve_driver *driver = state;
  for (size_t i = 0; i < driver->facts.n_items; i++) fact_add(facts, &driver->facts.items[i]);
  return 0;
}

/* Of what a server says: no more than a hundred years of nanoseconds, so that differences and sums fit. */
static void add_total(int64_t *total, int64_t more) {
  enum { YEARS = 100 };
  const int64_t greatest = (int64_t)YEARS * 31536000 * 1000000000 / 2;
  *total = more >= 0 && more <= greatest && *total <= greatest ? *total + more : greatest;
}

/* {"model_stats":[{"inference_stats":{"queue":{"count":1,"ns":2},...}}]}; of all versions that the server lists. */
static size_t kserve_counters(void *state, struct driver_counter *ret, size_t room) {
  static const char *const names[] = {"queue", "compute_input", "compute_infer", "compute_output"};
  const struct kserve_driver *driver = state;
  json_t *root = NULL;
  size_t n = 0;
  if (strcmp(driver->options.values[KSERVE_STATISTICS], "true") != 0) return 0;
  if (ask(driver, arena_printf((struct arena *)(uintptr_t)&driver->arena, "%s/stats", driver->path), &root, NULL) != LYNX_OK) return 0;
  const json_t *models = json_object_get(root, "model_stats");
  for (; n < LYNX_COUNT(names) && n < room; n++) {
    ret[n] = (struct driver_counter){.n = 0};
    (void)snprintf(ret[n].name, sizeof ret[n].name, "%s", names[n]);
    for (size_t i = 0; i < json_array_size(models); i++) {
      const json_t *one = json_object_get(json_object_get(json_array_get(models, i), "inference_stats"), names[n]);
      add_total(&ret[n].n, json_get_int(one, "count", 0));
      add_total(&ret[n].sum_ns, json_get_int(one, "ns", 0));
    }
  }
  json_decref(root);
  return n;
}

static enum driver_answer kserve_issue(void *state, uint32_t slot, size_t input) {
  exchange_issue(((struct kserve_driver *)state)->exchange, slot, input);
  return DRIVER_ACCEPTED;
}

static void kserve_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  exchange_reap(((struct kserve_driver *)state)->exchange, deadline_ns, deliver, context);
}

static void kserve_cancel(void *state, uint32_t slot) {
  exchange_cancel(((struct kserve_driver *)state)->exchange, slot);
}

const struct driver driver_kserve;
const struct driver driver_kserve = {
    .answers = ANSWERS_TENSORS,
    .abi = DRIVER_ABI,
    .name = "kserve",
    .summary = "the Open Inference Protocol v2 over HTTP (Triton, OpenVINO Model Server, MLServer), tensors as bytes or JSON; no gRPC",
    .sees = "first byte and end; queue and compute from Triton's statistics, over a session",
    .options = kserve_options,
    .n_options = LYNX_COUNT(kserve_options),

    .open = kserve_open,
    .describe = kserve_describe,
    .counters = kserve_counters,
    .prepare = kserve_prepare,
    .issue = kserve_issue,
    .reap = kserve_reap,
    .cancel = kserve_cancel,
    .close = kserve_close,
};
