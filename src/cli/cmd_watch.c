#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/shell.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "cli/contract_run.h"
#include "cli/host_sampling.h"
#include "cli/option_value.h"
#include "cli/own_contract.h"
#include "cli/quick_run.h"
#include "cli/server_look.h"
#include "cli/serving_url.h"
#include "report/text.h"

enum { FLAG_FOR, FLAG_OUT, FLAG_PID, FLAG_INTERFACE, FLAG_FINE, FLAG_SCRAPE, FLAG_SAMPLES, FLAG_QUIET, FLAG_JSON };
#define SHORTEST_NS INT64_C(6000000000)
enum { WINDOW_S = 10, WINDOWS_LEAST = 3, WINDOWS_MOST = 60 };

static const struct option_spec options[] = {
    [FLAG_FOR] = OPTION_WITH("for", "DURATION", "how long it watches, from 6s on (default: 1min)", VALUE_DURATION, 1e-9, 86400,
                             "a duration up to 24h, such as 10min"),
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: watch- and the time, .lynx)"),
    [FLAG_PID] = OPTION_WITH("pid", "N",
                             "the serving process, in whose network namespace packets are read (default: the one that listens at the URL, "
                             "here); without a URL, what it listens on",
                             VALUE_COUNT, 1, INT32_MAX, "the number of the serving process"),
    [FLAG_INTERFACE] = OPTION("interface", "NAME", "read packets of this network interface alone (default: all)"),
    [FLAG_FINE] = SWITCH("fine", "keep times as the kernel stamps them (default: whole milliseconds, which say less of the words)"),
    [FLAG_SCRAPE] = SWITCH("scrape", "ask the server for its metrics, too, every 10 s: that is a request"),
    [FLAG_SAMPLES] = SWITCH("samples-only",
                            "no packets: samples of the serving process, as lines of JSON, while another host loads it (default of --for: "
                            "until Ctrl-C)"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH("json", "the result as JSON")};

/* What it is that was watched, and how: who runs this contract watches again. */
static bool write_contract(const char *url, int64_t pid, int64_t for_ns, struct buffer *ret) {
  int64_t n = for_ns / ((int64_t)WINDOW_S * 1000000000);
  n = n < WINDOWS_LEAST ? WINDOWS_LEAST : n > WINDOWS_MOST ? WINDOWS_MOST : n;
  bool good = buffer_printf(ret,
                            "# A lynxbench contract: what was watched, and how. `lynxbench run` of it watches again; nothing is sent.\n"
                            "lynxbench: 1\nname: watch\n\nwhere:\n  environment: production\n\nexecutor:\n  endpoint: \"%s\"\n",
                            url);
  if (pid > 0) good = good && buffer_printf(ret, "  pid: %lld\n", (long long)pid);
  return good && buffer_printf(
                     ret,
                     "\nworkload:\n  driver: http\n\nregime:\n  load: observed             # the requests of others, as they "
                     "come\n\nprecisions: [as-served]\n\nmethod:\n  warm_up: 0s\n  counted: %lldms\n  sessions: %lld               # "
                     "windows, one after the other: intervals are over them\n  drain: 60s                 # how long what is under way at "
                     "the end is waited for\n  steady: reported\n",
                     (long long)(for_ns / n / 1000000), (long long)n);
}

/* An exit code; what is wrong was reported. */
static int make_contract(const struct arguments *arguments, const char *url, const char *path, struct contract_file *ret) {
  const struct server_access given = {.given = url};
  struct server_access server;
  struct buffer text;
  if (!server_access_read("watch", &given, &server)) return EXIT_WRONG_INPUT;
  int64_t for_ns = option_duration_ns(arguments, FLAG_FOR, INT64_C(60000000000));
  if (for_ns < SHORTEST_NS) {
    complain("lynxbench watch: --for: found '%s'; accepted: a duration from 6s to 24h, such as 10min\n", arguments->option[FLAG_FOR]);
    return EXIT_WRONG_INPUT;
  }
  buffer_init(&text, 65536);
  if (!write_contract(server.url, option_count(arguments, FLAG_PID, 0), for_ns, &text) || !write_new_output(path, text.data, text.length)) {
    buffer_release(&text);
    return EXIT_CONDITIONS;
  }
  contract_file_take(text, ret);
  if (ret->problems.n_errors == 0) {
    own_contract_remember(&ret->contract);
    return EXIT_HOLDS;
  }
  contract_file_print_problems(ret, path, false, false, stderr);
  contract_file_release(ret);
  return EXIT_WRONG_INPUT;
}

