#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/state.h"
#include "cli/command.h"
#include "cli/live_site.h"
#include "cli/option_value.h"
#include "ledger/seen.h"
#include "serve/log_server.h"
#include "serve/reading.h"

enum {
  FLAG_ADDRESS,
  FLAG_PORT,
  FLAG_NAME,
  FLAG_CERTIFICATE,
  FLAG_CERTIFICATE_KEY,
  FLAG_READERS,
  FLAG_PROXY,
  FLAG_IDENTITY,
  FLAG_SCHEDULES,
  FLAG_READ_ONLY
};
enum { NAMES_MAX = 16, PEM_MAX = 1 << 20 };

static const struct option_spec options[] = {
    [FLAG_ADDRESS] = OPTION("address", "IP", "where to listen (default: 127.0.0.1, this machine alone)"),
    [FLAG_PORT] = OPTION_WITH("port", "N", "the port (default: 8300; 0: any that is free)", VALUE_COUNT, 0, 65535, "0 to 65535"),
    [FLAG_NAME] = OPTION("name", "HOST,...", "names by which clients call it, besides addresses and localhost"),
    [FLAG_CERTIFICATE] = OPTION("certificate", "FILE", "serve HTTPS with this certificate (PEM, with its chain)"),
    [FLAG_CERTIFICATE_KEY] = OPTION("certificate-key", "FILE", "its private key (PEM)"),
    [FLAG_READERS] = OPTION("readers", "FILE",
                            "read with a token only, of those in this file (lynxbench ledger reader; default: LYNXBENCH_READERS)"),
    [FLAG_PROXY] = OPTION("trusted-proxy", "IP", "of --readers: whom the reverse proxy at this address names may read, too"),
    [FLAG_IDENTITY] = OPTION("identity-header", "NAME", "the header in which it names them (default: X-Forwarded-User)"),
    [FLAG_SCHEDULES] = OPTION("schedules", "DIR", "show what became of the schedules whose runs go there (schedule add --folder)"),
    [FLAG_READ_ONLY] = SWITCH("read-only", "take no entries: a copy that `lynxbench ledger pull` made can be shown, too")};

/* What a server is made of. */
struct serving {
  struct ledger_file file, adds, files;
  struct live_site *site; /* with a handle of its own */
  struct buffer certificate, private_key;
  char names[1024], spool[4096], counted[4096];
  const char *name[NAMES_MAX];
  struct readers *readers;
  struct running *running;
  const char *readers_path;
  struct log_server_at at;
};

static bool read_pem(const struct arguments *arguments, int flag, struct buffer *ret) {
  buffer_init(ret, PEM_MAX);
  return arguments->option[flag] == NULL || read_file(arguments->option[flag], PEM_MAX, ret);
}

static bool read_names(const char *given, struct serving *s) {
  char *rest = s->names, *name;
  if (given == NULL) return true;
  if (strlen(given) >= sizeof s->names) return false;
  (void)snprintf(s->names, sizeof s->names, "%s", given);
  while ((name = strsep(&rest, ",")) != NULL) {
    if (name[0] == 0 || s->at.n_names == NAMES_MAX) return false;
    s->name[s->at.n_names++] = name;
  }
  return true;
}

/* Beside a ledger that is a file, since a copy of it has room there; else where temporary files go. */
static void choose_spool(const char *ledger, struct serving *s) {
  struct stat info;
  const char *temporary = getenv("TMPDIR"), *slash = strrchr(ledger, '/');
  bool is_file = stat(ledger, &info) == 0 && S_ISREG(info.st_mode);
  if (!is_file) (void)snprintf(s->spool, sizeof s->spool, "%s", temporary != NULL && temporary[0] != 0 ? temporary : "/tmp");
  else if (slash == NULL) (void)snprintf(s->spool, sizeof s->spool, ".");
  else (void)snprintf(s->spool, sizeof s->spool, "%.*s/", (int)(slash - ledger), ledger);
}

