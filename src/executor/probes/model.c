/* The model that is served: where it lies, what its files say of themselves, and a digest by which it is known. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "executor/model_digest.h"
#include "executor/model_header.h"
#include "executor/probe.h"

enum { DESCRIPTORS_MAX = 65536 };

/* As much is read for digests in one capture as a disk gives in a second or two; `lynxbench capture --digest` lifts it. */
static const int64_t DIGEST_BUDGET = (int64_t)1 << 30;

struct model {
  const struct probe_target *target;
  struct fact_list *facts;
  int64_t pid;
  char path[PATH_MAX]; /* inside the process's root: a file or a directory */
  bool replaced;       /* a file was loaded that no longer lies there */
  char *names[MODEL_FILES_MAX];
  size_t n_names, n_seen;
};

static const char deleted_mark[] = " (deleted)";

/* --- where it lies --- */

static int open_file(const struct model *m, const char *file) {
  char inner[PATH_MAX + 64];
  return root_open(m->target->root, probe_path(inner, sizeof inner, "/proc/%lld/root%s", (long long)m->pid, file));
}

/* Is it there, and what is it? */
static bool look_at(const struct model *m, const char *file, struct stat *ret) {
  int fd = open_file(m, file);
  bool good = fd >= 0 && fstat(fd, ret) == 0;
  if (fd >= 0) (void)close(fd);
  return good;
}

static bool exists(const struct model *m, const char *file) {
  struct stat info;
  return look_at(m, file, &info);
}

static bool digest_of_file(const struct model *m, const char *file, int64_t *budget, char hex[DIGEST_HEX]) {
  int fd = open_file(m, file);
  bool good = fd >= 0 && (m->target->digest_anew ? file_digest_anew(fd, hex) : file_digest(fd, budget, hex));
  if (fd >= 0) (void)close(fd);
  return good;
}

/* What is mapped is the best evidence: it is what was loaded. */
static bool find_mapped(struct model *m, const char *named) {
  struct buffer maps;
  char path[64];
  bool found = false;
  for (size_t i = 0; i < m->target->n_tree && !found; i++) {
    buffer_init(&maps, 64 << 20);
    if (root_read(m->target->root, probe_path(path, sizeof path, "/proc/%lld/maps", (long long)m->target->tree[i]), &maps, NULL) == LYNX_OK)
      for (char *line = maps.data, *next; line != NULL && *line != 0 && !found; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = 0;
        char *file = strchr(line, '/');
        char *mark = file != NULL ? strstr(file, deleted_mark) : NULL;
        if (mark != NULL) *mark = 0;
        if (file == NULL || !model_is_weights(file) || strstr(file, "-packages/") != NULL || strlen(file) >= sizeof m->path) continue;
        if (mark != NULL) m->replaced = true;
        if (named != NULL) { /* only asked whether what was loaded is still what lies there */
          if (mark != NULL && strncmp(file, named, strlen(named)) == 0) return buffer_release(&maps), true;
          continue;
        }
        m->pid = m->target->tree[i];
        (void)snprintf(m->path, sizeof m->path, "%s", file);
        found = true;
      }
    buffer_release(&maps);
  }
  return found;
}

struct descriptors {
  struct model *model;
  int64_t pid;
};

static void look_at_descriptor(void *context, const char *name) {
  const struct descriptors *d = context;
  struct model *m = d->model;
  char path[96], file[PATH_MAX];
  if (m->path[0] != 0 ||
      !root_read_link(m->target->root, probe_path(path, sizeof path, "/proc/%lld/fd/%.20s", (long long)d->pid, name), file, sizeof file))
    return;
  if (file[0] != '/' || !model_is_weights(file)) return;
  m->pid = d->pid;
  (void)snprintf(m->path, sizeof m->path, "%s", file);
}