static int show(const struct arguments *arguments, const char *path) {
  struct bundle_file file;
  struct buffer out;
  int64_t n = 0;
  if (!bundle_file_open(path, &file)) return EXIT_OUR_BUG;
  buffer_init(&out, 16 << 20);
  for (size_t i = 0; i < file.result.n_precisions; i++) n += file.result.precisions[i].n_counted;
  bool json = arguments->option[FLAG_JSON] != NULL;
  bool good = json ? result_write(&file.result, &out) : n == 0 || text_result(&file.result, false, color_wanted(stdout), &out);
  good = good && write_buffer(NULL, &out);
  buffer_release(&out);
  bundle_file_close(&file);
  if (n > 0 && !json)
    say("next: lynxbench show %s; lynxbench attribute %s; lynxbench profile %s\n", shell_word(path), shell_word(path), shell_word(path));
  return !good ? EXIT_CONDITIONS : n > 0 ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

static bool find_url(const struct arguments *arguments, char found[LISTENING_URL], const char **ret) {
  int64_t pid = option_count(arguments, FLAG_PID, 0);
  *ret = arguments->n_positional > 0 ? arguments->positional[0] : found;
  if (pid == (int64_t)getpid()) {
    complain("lynxbench watch: --pid: found this program itself; accepted: the number of the serving process\n");
    return false;
  }
  if (arguments->n_positional > 0 && server_is_url(arguments->positional[0])) return true;
  if (arguments->n_positional == 0 && pid > 0) return serving_url("watch", pid, found);
  complain("lynxbench watch: found %s; accepted: the server's own address on this host, such as http://127.0.0.1:8000, or --pid N\n"
           "next: lynxbench watch --help\n",
           arguments->n_positional > 0 ? arguments->positional[0] : "neither a URL nor --pid");
  return false;
}

static int run(const struct arguments *arguments) {
  char name[200], path[4200], found[LISTENING_URL];
  const struct contract watch = {.name = "watch"};
  const struct host_sampling sampling = {.url = arguments->n_positional > 0 ? arguments->positional[0] : NULL,
                                         .pid = option_count(arguments, FLAG_PID, 0),
                                         .for_ns = option_duration_ns(arguments, FLAG_FOR, 0),
                                         .out = arguments->option[FLAG_OUT],
                                         .quiet = arguments->option[FLAG_QUIET] != NULL};
  if (arguments->option[FLAG_SAMPLES] != NULL) return host_sampling_run(&sampling);
  const char *url, *given = arguments->option[FLAG_OUT], *out = given != NULL ? given : screen_bundle_name(&watch, "", name, sizeof name);
  (void)quick_run_contract(out, path, sizeof path);
  if (!find_url(arguments, found, &url) || !output_is_free("watch", out) || !output_is_free("watch", path)) return EXIT_WRONG_INPUT;
  struct contract_file file;
  struct contract_run r;
  int code = make_contract(arguments, url, path, &file);
  if (code != EXIT_HOLDS) return code;
  contract_run_init(&r, arguments->option[FLAG_QUIET] != NULL, file.text.data, file.text.length, out);
  r.request.observation = (struct run_observation){.on = true,
                                                   .fine = arguments->option[FLAG_FINE] != NULL,
                                                   .asks_counters = arguments->option[FLAG_SCRAPE] != NULL,
                                                   .interface = arguments->option[FLAG_INTERFACE]};
  code = contract_run_whole(&r);
  contract_file_release(&file);
  if (code != EXIT_HOLDS && code != EXIT_INTERRUPTED) {
    (void)unlink(path); /* nothing was watched by it */
    return code;
  }
  complain("%s: what was watched; %s: the contract of it\n", out, path);
  int shown = show(arguments, out);
  return code != EXIT_HOLDS ? code : shown;
}

const struct command command_watch = {
    .name = "watch",
    .summary = "measure the requests that others send to a server; send nothing",
    .usage = "[URL]",
    .least = 0,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "It runs where the server runs, and reads the packets of its port: each request's arrival, first token, every token, and end,\n"
        "while the samplers look at the serving process's threads. Nothing is sent, and no connection is made to the server; no text\n"
        "and no address of a client is kept. HTTP/1.1 in the clear is read; TLS and HTTP/2 are counted, and it says so. A request counts "
        "from\n"
        "the last byte of its body at this host: what lies between here and the user is not in it.\n"
        "It needs root, or CAP_NET_RAW. The packets are parsed by a process of their own, in a cage, with no rights.\n"
        "With --samples-only it takes samples of the process alone, where another host brings the load: `lynxbench merge RUN.lynx FILE\n"
        "--out WHOLE.lynx` joins both by the two wall clocks.",
    .example =
        "rm -f /tmp/w.lynx /tmp/w.yaml; build/lynxbench-ref --mode metronome --port 8150 > /dev/null & sleep 1; build/lynxbench watch "
        "http://127.0.0.1:8150 --for 6s --out /tmp/w.lynx; kill %1",
    .run = run};
