/* The Python of the process that serves, not of the one that asks: interpreter, every installed distribution, what the ones that matter
 * were built for, and which of them are loaded. Read from files; no Python is run. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "executor/probe.h"

enum { MAPS_MAX = 16 << 20, SITES_MAX = 8, PACKAGES_MAX = 5000 };

struct python {
  const struct probe_target *target;
  struct fact_list *facts;
  char sites[SITES_MAX][512]; /* inside the process's root */
  size_t n_sites;
  const char *site;
  int n_packages;
};

static char *inside(const struct python *p, char *path, size_t size, const char *file) {
  return probe_path(path, size, "/proc/%lld/root%s", (long long)p->target->pid, file);
}

static void add_site(struct python *p, const char *site) {
  char path[700];
  for (size_t i = 0; i < p->n_sites; i++)
    if (strcmp(p->sites[i], site) == 0) return;
  if (p->n_sites == SITES_MAX || strlen(site) >= sizeof p->sites[0]) return;
  struct buffer unused;
  buffer_init(&unused, 16);
  /* A directory cannot be read as a file, and one that is not there fails otherwise. */
  bool missing = root_read(p->target->root, inside(p, path, sizeof path, site), &unused, NULL) == LYNX_NOT_FOUND;
  buffer_release(&unused);
  if (!missing) (void)snprintf(p->sites[p->n_sites++], sizeof p->sites[0], "%s", site);
}

/* ".../site-packages/torch/lib/libtorch.so" -> ".../site-packages" */
static void add_site_of(struct python *p, const char *file) {
  static const char *const names[] = {"/site-packages/", "/dist-packages/"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    const char *at = strstr(file, names[i]);
    char site[512];
    if (at == NULL || (size_t)(at - file) + strlen(names[i]) >= sizeof site) continue;
    (void)snprintf(site, sizeof site, "%.*s", (int)(at - file + (ptrdiff_t)strlen(names[i]) - 1), file);
    add_site(p, site);
  }
}

/* --- the interpreter --- */

struct interpreter {
  char executable[PATH_MAX], version[16]; /* "3.11" */
};

/* "python3.11", "libpython3.11.so.1.0" -> "3.11" */
static bool version_in(const char *name, char *ret, size_t size) {
  const char *at = strstr(name, "python3.");
  if (at == NULL || !isdigit((unsigned char)at[8])) return false;
  (void)snprintf(ret, size, "3.%.*s", (int)strspn(at + 8, "0123456789"), at + 8);
  return true;
}

static bool find_interpreter(struct python *p, struct interpreter *ret) {
  char path[64];
  struct buffer maps;
  bool found = false;
  (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)p->target->pid);
  if (root_read_link(p->target->root, path, ret->executable, sizeof ret->executable)) {
    const char *name = strrchr(ret->executable, '/');
    found = version_in(name != NULL ? name : ret->executable, ret->version, sizeof ret->version);
  }
  buffer_init(&maps, MAPS_MAX);
  (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)p->target->pid);
  if (root_read(p->target->root, path, &maps, NULL) == LYNX_OK)
    for (char *line = maps.data, *next; line != NULL && *line != 0; line = next) {
      next = strchr(line, '\n');
      if (next != NULL) *next++ = 0;
      const char *file = strchr(line, '/');
      if (file == NULL) continue;
      add_site_of(p, file);
      const char *library = strstr(file, "/libpython3.");
      if (!found && library != NULL) found = version_in(library, ret->version, sizeof ret->version);
      const char *folder = strstr(file, "/lib/python3.");
      if (!found && folder != NULL) found = version_in(folder, ret->version, sizeof ret->version);
    }
  buffer_release(&maps);
  return found;
}