static bool find_open(struct model *m) {
  char path[64];
  m->path[0] = 0;
  for (size_t i = 0; i < m->target->n_tree && m->path[0] == 0; i++) {
    struct descriptors descriptors = {m, m->target->tree[i]};
    (void)root_list(m->target->root, probe_path(path, sizeof path, "/proc/%lld/fd", (long long)m->target->tree[i]), DESCRIPTORS_MAX,
                    look_at_descriptor, &descriptors);
  }
  return m->path[0] != 0;
}

struct snapshots {
  size_t n;
  char found[200];
};

static void keep_snapshot(void *context, const char *name) {
  struct snapshots *snapshots = context;
  snapshots->n++;
  (void)snprintf(snapshots->found, sizeof snapshots->found, "%.190s", name);
}

/* "org/name" in the Hugging Face cache: hub/models--org--name/snapshots/REVISION, by refs/main where there is one. */
static bool find_in_hub(struct model *m, const char *id) {
  char base[PATH_MAX], folder[PATH_MAX], file[PATH_MAX + 64], revision[200], plain[400] = "";
  size_t used = 0;
  for (const char *p = id; *p != 0 && used + 3 < sizeof plain; p++) {
    if (*p == '/') plain[used++] = '-', plain[used++] = '-';
    else plain[used++] = *p;
  }
  if (strstr(plain, "..") != NULL) return false;
  if (!probe_variable(m->target, m->target->pid, "HF_HUB_CACHE", base, sizeof base)) {
    char home[PATH_MAX];
    if (probe_variable(m->target, m->target->pid, "HF_HOME", home, sizeof home)) (void)probe_path(base, sizeof base, "%s/hub", home);
    else if (probe_variable(m->target, m->target->pid, "HOME", home, sizeof home))
      (void)probe_path(base, sizeof base, "%s/.cache/huggingface/hub", home);
    else return false;
  }
  (void)probe_path(folder, sizeof folder, "%s/models--%s", base, plain);
  const struct fact *asked = fact_find(m->facts, "process.argument.--revision");
  if (asked != NULL && fact_is_known(asked) && strpbrk(asked->value, "/ (") == NULL) {
    (void)probe_path(m->path, sizeof m->path, "%s/snapshots/%s", folder, asked->value);
    if (exists(m, m->path)) return true;
  }
  (void)probe_path(file, sizeof file, "/proc/%lld/root%s/refs/%s", (long long)m->pid, folder,
                   asked != NULL && fact_is_known(asked) && strpbrk(asked->value, "/ (") == NULL ? asked->value : "main");
  if (!root_read_line(m->target->root, file, revision, sizeof revision)) {
    struct snapshots snapshots = {.n = 0};
    (void)probe_path(file, sizeof file, "/proc/%lld/root%s/snapshots", (long long)m->pid, folder);
    (void)root_list(m->target->root, file, 1000, keep_snapshot, &snapshots);
    (void)snprintf(revision, sizeof revision, "%s", snapshots.n == 1 ? snapshots.found : ""); /* of several, which one is not told */
  }
  (void)probe_path(m->path, sizeof m->path, "%s/snapshots/%s", folder, revision);
  return revision[0] != 0 && exists(m, m->path);
}

static const char *named_model(const struct model *m) {
  const struct fact *program = fact_find(m->facts, "process.program");
  bool python = program != NULL && strncmp(program->value, "python", 6) == 0; /* there -m names a module */
  static const char *const keys[] = {"process.argument.--model",           "process.argument.--model-path", "process.argument.-m",
                                     "process.argument.--model-id",        "process.argument.--weights",    "process.argument.--model-dir",
                                     "process.argument.--model-repository"};
  for (size_t i = 0; i < LYNX_COUNT(keys); i++) {
    char whole[64];
    if (python && strcmp(keys[i], "process.argument.-m") == 0) continue;
    (void)snprintf(whole, sizeof whole, "%s.path", keys[i]);
    const struct fact *fact = fact_find(m->facts, whole);
    if (fact == NULL) fact = fact_find(m->facts, keys[i]);
    if (fact != NULL && fact_is_known(fact) && strchr(fact->value, '(') == NULL) return fact->value;
  }
  /* vllm serve NAME */
  for (int i = 0; i < 6; i++) {
    char key[40];
    (void)snprintf(key, sizeof key, "process.argument.%d", i);
    const struct fact *word = fact_find(m->facts, key);
    (void)snprintf(key, sizeof key, "process.argument.%d", i + 1);
    const struct fact *next = fact_find(m->facts, key);
    if (word == NULL || next == NULL || strcmp(word->value, "serve") != 0) continue;
    (void)snprintf(key, sizeof key, "process.argument.%d.path", i + 1);
    return fact_find(m->facts, key) != NULL ? fact_find(m->facts, key)->value : next->value;
  }
  return NULL;
}

