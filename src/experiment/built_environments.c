#include "experiment/built_environments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/root.h"

static const char mark[] = "lynxbench-made";

enum { STEP_SECONDS = 3600, NAME_MAX_BYTES = 200 };

/* Of the interpreter that the environment is made of: its packages, behind the environment's own. */
static const char make_script[] = "import os, sys, venv\n"
                                  "folder = sys.argv[1]\n"
                                  "venv.create(folder, clear=True, with_pip=True)\n"
                                  "own = os.path.join(folder, 'lib', 'python%d.%d' % sys.version_info[:2], 'site-packages')\n"
                                  "others = [p for p in sys.path if p.endswith(('site-packages', 'dist-packages'))]\n"
                                  "open(os.path.join(own, 'lynxbench_behind.pth'), 'w').write(''.join(p + '\\n' for p in others))\n";

static const char check_script[] = "import importlib.metadata as m, sys\n"
                                   "for name, wanted in zip(sys.argv[1::2], sys.argv[2::2]):\n"
                                   "    found = m.version(name)\n"
                                   "    if found != wanted and found.split('+')[0] != wanted:\n"
                                   "        sys.exit(f'{name} is {found} in it, not {wanted}')\n";

/* --- programs --- */

static bool is_for_pip(const char *item) {
  static const char *const names[] = {"PATH",           "HOME",           "USER",          "LOGNAME",      "LANG",
                                      "TMPDIR",         "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
                                      "CURL_CA_BUNDLE", "http_proxy",     "https_proxy",   "no_proxy",     "HTTP_PROXY",
                                      "HTTPS_PROXY",    "NO_PROXY"};
  size_t length = strcspn(item, "=");
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strlen(names[i]) == length && strncmp(item, names[i], length) == 0) return true;
  return strncmp(item, "PIP_", 4) == 0 || strncmp(item, "LC_", 3) == 0;
}

static const char *const *pip_variables(struct arena *arena) {
  size_t n = 0, room = 1;
  for (size_t i = 0; environ[i] != NULL; i++) room++;
  const char **list = arena_alloc(arena, room, sizeof *list);
  for (size_t i = 0; environ[i] != NULL; i++)
    if (is_for_pip(environ[i])) list[n++] = environ[i];
  return list;
}

/* The last line that a program wrote. */
static void last_line(const char *log, char *ret, size_t size) {
  static const struct root root = {""};
  struct buffer text;
  buffer_init(&text, 4 << 20);
  ret[0] = 0;
  if (root_read(&root, log, &text, NULL) == LYNX_OK && text.length > 0) {
    size_t end = text.length;
    while (end > 0 && text.data[end - 1] == '\n') end--;
    size_t from = end;
    while (from > 0 && text.data[from - 1] != '\n') from--;
    (void)text_sanitise(ret, size, text.data + from, end - from);
  }
  buffer_release(&text);
}

struct making {
  struct arena *arena;
  const atomic_int *stop;
  const char *log;
  struct lynx_error *error;
};

static enum lynx_status run_program(const struct making *m, const char *what, const char *const *arguments) {
  struct child child = {.pid = 0};
  char line[300];
  const struct child_request request = {
      .arguments = arguments, .environment = pip_variables(m->arena), .users = true, .output_path = m->log};
  enum lynx_status status = child_start(&child, &request, m->error);
  if (status != LYNX_OK) return status;
  bool ended = child_wait(&child, STEP_SECONDS * INT64_C(1000000000), m->stop);
  if (!ended) child_stop(&child, 2000000000);
  if (atomic_load(m->stop) != 0) return lynx_fail(m->error, LYNX_IO, "%s: interrupted", what);
  if (!ended) return lynx_fail(m->error, LYNX_IO, "%s: it did not end within an hour; its log: %s", what, m->log);
  if (child.exit_code == 0) return LYNX_OK;
  last_line(m->log, line, sizeof line);
  return lynx_fail(m->error, LYNX_INPUT, "%s: %s; its log: %s", what, line[0] != 0 ? line : "it failed and said nothing", m->log);
}

/* --- one environment --- */

/* "numpy-2.1.0_torch-2.13.0". */
static const char *name_of(const struct built_environments *e, unsigned which, struct arena *arena) {
  const char *name = "";
  for (size_t i = 0; i < e->n; i++)
    name = arena_printf(arena, "%s%s%s-%s", name, i > 0 ? "_" : "", e->packages[i].name, e->packages[i].version[which >> i & 1]);
  return name;
}

static bool is_ready(const char *marker, const char *text) {
  static const struct root root = {""};
  struct buffer found;
  buffer_init(&found, 1 << 16);
  bool same = root_read(&root, marker, &found, NULL) == LYNX_OK && bytes_equal((struct bytes){found.data, found.length}, text);
  buffer_release(&found);
  return same;
}