/* Where packages may lie although nothing of them is mapped: beside the interpreter, in a virtual environment, on PYTHONPATH. */
static void guess_sites(struct python *p, const struct interpreter *interpreter) {
  char site[PATH_MAX + 64], path[64];
  struct buffer text;
  const char *slash = strrchr(interpreter->executable, '/');
  int prefix = slash != NULL && slash - interpreter->executable >= 4 && strncmp(slash - 4, "/bin", 4) == 0
                   ? (int)(slash - 4 - interpreter->executable)
                   : 0;
  add_site(p, probe_path(site, sizeof site, "%.*s/lib/python%s/site-packages", prefix, interpreter->executable, interpreter->version));
  buffer_init(&text, 4 << 20);
  if (root_read(p->target->root, probe_path(path, sizeof path, "/proc/%lld/cmdline", (long long)p->target->pid), &text, NULL) == LYNX_OK) {
    slash = strstr(text.data, "/bin/"); /* argv[0] keeps the environment's own name of the interpreter */
    if (slash != NULL && text.data[0] == '/')
      add_site(p,
               probe_path(site, sizeof site, "%.*s/lib/python%s/site-packages", (int)(slash - text.data), text.data, interpreter->version));
  }
  buffer_clear(&text);
  if (root_read(p->target->root, probe_path(path, sizeof path, "/proc/%lld/environ", (long long)p->target->pid), &text, NULL) == LYNX_OK)
    for (size_t at = 0; at < text.length; at += strlen(text.data + at) + 1) {
      const char *entry = text.data + at;
      if (strncmp(entry, "HOME=/", 6) == 0)
        add_site(p, probe_path(site, sizeof site, "%s/.local/lib/python%s/site-packages", entry + 5, interpreter->version));
      if (strncmp(entry, "VIRTUAL_ENV=/", 13) == 0)
        add_site(p, probe_path(site, sizeof site, "%s/lib/python%s/site-packages", entry + 12, interpreter->version));
      for (const char *part = strncmp(entry, "PYTHONPATH=", 11) == 0 ? entry + 11 : NULL; part != NULL;
           part = strchr(part, ':') != NULL ? strchr(part, ':') + 1 : NULL)
        if (part[0] == '/') add_site(p, probe_path(site, sizeof site, "%.*s", (int)strcspn(part, ":"), part));
    }
  buffer_wipe(&text); /* it may have held secrets */
  /* The system's own packages are the system interpreter's; another one cannot import them. */
  if (strncmp(interpreter->executable, "/usr/bin/", 9) == 0) {
    add_site(p, probe_path(site, sizeof site, "/usr/local/lib/python%s/dist-packages", interpreter->version));
    add_site(p, "/usr/lib/python3/dist-packages");
  }
}

/* --- distributions --- */

/* Names are compared as PyPI does: lower case, runs of "-_." as one "-". */
static void normalise(const char *name, size_t n, char *ret, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < n && used + 1 < size; i++) {
    bool separator = strchr("-_.", name[i]) != NULL;
    if (separator && used > 0 && ret[used - 1] == '-') continue;
    ret[used++] = separator ? '-' : (char)tolower((unsigned char)name[i]);
  }
  ret[used] = 0;
}

static bool matters(const char *name) {
  static const char *const names[] = {
      "torch",      "vllm",       "sglang",     "sgl-kernel",  "transformers",     "tokenizers",   "triton",
      "flash-attn", "flashinfer", "xformers",   "onnxruntime", "onnxruntime-gpu",  "tensorrt",     "tensorrt-llm",
      "jax",        "jaxlib",     "tensorflow", "numpy",       "llama-cpp-python", "bitsandbytes", "auto-gptq",
      "autoawq",    "deepspeed",  "openvino",   "torchvision", "safetensors"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strcmp(names[i], name) == 0) return true;
  return strncmp(name, "nvidia-", 7) == 0;
}

/* Where it did not come from an index: a checkout (and its commit), a file, an editable folder. */
static void put_origin(const struct python *p, const char *folder, const char *key) {
  char path[900], more[360];
  struct buffer text;
  buffer_init(&text, 65536);
  if (root_read(p->target->root, probe_path(path, sizeof path, "%s/direct_url.json", folder), &text, NULL) == LYNX_OK) {
    json_t *json = json_parse(text.data, text.length, 65536, NULL);
    const json_t *vcs = json_object_get(json, "vcs_info"), *directory = json_object_get(json, "dir_info");
    const char *commit = json_get_text(vcs, "commit_id", "");
    bool editable = json_get_bool(directory, "editable", false);
    (void)snprintf(more, sizeof more, "%s.origin", key);
    if (commit[0] != 0) probe_printf(p->target, p->facts, LAYER_FRAMEWORK, FACT_IDENTITY, "direct_url.json", more, "commit %s", commit);
    else if (json != NULL)
      probe_fact(p->target, p->facts, LAYER_FRAMEWORK, FACT_IDENTITY, more,
                 editable ? "editable: its files may be edited in place" : "a local file or folder", "", "direct_url.json");
    json_decref(json);
  }
  buffer_release(&text);
}