static bool find_named(struct model *m, const char *name) {
  char path[64], folder[PATH_MAX];
  if (name == NULL || strlen(name) >= sizeof m->path) return false;
  m->pid = m->target->pid;
  if (name[0] == '/') {
    (void)snprintf(m->path, sizeof m->path, "%s", name);
    return exists(m, m->path);
  }
  (void)snprintf(path, sizeof path, "/proc/%lld/cwd", (long long)m->target->pid);
  if (root_read_link(m->target->root, path, folder, sizeof folder)) {
    (void)probe_path(m->path, sizeof m->path, "%s/%s", folder, name);
    if (exists(m, m->path)) return true;
  }
  return find_in_hub(m, name);
}

/* --- what it is --- */

static void keep_name(void *context, const char *name) {
  struct model *m = context;
  if (!model_is_weights(name)) return;
  m->n_seen++;
  if (m->n_names < MODEL_FILES_MAX) m->names[m->n_names++] = xcopy(name);
}

static void put(const struct model *m, const char *key, const char *value, const char *source) {
  if (value[0] != 0) probe_fact(m->target, m->facts, LAYER_APPLICATION, FACT_IDENTITY, key, value, "", source);
}

/* False where it is not of the three formats, or damaged. */
static bool read_header(const struct model *m, const char *file, struct model_header *header) {
  struct stat info;
  bool good = false;
  int fd = open_file(m, file);
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    /* A file that shrinks meanwhile ends this child by a signal, and the capture goes on (executor/probe_run.h). */
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data != MAP_FAILED) {
      good = model_header_read(data, (size_t)info.st_size, header);
      (void)munmap(data, (size_t)info.st_size);
    }
  }
  if (fd >= 0) (void)close(fd);
  return good;
}

/* Formats whose inside is not looked at. */
static bool is_opaque(const char *name) {
  static const char *const ends[] = {".pt", ".pth", ".bin", ".engine", ".plan", ".data"};
  size_t n = strlen(name);
  for (size_t i = 0; i < LYNX_COUNT(ends); i++)
    if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0) return true;
  return false;
}

static void put_header(const struct model *m, const struct model_header *h) {
  char text[1200];
  if (h->n_files == 0) return;
  put(m, "model.format", h->format, "the files' headers");
  put(m, "model.architecture", h->architecture, "the files' headers");
  put(m, "model.name", h->name, "the files' headers");
  put(m, "model.producer", h->producer, "the files' headers");
  put(m, "model.opset", h->opset, "the files' headers");
  put(m, "model.file-type", h->file_type, "the files' headers");
  put(m, "model.context", h->context, "the files' headers");
  put(m, "model.tokenizer", h->tokenizer, "the files' headers");
  put(m, "model.chat-template", h->chat_template, "SHA-256");
  if (h->n_parameters > 0) put(m, "model.tensor-types", model_types_text(h, text, sizeof text), "the files' headers");
}

