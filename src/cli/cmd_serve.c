#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/ledger_file.h"
#include "serve/log_server.h"

enum { FLAG_ADDRESS, FLAG_PORT };

static const struct option_spec options[] = {[FLAG_ADDRESS] = {"address", "IP", "where to listen (default: 127.0.0.1, this machine alone)"},
                                             [FLAG_PORT] = {"port", "N", "the port (default: 8300; 0: any that is free)"}};

static int run(const struct arguments *arguments) {
  const char *address = arguments->option[FLAG_ADDRESS] != NULL ? arguments->option[FLAG_ADDRESS] : "127.0.0.1",
             *port_text = arguments->option[FLAG_PORT] != NULL ? arguments->option[FLAG_PORT] : "8300";
  int64_t port = 0;
  int bound = 0, got = 0;
  struct ledger_file file;
  struct log_server *server = NULL;
  struct lynx_error error = {0};
  sigset_t stop;
  if (!number_int64(port_text, strlen(port_text), &port) || port < 0 || port > 65535) {
    (void)fprintf(stderr, "lynxbench serve: --port: found '%s', accepted: 0 to 65535\n", port_text);
    return EXIT_WRONG_INPUT;
  }
  if (!ledger_file_open(arguments->positional[0], true, &file)) return EXIT_WRONG_INPUT;
  (void)sigemptyset(&stop);
  (void)sigaddset(&stop, SIGINT);
  (void)sigaddset(&stop, SIGTERM);
  (void)sigprocmask(SIG_BLOCK, &stop, NULL); /* before the server's thread is there, so that it inherits it */
  enum lynx_status status = log_server_start(file.ledger, address, (int)port, &bound, &server, &error);
  if (status == LYNX_OK) {
    (void)printf("serving %s on http://%s:%d/ until Ctrl-C; its policy alone says who may add to it\n", ledger_policy(file.ledger)->origin,
                 address, bound);
    (void)fflush(stdout);
    (void)sigwait(&stop, &got);
  }
  log_server_stop(server);
  ledger_file_close(&file);
  return status == LYNX_OK ? EXIT_HOLDS : report_error(&error);
}

const struct command command_serve = {
    .name = "serve",
    .summary = "a ledger over HTTP: to be read, and added to by the teams of its policy",
    .usage = "LEDGER",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Any command's --ledger may then be the URL: it reads a checked copy of its own, and sends what it adds. There are no\n"
               "passwords: an entry is taken when a team of the policy signed it. Plain HTTP, on this machine alone unless --address\n"
               "says otherwise: everything that is served checks itself, but who reads it shows; put a proxy with TLS before it.",
    .example = "rm -rf /tmp/sv; mkdir -p /tmp/sv; build/lynxbench key ml --out /tmp/sv; build/lynxbench log create /tmp/sv/t.ledger --key "
               "/tmp/sv/ml.key; "
               "timeout --preserve-status -s INT 1 build/lynxbench serve /tmp/sv/t.ledger --port 0",
    .run = run};