static void put_record(const struct python *p, const char *folder, const char *key) {
  char path[900], more[360], hex[DIGEST_HEX];
  uint8_t digest[DIGEST_BYTES];
  struct buffer text;
  buffer_init(&text, 16 << 20);
  if (root_read(p->target->root, probe_path(path, sizeof path, "%s/RECORD", folder), &text, NULL) == LYNX_OK) {
    /* Scripts outside of the folder hold its place, and how it was installed is another matter: the same wheel is the same files. */
    struct digest files = {{0}};
    digest_init(&files);
    for (const char *line = text.data, *end; *line != 0; line = end) {
      end = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : line + strlen(line);
      static const char *const left_out[] = {".pyc,", "/INSTALLER,", "/REQUESTED,", "/direct_url.json,", "/RECORD,"};
      bool kept = strncmp(line, "../", 3) != 0;
      for (size_t i = 0; i < LYNX_COUNT(left_out); i++)
        kept = kept && memmem(line, (size_t)(end - line), left_out[i], strlen(left_out[i])) == NULL;
      if (kept) digest_update(&files, line, (size_t)(end - line));
    }
    digest_final(&files, digest);
    (void)snprintf(more, sizeof more, "%s.files", key);
    probe_printf(p->target, p->facts, LAYER_FRAMEWORK, FACT_IDENTITY, "RECORD", more, "digest %.16s", digest_hex(digest, hex));
  }
  buffer_release(&text);
}

/* "torch-2.4.1+cu121.dist-info"; "numpy-1.26.4.egg-info" */
static void add_package(void *context, const char *name) {
  struct python *p = context;
  char key[300], plain[200], version[100], folder[800], path[64];
  const char *end = strstr(name, ".dist-info");
  if (end == NULL) end = strstr(name, ".egg-info");
  const char *dash = strchr(name, '-');
  if (end == NULL || dash == NULL || dash > end || ++p->n_packages > PACKAGES_MAX) return;
  (void)snprintf(version, sizeof version, "%.*s", (int)(end - dash - 1), dash + 1);
  char *python_tag = strstr(version, "-py3");
  if (python_tag != NULL) *python_tag = 0;
  normalise(name, (size_t)(dash - name), plain, sizeof plain);
  (void)snprintf(key, sizeof key, "python.package.%s", plain);
  probe_fact(p->target, p->facts, LAYER_FRAMEWORK, FACT_IDENTITY, key, version, "", "the name of its dist-info folder");
  (void)probe_path(folder, sizeof folder, "%s%s/%s", inside(p, path, sizeof path, ""), p->site, name);
  put_origin(p, folder, key);
  if (matters(plain)) put_record(p, folder, key);
}

/* torch/version.py, as text: what PyTorch was built for. */
static void put_torch(const struct python *p) {
  static const struct {
    const char *word, *key;
  } lines[] = {{"__version__", "torch.version"}, {"cuda", "torch.cuda"},  {"hip", "torch.hip"}, {"xpu", "torch.xpu"},
               {"git_version", "torch.commit"},  {"debug", "torch.debug"}};
  char path[900], value[160];
  struct buffer text;
  buffer_init(&text, 65536);
  (void)probe_path(path, sizeof path, "/proc/%lld/root%s/torch/version.py", (long long)p->target->pid, p->site);
  if (root_read(p->target->root, path, &text, NULL) == LYNX_OK)
    for (size_t i = 0; i < LYNX_COUNT(lines); i++) {
      /* "cuda: Optional[str] = '12.1'" or "cuda = None" */
      for (const char *line = text.data; line != NULL && *line != 0; line = strchr(line, '\n')) {
        if (*line == '\n' && *++line == 0) break;
        size_t n = strlen(lines[i].word), length = strcspn(line, "\n");
        const char *equals = memchr(line, '=', length);
        if (strncmp(line, lines[i].word, n) != 0 || (line[n] != ' ' && line[n] != ':' && line[n] != '=') || equals == NULL) continue;
        const char *from = equals + 1 + strspn(equals + 1, " '\"");
        text_sanitise(value, sizeof value, from, strcspn(from, "'\"\n"));
        probe_fact(p->target, p->facts, LAYER_FRAMEWORK, FACT_IDENTITY, lines[i].key,
                   strcmp(value, "None") == 0 ? "none: built without" : value, "", "torch/version.py");
        break;
      }
    }
  buffer_release(&text);
}