/* config.json of Hugging Face */
static void put_config(const struct model *m, const char *folder) {
  static const struct {
    const char *word, *key;
  } words[] = {{"model_type", "model.type"},
               {"hidden_size", "model.hidden-size"},
               {"num_hidden_layers", "model.layers"},
               {"num_attention_heads", "model.heads"},
               {"num_key_value_heads", "model.kv-heads"},
               {"vocab_size", "model.vocabulary"},
               {"max_position_embeddings", "model.context"},
               {"torch_dtype", "model.declared-type"},
               {"dtype", "model.declared-type"},
               {"transformers_version", "model.transformers-version"}};
  char path[PATH_MAX + 64], text[64];
  struct buffer body;
  buffer_init(&body, 4 << 20);
  (void)probe_path(path, sizeof path, "/proc/%lld/root%s/config.json", (long long)m->pid, folder);
  if (root_read(m->target->root, path, &body, NULL) == LYNX_OK) {
    json_t *json = json_parse(body.data, body.length, 4 << 20, NULL);
    put(m, "model.architecture",
        json_string_value(json_array_get(json_object_get(json, "architectures"), 0)) != NULL
            ? json_string_value(json_array_get(json_object_get(json, "architectures"), 0))
            : "",
        "config.json");
    for (size_t i = 0; i < LYNX_COUNT(words); i++) {
      const json_t *value = json_object_get(json, words[i].word);
      (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
      if (json_is_integer(value)) put(m, words[i].key, text, "config.json");
      if (json_is_string(value)) put(m, words[i].key, json_string_value(value), "config.json");
    }
    const json_t *quantisation = json_object_get(json, "quantization_config");
    put(m, "model.quantisation", json_get_text(quantisation, "quant_method", ""), "config.json");
    json_decref(json);
  }
  buffer_release(&body);
}

static void put_digests(const struct model *m, const char *folder) {
  static const struct {
    const char *file, *key;
  } files[] = {{"tokenizer.json", "model.tokenizer-file"},
               {"tokenizer.model", "model.tokenizer-model"},
               {"chat_template.jinja", "model.chat-template"},
               {"generation_config.json", "model.generation-defaults"}};
  char file[PATH_MAX + 300], hex[DIGEST_HEX];
  int64_t budget = m->target->digest_budget > 0 ? m->target->digest_budget : DIGEST_BUDGET, total = 0;
  for (size_t i = 0; i < LYNX_COUNT(files); i++)
    if (digest_of_file(m, probe_path(file, sizeof file, "%s/%s", folder, files[i].file), &budget, hex))
      put(m, files[i].key, hex, "SHA-256");
  struct digest_leaf *leaves = xalloc(m->n_names + 1, sizeof *leaves);
  size_t n = 0;
  struct stat info;
  for (size_t i = 0; i < m->n_names; i++)
    if (look_at(m, probe_path(file, sizeof file, "%s/%s", folder, m->names[i]), &info)) total += info.st_size;
  /* All or nothing, so that an unchanged executor has the same facts in the next capture; what is remembered costs nothing. */
  bool whole = m->n_seen <= m->n_names;
  for (size_t i = 0; i < m->n_names && whole && total > budget && !m->target->digest_anew; i++) {
    int64_t none = 0;
    whole = digest_of_file(m, probe_path(file, sizeof file, "%s/%s", folder, m->names[i]), &none, hex);
  }
  for (size_t i = 0; i < m->n_names && whole; i++) {
    if (digest_of_file(m, probe_path(file, sizeof file, "%s/%s", folder, m->names[i]), &budget, hex))
      model_leaf(m->names[i], hex, &leaves[n++]);
  }
  probe_printf(m->target, m->facts, LAYER_APPLICATION, FACT_IDENTITY, "file sizes", "model.size", "%lld bytes in %zu files",
               (long long)total, m->n_seen > m->n_names ? m->n_seen : m->n_names);
  if (n == m->n_names && n > 0 && m->n_seen <= m->n_names) {
    uint8_t root[DIGEST_BYTES];
    digest_tree(leaves, n, root);
    probe_printf(m->target, m->facts, LAYER_APPLICATION, FACT_IDENTITY, "RFC 6962 tree over names and SHA-256 of the files", "model.digest",
                 "%s", digest_hex(root, hex));
  } else if (m->n_names > 0) {
    char why[200];
    if (m->n_seen > m->n_names) (void)snprintf(why, sizeof why, "%zu weight files are more than are looked at", m->n_seen);
    else
      (void)snprintf(why, sizeof why,
                     "%.3g GB were not read for a digest in this capture: run `lynxbench capture --digest` once, and it is remembered",
                     (double)total / 1e9);
    probe_missing(m->target, m->facts, LAYER_APPLICATION, FACT_IDENTITY, "model.digest", FACT_UNSUPPORTED, why, "capture");
  }
  free(leaves);
}

static void model_collect(const struct probe_target *target, struct fact_list *facts) {
  struct model model = {.target = target, .facts = facts, .pid = target->pid};
  struct model_header header = {.n_files = 0};
  struct stat info;
  char path[2 * PATH_MAX], folder[PATH_MAX];
  const char *name = named_model(&model);
  /* A name of a model is part of what is served; a path is where it lies. */
  if (name != NULL)
    probe_fact(target, facts, LAYER_APPLICATION, name[0] == '/' ? FACT_CONTEXT : FACT_IDENTITY, "model.asked-for", name, "",
               "the command line");
  if (!find_named(&model, name) && !find_mapped(&model, NULL) && !find_open(&model)) {
    probe_missing(
        target, facts, LAYER_APPLICATION, FACT_IDENTITY, "model.path", FACT_ABSENT,
        "no model file is named on the command line or held open or mapped by the process: declare it as application.model in the contract",
        "command line, /proc/PID/maps, /proc/PID/fd");
    return;
  }
  probe_fact(target, facts, LAYER_APPLICATION, FACT_CONTEXT, "model.path", model.path, "", "command line, /proc/PID/maps, /proc/PID/fd");
  char lies_at[PATH_MAX];
  (void)snprintf(lies_at, sizeof lies_at, "%s", model.path);
  if (model.replaced || find_mapped(&model, lies_at))
    put(&model, "model.replaced", "yes: a file was loaded that has since been replaced or removed; what follows is of what lies there now",
        "/proc/PID/maps");
  bool directory = look_at(&model, model.path, &info) && S_ISDIR(info.st_mode);
  (void)snprintf(folder, sizeof folder, "%s", model.path);
  char *slash = strrchr(folder, '/');
  if (directory)
    (void)root_list(target->root, probe_path(path, sizeof path, "/proc/%lld/root%s", (long long)model.pid, folder), 10000, keep_name,
                    &model);
  else if (slash != NULL) {
    model.names[model.n_names++] = xcopy(slash + 1);
    *slash = 0;
  }
  const char *revision = strstr(model.path, "/snapshots/");
  if (revision != NULL) put(&model, "model.revision", revision + 11, "the folder of the Hugging Face cache");
  size_t n_damaged = 0;
  for (size_t i = 0; i < model.n_names; i++)
    n_damaged += !read_header(&model, probe_path(path, sizeof path, "%s/%s", folder, model.names[i]), &header) &&
                 !is_opaque(model.names[i]);
  if (n_damaged > 0)
    probe_printf(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "the files' headers", "model.damaged",
                 "%zu of %zu files are cut off or are not what their names say", n_damaged, model.n_names);
  put_header(&model, &header);
  put_config(&model, folder);
  put_digests(&model, folder);
  for (size_t i = 0; i < model.n_names; i++) free(model.names[i]);
}

const struct probe probe_model;
const struct probe probe_model = {.name = "model",
                                  .summary = "the model that is served: files, tensor types, architecture, tokenizer, digest",
                                  .reads = "the command line, /proc/PID/maps, the model's files",
                                  .stage = 1,
                                  .layer = LAYER_APPLICATION,
                                  .applies = probe_needs_process,
                                  .collect = model_collect};
