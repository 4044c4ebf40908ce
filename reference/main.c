/* lynxbench-ref: a small real serving stack to measure, and to hold the instrument against. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "reference/server.h"

enum { EXIT_UNAVAILABLE = 69 }; /* this precision cannot run on this machine (EX_UNAVAILABLE of sysexits) */

static atomic_int stop;

static void on_signal(int number) {
  (void)number;
  atomic_store(&stop, 1);
}

static const char *const fault_names[FAULT_COUNT] = {"none",  "hang", "close",   "html",    "429",  "500",
                                                     "error", "utf8", "endless", "no-done", "usage"};
static const char *const cheat_names[CHEAT_COUNT] = {"none", "caching", "prefix", "seed", "length", "usage", "first-token", "failures"};

static void print_help(FILE *to) {
  (void)fprintf(to, "lynxbench-ref: a small serving stack with the OpenAI routes, to try lynxbench on and to hold it against.\n"
                    "\n"
                    "usage: lynxbench-ref [options]\n"
                    "\n"
                    "  --mode model|metronome   compute a transformer, or answer by a schedule (model)\n"
                    "  --address A --port P     where to listen (127.0.0.1, 8100; port 0 picks one and prints it)\n"
                    "model:\n"
                    "  --shape byte|tiny|small  byte: trained, 1 MB; tiny, small: weights from the seed (byte)\n"
                    "  --weights FILE           the safetensors file of shape byte (beside the program or in the source tree)\n"
                    "  --precision f32|bf16|int8   arithmetic of the matrix products (f32)\n"
                    "  --threads N              of the matrix products (1)\n"
                    "  --max-batch N            sequences computed together (16)\n"
                    "  --queue N                requests that may wait; more are answered 429 (256)\n"
                    "  --slow DURATION          a planted bottleneck: added to every step (0s)\n"
                    "metronome:\n"
                    "  --first-token DURATION   mean time to the first token (20ms)\n"
                    "  --gap DURATION           mean gap between tokens (5ms)\n"
                    "  --first-token-distribution, --gap-distribution constant|exponential   (constant)\n"
                    "  --slots N                requests served at once; the others wait (all)\n"
                    "  --change-after N         after N requests every time is --change-percent of what it was (never; 100)\n"
                    "  --log FILE               every write: request, kind, planned, before, after, bytes\n"
                    "both:\n"
                    "  --seed N                 (1)\n"
                    "  --fault KIND             plant one: none hang close html 429 500 error utf8 endless no-done usage\n"
                    "  --fault-every N          in every N-th request (1)\n"
                    "  --cheat KIND             none length usage first-token; metronome: caching prefix seed failures\n"
                    "\n"
                    "It exits with 69 where the precision is unavailable on this CPU.\n"
                    "\n"
                    "example: lynxbench-ref --mode metronome --port 8100 --gap 10ms\n");
}

static _Noreturn void usage_error(const char *what, const char *found, const char *accepted) {
  (void)fprintf(stderr, "lynxbench-ref: --%s: found '%s', accepted: %s\n", what, found, accepted);
  exit(2);
}

static int choice(const char *what, const char *found, const char *const *names, int n) {
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], found) == 0) return i;
  char list[200] = "";
  for (int i = 0; i < n; i++) (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? " " : "", names[i]);
  usage_error(what, found, list);
}

static int64_t whole(const char *what, const char *found, int64_t least, int64_t most) {
  int64_t value;
  char accepted[80];
  (void)snprintf(accepted, sizeof accepted, "a whole number from %lld to %lld", (long long)least, (long long)most);
  if (!number_int64(found, strlen(found), &value) || value < least || value > most) usage_error(what, found, accepted);
  return value;
}

static int64_t duration(const char *what, const char *found) {
  int64_t value;
  if (!number_duration(found, strlen(found), &value) || value > 60000000000) usage_error(what, found, "a duration up to 60s, such as 20ms");
  return value;
}

enum {
  MODE = 256,
  ADDRESS,
  PORT,
  SHAPE,
  WEIGHTS,
  PRECISION,
  THREADS,
  MAX_BATCH,
  QUEUE,
  SLOW,
  FIRST_TOKEN,
  GAP,
  FIRST_KIND,
  GAP_KIND,
  LOG,
  SEED,
  FAULT,
  FAULT_EVERY,
  CHEAT,
  SLOTS,
  CHANGE_AFTER,
  CHANGE_PERCENT,
  HELP
};
static const struct option option_table[] = {{"mode", 1, 0, MODE},
                                             {"address", 1, 0, ADDRESS},
                                             {"port", 1, 0, PORT},
                                             {"shape", 1, 0, SHAPE},
                                             {"weights", 1, 0, WEIGHTS},
                                             {"precision", 1, 0, PRECISION},
                                             {"threads", 1, 0, THREADS},
                                             {"max-batch", 1, 0, MAX_BATCH},
                                             {"queue", 1, 0, QUEUE},
                                             {"slow", 1, 0, SLOW},
                                             {"first-token", 1, 0, FIRST_TOKEN},
                                             {"gap", 1, 0, GAP},
                                             {"first-token-distribution", 1, 0, FIRST_KIND},
                                             {"gap-distribution", 1, 0, GAP_KIND},
                                             {"log", 1, 0, LOG},
                                             {"seed", 1, 0, SEED},
                                             {"fault", 1, 0, FAULT},
                                             {"fault-every", 1, 0, FAULT_EVERY},
                                             {"cheat", 1, 0, CHEAT},
                                             {"slots", 1, 0, SLOTS},
                                             {"change-after", 1, 0, CHANGE_AFTER},
                                             {"change-percent", 1, 0, CHANGE_PERCENT},
                                             {"help", 0, 0, HELP},
                                             {0, 0, 0, 0}};

