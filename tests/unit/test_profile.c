#include "result/profile.h"

#include <stdlib.h>

#include "tests/check.h"

static struct request_log read_log(const char *name, enum log_format format, enum log_format wanted) {
  char path[400];
  struct request_log log = {0};
  struct lynx_error error = {0};
  static char text[65536];
  (void)snprintf(path, sizeof path, "%s/traces/%s", RECORDED, name);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  size_t n = file != NULL ? fread(text, 1, sizeof text, file) : 0;
  if (file != NULL) (void)fclose(file);
  CHECK_INT(request_log_parse(text, n, format, &log, &error), LYNX_OK);
  CHECK_INT(log.format, wanted);
  return log;
}

static void formats(void) {
  struct request_log log = read_log("azure.csv", LOG_AUTO, LOG_AZURE);
  CHECK_INT(log.n_items, 30);
  CHECK_INT(log.items[1].at_ns, 52000000); /* 03.97996 to 04.03196 */
  CHECK_INT(log.items[12].at_ns, 29479069000);
  CHECK_INT(log.items[3].prompt_tokens, 7433);
  CHECK_INT(log.first_realtime_ns, 1700158623979960000); /* 2023-11-16T18:17:03.97996Z */
  request_log_release(&log);
  log = read_log("mooncake.jsonl", LOG_AUTO, LOG_MOONCAKE);
  CHECK_INT(log.n_items, 10);
  CHECK_INT(log.items[4].at_ns, 5999000000);
  CHECK_INT(log.items[4].n_blocks, 3);
  request_log_release(&log);
  log = read_log("burstgpt.csv", LOG_AUTO, LOG_BURSTGPT);
  CHECK_INT(log.n_items, 4);
  CHECK_INT(log.n_skipped, 1);
  CHECK_TEXT(log.first_skipped, "line 5: a token count that is none");
  CHECK_INT(log.items[2].prompt_tokens, 417); /* behind a comma in quotes */
  CHECK_INT(log.items[3].at_ns, 113250000000);
  request_log_release(&log);
  log = read_log("lines.jsonl", LOG_AUTO, LOG_JSONL);
  CHECK_INT(log.n_items, 3);
  CHECK_INT(log.n_skipped, 1);
  CHECK_INT(log.items[0].prompt_tokens, 20); /* in order of time */
  CHECK_INT(log.items[1].duration_ns, 500000000);
  CHECK_TEXT(log.items[2].prompt, "say \"h\xc3\xa9\"");
  request_log_release(&log);
  log = read_log("otlp.json", LOG_AUTO, LOG_OTLP);
  CHECK_INT(log.n_items, 2);
  CHECK_INT(log.items[1].cached_tokens, 128);
  CHECK_INT(log.items[1].at_ns, 2000000000);
  CHECK_INT(log.items[0].duration_ns, 1500000000);
  request_log_release(&log);
  log = read_log("access.log", LOG_AUTO, LOG_ACCESS);
  CHECK_INT(log.n_items, 2);
  CHECK_INT(log.n_skipped, 2);
  CHECK_CONTAINS(log.first_skipped, "line 2: not a POST");
  CHECK_INT(log.items[1].at_ns, 3750000000); /* the line is written when the answer is out */
  CHECK_INT(log.items[0].prompt_tokens, -1);
  request_log_release(&log);
}

static void refusals(void) {
  struct request_log log;
  static const char *const texts[] = {"",
                                      "\n\n",
                                      "hello\n",
                                      "{}\n",
                                      "{\"at_s\": -1, \"prompt_tokens\": 1}\n",
                                      "TIMESTAMP,ContextTokens,GeneratedTokens\n",
                                      "{\"at_s\": 1}\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct lynx_error error = {0};
    CHECK_INT(request_log_parse(texts[i], strlen(texts[i]), LOG_AUTO, &log, &error), LYNX_INPUT);
    CHECK(error.message[0] != 0);
  }
}

static void profiles(void) {
  struct request_log log = read_log("lines.jsonl", LOG_AUTO, LOG_JSONL);
  struct profile p, again;
  struct buffer out;
  struct lynx_error error = {0};
  profile_of_log(&log, "made up", "2026-11-21T00:00:00Z", &p);
  CHECK_INT(p.n_requests, 3);
  CHECK_INT(p.n_pairs, 2);
  CHECK_NEAR(p.rate_per_s, 1, 1e-12); /* two gaps of a second */
  CHECK_NEAR(p.gap_variation, 0, 1e-12);
  CHECK_NEAR(p.mean_concurrency, 1, 1e-12); /* 1/s x mean of 0.5 and 1.5 s */
  CHECK_NEAR(p.prefix_reuse, 10.0 / 30, 1e-12);
  buffer_init(&out, 1 << 20);
  CHECK(profile_write(&p, &out));
  CHECK_INT(profile_read(out.data, out.length, &again, &error), LYNX_OK);
  struct profile_distance d = profile_compare(&p, &again);
  CHECK_NEAR(d.prompt_length, 0, 0);
  CHECK_NEAR(d.arrivals, 0, 0);
  CHECK_NEAR(d.concurrency_ratio, 1, 1e-6);
  CHECK_NEAR(d.prefix_reuse, 0, 1e-6);
  profile_release(&again);
  request_log_release(&log);
  /* Prefixes by blocks: of ten requests each but the first begins with block 0, and nothing else is shared. */
  log = read_log("mooncake.jsonl", LOG_AUTO, LOG_MOONCAKE);
  profile_of_log(&log, "", "", &again);
  CHECK_NEAR(again.prefix_reuse, 9.0 / (5 + 10 + 4 + 2 + 3 + 3 + 8 + 3 + 3 + 2), 1e-12);
  CHECK_NEAR(profile_compare(&p, &again).prompt_length, 1, 0); /* lengths that do not overlap at all */
  profile_release(&again);
  profile_release(&p);
  request_log_release(&log);
  buffer_release(&out);
  static const char *const broken[] = {"",
                                       "{}",
                                       "[]",
                                       "{\"lynx_profile\":1}",
                                       "{\"lynx_profile\":1,\"prompt_tokens\":[1],\"output_tokens\":[],\"gaps\":[]}",
                                       "{\"lynx_profile\":1,\"prompt_tokens\":[-1],\"output_tokens\":[1],\"gaps\":[]}"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    error = (struct lynx_error){0};
    CHECK_INT(profile_read(broken[i], strlen(broken[i]), &again, &error), LYNX_INPUT);
  }
}

int main(void) {
  formats();
  refusals();
  profiles();
  return check_end();
}