/* What is emptied must be ours: one that we made, or were making, as the mark beside it says. */
static enum lynx_status check_folder(const char *folder, const char *making, struct arena *arena, struct lynx_error *error) {
  struct stat stat_of;
  if (lstat(folder, &stat_of) != 0) return errno == ENOENT ? LYNX_OK : lynx_fail(error, LYNX_IO, "%s: %s", folder, strerror(errno));
  if (!S_ISDIR(stat_of.st_mode))
    return lynx_fail(error, LYNX_INPUT, "%s: found something that is no folder; accepted: none, or one of its own", folder);
  bool ours = access(arena_printf(arena, "%s/%s", folder, mark), F_OK) == 0 || access(making, F_OK) == 0 || rmdir(folder) == 0;
  return ours ? LYNX_OK
              : lynx_fail(error, LYNX_INPUT, "%s: found a folder that lynxbench did not make; accepted: none, or one of its own", folder);
}

static enum lynx_status install(const struct built_environments *e, unsigned which, const char *folder, const struct making *m) {
  const char *python = arena_printf(m->arena, "%s/bin/python", folder);
  const char *const make[] = {e->python, "-c", make_script, folder, NULL};
  const char *arguments[16] = {python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"};
  size_t n = 7;
  const char *making = arena_printf(m->arena, "%s.making", folder);
  enum lynx_status status = check_folder(folder, making, m->arena, m->error);
  int failed = status == LYNX_OK ? file_replace(making, "", 0) : 0;
  if (failed != 0) status = lynx_fail(m->error, LYNX_IO, "%s: %s", making, strerror(failed));
  if (status == LYNX_OK) status = run_program(m, "the virtual environment", make);
  if (e->requirements != NULL) {
    arguments[n++] = "-r";
    arguments[n++] = e->requirements;
  }
  for (size_t i = 0; i < e->n; i++)
    arguments[n++] = arena_printf(m->arena, "%s==%s", e->packages[i].name, e->packages[i].version[which >> i & 1]);
  return status == LYNX_OK ? run_program(m, "pip install", arguments) : status;
}

static enum lynx_status check_versions(const struct built_environments *e, unsigned which, const char *folder, const struct making *m) {
  const char *arguments[4 + 2 * PACKAGES_MAX] = {arena_printf(m->arena, "%s/bin/python", folder), "-c", check_script};
  for (size_t i = 0; i < e->n; i++) {
    arguments[3 + 2 * i] = e->packages[i].name;
    arguments[4 + 2 * i] = e->packages[i].version[which >> i & 1];
  }
  return run_program(m, "the environment's versions", arguments);
}

enum lynx_status built_environments_make(struct built_environments *e, struct arena *arena, void (*note)(void *context, const char *text),
                                         void *context, const atomic_int *stop, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (unsigned which = 0; which < 1U << e->n && status == LYNX_OK; which++) {
    const char *name = name_of(e, which, arena), *folder = arena_printf(arena, "%s/%s", e->folder, name);
    const char *marker = arena_printf(arena, "%s/%s", folder, mark);
    const char *text = arena_printf(arena, "%s\n%s\n%s\n", e->python, name, e->requirements_digest);
    const struct making m = {arena, stop, arena_printf(arena, "%s.log", folder), error};
    if (strlen(name) > NAME_MAX_BYTES)
      return lynx_fail(error, LYNX_LIMIT, "the packages' names and versions are too long for a folder's name");
    file_make_parents(folder, 0755);
    if (!is_ready(marker, text)) {
      note(context, arena_printf(arena, "building the environment %s, %u of %u", name, which + 1, 1U << e->n));
      status = install(e, which, folder, &m);
      if (status == LYNX_OK && file_replace(marker, text, strlen(text)) != 0)
        status = lynx_fail(error, LYNX_IO, "%s: %s", marker, strerror(errno));
    }
    if (status == LYNX_OK) (void)unlink(arena_printf(arena, "%s.making", folder)); /* it is whole */
    if (status == LYNX_OK) status = check_versions(e, which, folder, &m);
    e->pythons[which] = arena_printf(arena, "%s/bin/python", folder);
  }
  return status;
}

struct text_list built_environments_command(const struct built_environments *e, uint64_t facts, const struct text_list *command,
                                            struct arena *arena) {
  unsigned which = 0;
  for (size_t i = 0; i < e->n; i++) which |= (unsigned)(facts >> e->packages[i].fact & 1) << i;
  if (e->n == 0) return *command;
  const char **words = arena_alloc(arena, command->n_items + 1, sizeof *words);
  bool found = false;
  for (size_t i = 0; i < command->n_items; i++) {
    bool here = !found && strcmp(command->items[i], e->python) == 0;
    words[i] = here ? e->pythons[which] : command->items[i];
    found = found || here;
  }
  return (struct text_list){words, command->n_items};
}