static bool read_proxy(const char *proxy, const char *header) {
  struct in_addr address;
  if (proxy != NULL && (inet_pton(AF_INET, proxy, &address) != 1 || address.s_addr == INADDR_ANY)) {
    complain("lynxbench serve: --trusted-proxy: found '%s'; accepted: the IPv4 address of one host, such as 127.0.0.1\n", proxy);
    return false;
  }
  if (header != NULL && !reading_header_is_good(header)) {
    complain("lynxbench serve: --identity-header: found '%s'; accepted: a header's name, of those that only say who it is\n", header);
    return false;
  }
  return true;
}

static void tell_of_readers(const char *text) {
  complain("lynxbench serve: %s\n", text);
}

static bool read_readers(const struct arguments *arguments, struct serving *s) {
  struct lynx_error error = {0};
  const char *option = arguments->option[FLAG_READERS], *variable = getenv("LYNXBENCH_READERS"), *proxy = arguments->option[FLAG_PROXY],
             *header = arguments->option[FLAG_IDENTITY];
  const char *path = option != NULL ? option : variable != NULL && variable[0] != 0 ? variable : NULL;
  if (!read_proxy(proxy, header)) return false;
  if ((path == NULL && proxy != NULL) || (proxy == NULL && header != NULL)) {
    complain("lynxbench serve: --trusted-proxy goes with --readers FILE, and --identity-header with --trusted-proxy\n");
    return false;
  }
  if (path != NULL && path[0] == 0) {
    complain("lynxbench serve: --readers: found nothing; accepted: a file that `lynxbench ledger reader` made\n");
    return false;
  }
  enum lynx_status status = path != NULL ? readers_open(path, tell_of_readers, &s->readers, &error) : LYNX_OK;
  if (status != LYNX_OK) {
    (void)report_error(&error);
    if (status == LYNX_NOT_FOUND) complain("next: lynxbench ledger reader NAME --readers %s\n", path);
    return false;
  }
  s->readers_path = path;
  s->at.readers = s->readers;
  s->at.proxy = proxy;
  s->at.identity_header = header != NULL ? header : "X-Forwarded-User";
  return true;
}

static bool read_arguments(const struct arguments *arguments, struct serving *s) {
  int64_t port = option_count(arguments, FLAG_PORT, 8300);
  bool certificate = arguments->option[FLAG_CERTIFICATE] != NULL, key = arguments->option[FLAG_CERTIFICATE_KEY] != NULL;
  if (certificate != key) {
    complain("lynxbench serve: --certificate and --certificate-key belong together: give both, or neither\n");
    return false;
  }
  if (!read_names(arguments->option[FLAG_NAME], s)) {
    complain("lynxbench serve: --name: accepted: up to %d names, with commas between them\n", NAMES_MAX);
    return false;
  }
  if (!read_pem(arguments, FLAG_CERTIFICATE, &s->certificate) || !read_pem(arguments, FLAG_CERTIFICATE_KEY, &s->private_key)) return false;
  s->at.read_only = arguments->option[FLAG_READ_ONLY] != NULL;
  s->at.address = arguments->option[FLAG_ADDRESS] != NULL ? arguments->option[FLAG_ADDRESS] : "127.0.0.1";
  s->at.port = (int)port;
  s->at.names = s->name;
  s->at.certificate = certificate ? s->certificate.data : NULL;
  s->at.private_key = certificate ? s->private_key.data : NULL;
  if (!read_readers(arguments, s)) return false;
  choose_spool(arguments->positional[0], s);
  s->at.spool = s->spool;
  return true;
}

/* What readers give to commands: by the first name that the operator gave. */
static void name_site(const struct serving *s, int port) {
  char address[400];
  (void)snprintf(address, sizeof address, "%s://%.200s:%d", s->at.certificate != NULL ? "https" : "http",
                 s->at.n_names > 0 ? s->name[0] : s->at.address, port);
  live_site_name(s->site, address);
}

/* The cage leaves that folder open. */
static void choose_counted(struct serving *s) {
  char folder[3800];
  if (!state_path("ledgers", folder, sizeof folder)) return;
  s->at.counted = seen_path(s->adds.ledger, folder, "counted", s->counted, sizeof s->counted);
}