/* Which packages have files mapped: state, since most are loaded when first needed. */
static void put_loaded(const struct python *p) {
  char path[64], list[3000] = "";
  struct buffer maps;
  buffer_init(&maps, MAPS_MAX);
  if (root_read(p->target->root, probe_path(path, sizeof path, "/proc/%lld/maps", (long long)p->target->pid), &maps, NULL) == LYNX_OK)
    for (char *line = maps.data, *next; line != NULL && *line != 0; line = next) {
      next = strchr(line, '\n');
      if (next != NULL) *next++ = 0;
      const char *at = strstr(line, "-packages/");
      char name[80], word[90];
      if (at == NULL || sscanf(at + 10, "%78[^/.]", name) != 1) continue;
      (void)snprintf(word, sizeof word, "%s ", name);
      size_t used = strlen(list);
      if (strstr(list, word) == NULL && used + strlen(word) < sizeof list) (void)snprintf(list + used, sizeof list - used, "%s", word);
    }
  buffer_release(&maps);
  if (list[0] != 0) probe_fact(p->target, p->facts, LAYER_FRAMEWORK, FACT_STATE, "python.loaded", list, "", "/proc/PID/maps");
}

static void python_collect(const struct probe_target *target, struct fact_list *facts) {
  struct python python = {.target = target, .facts = facts};
  struct interpreter interpreter = {.executable = ""};
  char path[700], value[100];
  if (!find_interpreter(&python, &interpreter)) {
    probe_missing(target, facts, LAYER_FRAMEWORK, FACT_IDENTITY, "python.version", FACT_ABSENT, "the serving process is not Python",
                  "/proc/PID/exe, /proc/PID/maps");
    return;
  }
  guess_sites(&python, &interpreter);
  probe_fact(target, facts, LAYER_FRAMEWORK, FACT_IDENTITY, "python.version", interpreter.version, "", "the interpreter's name");
  for (size_t i = 0; i < python.n_sites; i++) {
    struct buffer text;
    char key[48];
    python.site = python.sites[i];
    (void)snprintf(key, sizeof key, "python.path.%zu", i);
    probe_fact(target, facts, LAYER_FRAMEWORK, FACT_CONTEXT, key, python.site, "",
               "mapped files, the interpreter's place, the environment");
    buffer_init(&text, 65536);
    if (root_read(target->root, probe_path(path, sizeof path, "/proc/%lld/root%s/../../../pyvenv.cfg", (long long)target->pid, python.site),
                  &text, NULL) == LYNX_OK &&
        (probe_find_line(text.data, "version", value, sizeof value) || probe_find_line(text.data, "version_info", value, sizeof value)))
      probe_fact(target, facts, LAYER_FRAMEWORK, FACT_CONTEXT, "python.version-full", value, "",
                 "pyvenv.cfg: when the environment was made");
    buffer_release(&text);
    (void)root_list(target->root, inside(&python, path, sizeof path, python.site), PACKAGES_MAX, add_package, &python);
    put_torch(&python);
  }
  probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, "dist-info folders", "python.packages", "%d distributions", python.n_packages);
  put_loaded(&python);
}

const struct probe probe_python;
const struct probe probe_python = {.name = "python",
                                   .summary = "the serving process's Python: version, every distribution, what PyTorch was built for",
                                   .reads = "/proc/PID/maps, site-packages, torch/version.py",
                                   .stage = 1,
                                   .layer = LAYER_FRAMEWORK,
                                   .applies = probe_needs_process,
                                   .collect = python_collect};