static void parse_options(int argc, char **argv, struct options *o) {
  static const char *const distributions[] = {"constant", "exponential"}, *const modes[] = {"model", "metronome"},
                           *const shapes[] = {"byte", "tiny", "small"}, *const precisions[] = {"f32", "bf16", "int8"};
  for (int c; (c = getopt_long(argc, argv, "", option_table, NULL)) != -1;) switch (c) {
      case MODE: o->mode = modes[choice("mode", optarg, modes, 2)]; break;
      case ADDRESS: o->address = optarg; break;
      case PORT: o->port = (int)whole("port", optarg, 0, 65535); break;
      case SHAPE: o->shape = shapes[choice("shape", optarg, shapes, 3)]; break;
      case WEIGHTS: o->weights = optarg; break;
      case PRECISION: o->precision = precisions[choice("precision", optarg, precisions, 3)]; break;
      case THREADS: o->threads = (int)whole("threads", optarg, 1, 1024); break;
      case MAX_BATCH: o->max_batch = (int)whole("max-batch", optarg, 1, 64); break;
      case QUEUE: o->queue = (int)whole("queue", optarg, 1, 100000); break;
      case SLOW: o->slow_ns = duration("slow", optarg); break;
      case FIRST_TOKEN: o->first_token_ns = duration("first-token", optarg); break;
      case GAP: o->gap_ns = duration("gap", optarg); break;
      case FIRST_KIND: o->first_token = (enum distribution)choice("first-token-distribution", optarg, distributions, 2); break;
      case GAP_KIND: o->gap = (enum distribution)choice("gap-distribution", optarg, distributions, 2); break;
      case LOG: o->log = optarg; break;
      case SEED: o->seed = whole("seed", optarg, 0, INT64_MAX); break;
      case FAULT: o->fault = (enum fault)choice("fault", optarg, fault_names, FAULT_COUNT); break;
      case FAULT_EVERY: o->fault_every = whole("fault-every", optarg, 1, 1000000); break;
      case CHEAT: o->cheat = (enum cheat)choice("cheat", optarg, cheat_names, CHEAT_COUNT); break;
      case SLOTS: o->slots = whole("slots", optarg, 1, 20000); break;
      case CHANGE_AFTER: o->change_after = whole("change-after", optarg, 1, 1000000000); break;
      case CHANGE_PERCENT: o->change_percent = whole("change-percent", optarg, 1, 10000); break;
      case HELP: print_help(stdout); exit(0);
      default: print_help(stderr); exit(2);
    }
  if (optind < argc) usage_error("(argument)", argv[optind], "options only");
}

int main(int argc, char **argv) {
  struct options options = {.address = "127.0.0.1",
                            .port = 8100,
                            .mode = "model",
                            .precision = "f32",
                            .shape = "byte",
                            .threads = 1,
                            .max_batch = 16,
                            .queue = 256,
                            .seed = 1,
                            .first_token_ns = 20000000,
                            .gap_ns = 5000000,
                            .fault_every = 1,
                            .change_percent = 100};
  parse_options(argc, argv, &options);
  struct sigaction action = {.sa_handler = on_signal};
  (void)sigaction(SIGTERM, &action, NULL);
  (void)sigaction(SIGINT, &action, NULL);
  const struct backend *backend = &backend_model;
  if (strcmp(options.mode, "metronome") == 0) {
    backend = &backend_metronome;
    options.shape = "metronome"; /* the name of the model that it serves */
  }
  struct lynx_error error = {0};
  void *state = NULL;
  struct server *server = NULL;
  int port = 0;
  char text[1200];
  enum lynx_status status = backend->open(&options, &state, &error);
  if (status == LYNX_OK) status = server_open(&options, backend, state, &server, &port, &error);
  if (status == LYNX_OK) {
    struct buffer executed;
    buffer_init(&executed, 65536);
    backend->describe(state, &executed);
    (void)printf("lynxbench-ref: ready on http://%s:%d, %s, shape %s, executed {%s}\n", options.address, port, backend->name, options.shape,
                 executed.data);
    (void)fflush(stdout);
    buffer_release(&executed);
    server_run(server, &stop);
  } else {
    lynx_error_text(&error, text, sizeof text);
    (void)fprintf(stderr, "lynxbench-ref: %s\n", text);
  }
  server_close(server);
  backend->close(state);
  return status == LYNX_OK ? 0 : status == LYNX_UNSUPPORTED ? EXIT_UNAVAILABLE : status == LYNX_IO ? 5 : 2;
}