static int serve(struct serving *s) {
  int bound = 0, got = 0;
  struct log_server *server = NULL;
  struct lynx_error error = {0};
  const struct served_ledger ledger = {s->file.ledger, s->adds.ledger, s->files.ledger};
  sigset_t stop;
  (void)sigemptyset(&stop);
  (void)sigaddset(&stop, SIGINT);
  (void)sigaddset(&stop, SIGTERM);
  (void)sigprocmask(SIG_BLOCK, &stop, NULL); /* before the server's threads are there, so that they inherit it */
  choose_counted(s);
  enum lynx_status status = log_server_start(&ledger, &s->at, &bound, &server, &error);
  if (status == LYNX_OK) {
    name_site(s, bound);
    say("serving %s on %s://%s:%d/ until Ctrl-C; %s\n", ledger_policy(s->file.ledger)->origin, s->at.certificate != NULL ? "https" : "http",
        s->at.address, bound, s->at.read_only ? "nothing can be added to it here" : "its policy alone says who may add to it");
    if (s->readers == NULL) say("whoever reaches it may read all of it\n");
    else
      say("it is read with a token of %s (%zu now)%s\n", s->readers_path, readers_count(s->readers),
          s->at.proxy != NULL ? ", or through the proxy" : "");
    (void)fflush(stdout);
    if (!live_site_follow(s->site)) status = lynx_fail(&error, LYNX_LIMIT, "no thread for the ledger's pages");
    else (void)sigwait(&stop, &got);
  }
  log_server_stop(server);
  return status == LYNX_OK ? EXIT_HOLDS : report_error(&error);
}

static int run(const struct arguments *arguments) {
  struct serving *s = xalloc(1, sizeof *s);
  int code = EXIT_WRONG_INPUT;
  enum ledger_use use = arguments->option[FLAG_READ_ONLY] == NULL ? LEDGER_ADDS : LEDGER_READS;
  const char *path = arguments->positional[0];
  if (read_arguments(arguments, s) && ledger_file_open(path, use, &s->file)) {
    if (ledger_file_open(path, use, &s->adds) && ledger_file_open(path, use, &s->files)) {
      s->site = live_site_open(path, &code);
      s->at.pages = (struct page_source){live_site_get, live_site_look, s->site};
      s->running = s->at.running = s->at.read_only ? NULL : running_open();
      bool shown = s->site != NULL && live_site_show(s->site, "serve", s->running, arguments->option[FLAG_SCHEDULES]);
      if (s->site != NULL) code = shown ? serve(s) : EXIT_WRONG_INPUT;
      live_site_close(s->site);
    }
    ledger_file_close(&s->files);
    ledger_file_close(&s->adds);
    ledger_file_close(&s->file);
  }
  running_close(s->running);
  readers_close(s->readers);
  buffer_release(&s->certificate);
  buffer_wipe(&s->private_key);
  free(s);
  return code;
}

const struct command command_serve = {
    .name = "serve",
    .summary = "serve a ledger over HTTP, with its pages",
    .usage = "LEDGER",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Its first page shows every contract: its standing, its last figure, where it changed. The others are a page for the meeting,\n"
        "every run's result, and comparisons; each table is JSON and CSV at the same address, too.\n"
        "Any command's --ledger may then be the URL: it reads a checked copy of its own, and sends what it adds. An entry is taken when\n"
        "a team of the policy signed it; who may read is everybody, or with --readers whoever has a token. On this machine alone unless "
        "--address says otherwise;\n"
        "plain HTTP unless --certificate is given: everything that is served checks itself, but who reads it shows. A client has\n"
        "10 s for the head of a request, and 30 s and a second for each 64 KiB for what it sends or is sent.",
    .example = "rm -rf /tmp/sv; mkdir -p /tmp/sv; build/lynxbench ledger key ml --out /tmp/sv; build/lynxbench ledger create "
               "/tmp/sv/t.ledger --key "
               "/tmp/sv/ml.key; "
               "timeout --preserve-status -s INT 1 build/lynxbench serve /tmp/sv/t.ledger --port 0",
    .run = run};
