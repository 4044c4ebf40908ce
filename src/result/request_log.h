/* result/request_log.h: requests as other systems wrote them down: when each came, and how long it was. To be replayed, or to make a
 * profile of.
 *
 * Formats  jsonl     a line per request: {"at_s" | "timestamp_s", "prompt_tokens", "output_tokens", ["duration_s", "cached_tokens",
 *                    "prompt"]}
 *          mooncake  a line per request: {"timestamp" in ms, "input_length", "output_length", "hash_ids": 512-token blocks}
 *          burstgpt  CSV with the columns Timestamp (s), Request tokens, Response tokens
 *          azure     CSV with the columns TIMESTAMP (date and time of day), ContextTokens, GeneratedTokens
 *          otlp      OTLP JSON with spans that carry gen_ai.usage.input_tokens and output_tokens; one document or one per line
 *          access    an access log in common or combined form; with a request time in seconds as the last field, durations too. Its
 *                    resolution is a second: gaps shorter than that are unknown
 * Result   in order of time, the first at 0; a line that cannot be read is counted and skipped, and the first of them kept as a reason
 * Errors   INPUT: no request at all, or a format that cannot be told; LIMIT: more than REQUEST_LOG_MAX requests
 * Memory   everything lives in the log's arena; the text may go
 */
#ifndef RESULT_REQUEST_LOG_H
#define RESULT_REQUEST_LOG_H

#include "base/arena.h"
#include "base/buffer.h"

enum { REQUEST_LOG_MAX = 5000000 };

struct logged_request {
  int64_t at_ns, duration_ns;                          /* duration -1: not said */
  int64_t prompt_tokens, output_tokens, cached_tokens; /* -1: not said */
  const char *prompt;                                  /* NULL: not said */
  size_t prompt_length;
  const int64_t *blocks; /* mooncake's hash_ids */
  size_t n_blocks;
};

enum log_format { LOG_AUTO, LOG_JSONL, LOG_MOONCAKE, LOG_BURSTGPT, LOG_AZURE, LOG_OTLP, LOG_ACCESS };
const char *log_format_text(enum log_format format);
bool log_format_parse(const char *text, enum log_format *ret);

struct request_log {
  struct arena arena;
  enum log_format format;
  struct logged_request *items;
  size_t n_items, n_skipped;
  int64_t first_realtime_ns; /* of the first request; 0 where the format has no date */
  char first_skipped[160];   /* "line 7: ..." */
};

enum lynx_status request_log_parse(const char *text, size_t length, enum log_format format, struct request_log *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
void request_log_release(struct request_log *log);

#endif
