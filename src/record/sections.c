/* The bundle's tables, a row for every column. Their SQL, the writer, the reader and the CSV of requests follow from it; docs/bundle.md
 * says in words what each holds. */
#include <stddef.h>
#include <string.h>

#include "record/bundle_private.h"

/* A word of a closed vocabulary: an enum in the row, text in the file. */
#define VOCABULARY(name)                                                                                                                   \
  static const char *name##_word(const void *value) {                                                                                      \
    enum name at;                                                                                                                          \
    memcpy(&at, value, sizeof at);                                                                                                         \
    return name##_text(at);                                                                                                                \
  }                                                                                                                                        \
  static bool name##_of_word(const char *text, void *ret) {                                                                                \
    return name##_parse(text, ret);                                                                                                        \
  }                                                                                                                                        \
  static const struct bundle_word name##_words = {name##_word, name##_of_word}

VOCABULARY(layer);
VOCABULARY(fact_kind);
VOCABULARY(fact_status);
VOCABULARY(executor_start);
VOCABULARY(purpose);
VOCABULARY(session_began);
VOCABULARY(phase);
VOCABULARY(outcome);
VOCABULARY(event_kind);

#define COLUMN(in_file, type, row, field)                                                                                                  \
  { .name = (in_file), .kind = COLUMN_##type, .offset = offsetof(struct row, field) }
#define WORD(in_file, row, field, of)                                                                                                      \
  { .name = (in_file), .kind = COLUMN_WORD, .offset = offsetof(struct row, field), .words = &of##_words }
#define BYTES(in_file, row, field, size)                                                                                                   \
  { .name = (in_file), .kind = COLUMN_BYTES, .offset = offsetof(struct row, field), .length = offsetof(struct row, size) }

static const struct bundle_column meta[] = {
    COLUMN("key", TEXT, meta_row, key),
    COLUMN("value", TEXT, meta_row, value),
};
static const struct bundle_column input[] = {
    COLUMN("id", NUMBER, input_row, id),
    BYTES("text", input_row, text, length),
};
static const struct bundle_column fact[] = {
    COLUMN("moment", TEXT, fact_row, moment),
    WORD("layer", fact_row, fact.layer, layer),
    COLUMN("key", TEXT, fact_row, fact.key),
    WORD("kind", fact_row, fact.kind, fact_kind),
    WORD("status", fact_row, fact.status, fact_status),
    COLUMN("value", TEXT, fact_row, fact.value),
    COLUMN("unit", TEXT, fact_row, fact.unit),
    COLUMN("source", TEXT, fact_row, fact.source),
    COLUMN("at_ns", NUMBER, fact_row, fact.at_ns),
};
static const struct bundle_column session[] = {
    COLUMN("id", NUMBER, session_row, session.id),
    COLUMN("precision", TEXT, session_row, session.precision),
    COLUMN("number", NUMBER, session_row, session.index),
    COLUMN("seed", NUMBER, session_row, session.seed),
    WORD("executor_started", session_row, session.executor, executor_start),
    COLUMN("status", TEXT, session_row, status),
    COLUMN("start_realtime_ns", NUMBER, session_row, session.start_realtime_ns),
    COLUMN("warm_up_ns", NUMBER, session_row, session.warm_up_ns),
    COLUMN("counted_ns", NUMBER, session_row, session.counted_ns),
    COLUMN("drain_ns", NUMBER, session_row, session.drain_ns),
    COLUMN("schedule_digest", TEXT, session_row, session.schedule_digest),
    COLUMN("executed", TEXT, session_row, session.executed_json),
    COLUMN("instrument", TEXT, session_row, session.instrument_json),
    WORD("purpose", session_row, session.purpose, purpose),
    COLUMN("rate_per_s", REAL, session_row, session.rate_per_s),
    COLUMN("concurrency", NUMBER, session_row, session.concurrency),
    WORD("began", session_row, session.began, session_began),
};
static const struct bundle_column request[] = {
    COLUMN("session", NUMBER, bundle_request, session),
    COLUMN("id", NUMBER, bundle_request, id),
    WORD("phase", bundle_request, phase, phase),
    WORD("outcome", bundle_request, outcome, outcome),
    COLUMN("reason", TEXT, bundle_request, reason),
    COLUMN("http_status", NUMBER, bundle_request, http_status),
    COLUMN("input", NUMBER, bundle_request, input),
    COLUMN("scheduled_ns", NUMBER, bundle_request, scheduled_ns),
    COLUMN("issued_ns", NUMBER, bundle_request, issued_ns),
    COLUMN("written_ns", KNOWN, bundle_request, written_ns),
    COLUMN("first_byte_ns", KNOWN, bundle_request, first_byte_ns),
    COLUMN("first_token_ns", KNOWN, bundle_request, first_token_ns),
    COLUMN("last_token_ns", KNOWN, bundle_request, last_token_ns),
    COLUMN("end_ns", KNOWN, bundle_request, end_ns),
    COLUMN("prompt_tokens", KNOWN, bundle_request, prompt_tokens),
    COLUMN("output_tokens", KNOWN, bundle_request, output_tokens),
    COLUMN("n_text_events", NUMBER, bundle_request, n_text_events),
    COLUMN("read_lag_ns", KNOWN, bundle_request, read_lag_ns),
    COLUMN("flags", NUMBER, bundle_request, flags),
    BYTES("events", bundle_request, events, events_length),
    COLUMN("first_answer_ns", KNOWN, bundle_request, first_answer_ns),
    COLUMN("first_tool_call_ns", KNOWN, bundle_request, first_tool_call_ns),
};
static const struct bundle_column phase[] = {
    COLUMN("session", NUMBER, bundle_phase, session), COLUMN("request", NUMBER, bundle_phase, request),
    COLUMN("place", NUMBER, bundle_phase, place),     COLUMN("name", TEXT, bundle_phase, name),
    COLUMN("from_ns", KNOWN, bundle_phase, from_ns),  COLUMN("took_ns", NUMBER, bundle_phase, took_ns),
};
static const struct bundle_column sample[] = {
    COLUMN("session", NUMBER, sample_row, session),
    COLUMN("series", TEXT, sample_row, series),
    COLUMN("at_ns", NUMBER, sample_row, at_ns),
    COLUMN("value", REAL, sample_row, value),
};
static const struct bundle_column accuracy[] = {
    COLUMN("session", NUMBER, accuracy_row, session), COLUMN("measure", TEXT, accuracy_row, measure),
    COLUMN("window", NUMBER, accuracy_row, window),   COLUMN("value", REAL, accuracy_row, value),
    COLUMN("weight", NUMBER, accuracy_row, weight),
};
static const struct bundle_column answer[] = {
    COLUMN("session", NUMBER, answer_row, session),
    COLUMN("input", NUMBER, answer_row, input),
    BYTES("text", answer_row, text, length),
};
static const struct bundle_column event[] = {
    COLUMN("id", KNOWN, event_row, id), /* the table numbers them */
    COLUMN("realtime_ns", NUMBER, event_row, realtime_ns),
    WORD("kind", event_row, kind, event_kind),
    COLUMN("text", TEXT, event_row, text),
};
static const struct bundle_column thread[] = {
    COLUMN("session", NUMBER, thread_row, session),      COLUMN("process", NUMBER, thread_row, thread.process),
    COLUMN("thread", NUMBER, thread_row, thread.thread), COLUMN("program", TEXT, thread_row, thread.program),
    COLUMN("name", TEXT, thread_row, thread.name),       COLUMN("processors", NUMBER, thread_row, thread.n_processors),
};
static const struct bundle_column activity[] = {
    COLUMN("session", NUMBER, activity_row, session),
    COLUMN("process", NUMBER, activity_row, activity.process),
    COLUMN("thread", NUMBER, activity_row, activity.thread),
    COLUMN("at_ns", NUMBER, activity_row, activity.at_ns),
    COLUMN("span_ns", NUMBER, activity_row, activity.span_ns),
    COLUMN("running_ns", NUMBER, activity_row, activity.running_ns),
    COLUMN("system_ns", NUMBER, activity_row, activity.system_ns),
    COLUMN("ready_ns", NUMBER, activity_row, activity.ready_ns),
    COLUMN("timer", NUMBER, activity_row, activity.looks[WAIT_TIMER]),
    COLUMN("lock", NUMBER, activity_row, activity.looks[WAIT_LOCK]),
    COLUMN("network", NUMBER, activity_row, activity.looks[WAIT_NETWORK]),
    COLUMN("disk", NUMBER, activity_row, activity.looks[WAIT_DISK]),
    COLUMN("other", NUMBER, activity_row, activity.looks[WAIT_OTHER]),
    COLUMN("unknown", NUMBER, activity_row, activity.looks[WAIT_UNKNOWN]),
    COLUMN("processor", NUMBER, activity_row, activity.processor),
};
static const struct bundle_column stack[] = {
    COLUMN("session", NUMBER, bundle_stack, session), COLUMN("source", TEXT, bundle_stack, source),
    COLUMN("process", NUMBER, bundle_stack, process), COLUMN("thread", NUMBER, bundle_stack, thread),
    COLUMN("frames", TEXT, bundle_stack, frames),     COLUMN("n", NUMBER, bundle_stack, n),
};
static const struct bundle_column block[] = {
    COLUMN("session", NUMBER, bundle_block, session),
    COLUMN("number", NUMBER, bundle_block, number),
    COLUMN("cycle", NUMBER, bundle_block, cycle),
    COLUMN("target", TEXT, bundle_block, target),
    COLUMN("asked", REAL, bundle_block, asked),
    COLUMN("given", REAL, bundle_block, given),
    COLUMN("from_ns", NUMBER, bundle_block, from_ns),
    COLUMN("to_ns", NUMBER, bundle_block, to_ns),
    COLUMN("running_ns", NUMBER, bundle_block, running_ns),
    COLUMN("ready_ns", NUMBER, bundle_block, ready_ns),
};

static const char replace[] = "OR REPLACE ", keep_first[] = "OR IGNORE ", refuse[] = "";

/* In the order of the root. The key is the first n_key columns. */
const struct bundle_section bundle_sections[BUNDLE_SECTIONS] = {
    [SECTION_META] = {"meta", meta, LYNX_COUNT(meta), 1, replace, "", 0},
    [SECTION_INPUT] = {"input", input, LYNX_COUNT(input), 1, refuse, "", 0},
    [SECTION_FACT] = {"fact", fact, LYNX_COUNT(fact), 3, replace, "", 0},
    [SECTION_SESSION] = {"session", session, LYNX_COUNT(session), 1, replace, "", 0},
    [SECTION_REQUEST] = {"request", request, LYNX_COUNT(request), 2, refuse, "", 2},
    [SECTION_PHASE] = {"phase", phase, LYNX_COUNT(phase), 3, refuse, "", 0},
    [SECTION_SAMPLE] = {"sample", sample, LYNX_COUNT(sample), 3, replace, "", 0},
    [SECTION_ACCURACY] = {"accuracy", accuracy, LYNX_COUNT(accuracy), 3, replace, "", 0},
    [SECTION_ANSWER] = {"answer", answer, LYNX_COUNT(answer), 2, keep_first, "", 0},
    [SECTION_EVENT] = {"event", event, LYNX_COUNT(event), 1, refuse, "", 0},
    [SECTION_THREAD] = {"thread", thread, LYNX_COUNT(thread), 3, replace, "", 0},
    [SECTION_ACTIVITY] = {"activity", activity, LYNX_COUNT(activity), 4, replace, "", 0},
    [SECTION_STACK] = {"stack", stack, LYNX_COUNT(stack), 5, refuse, " ON CONFLICT DO UPDATE SET n = n + excluded.n", 0},
    [SECTION_BLOCK] = {"block", block, LYNX_COUNT(block), 2, refuse, "", 0},
};

int bundle_n_columns(const struct bundle_section *section, int format) {
  return section->n_columns - (format < 6 ? section->n_since_6 : 0);
}

const void *bundle_column_at(const struct bundle_column *column, const void *row) {
  return (const char *)row + column->offset;
}

void bundle_request_cells(const struct bundle_request *row, bundle_cell_visit *visit, void *context) {
  for (size_t i = 0; i < LYNX_COUNT(request); i++) {
    const void *at = bundle_column_at(&request[i], row);
    switch (request[i].kind) {
      case COLUMN_NUMBER:
      case COLUMN_KNOWN: visit(context, request[i].name, NULL, *(const int64_t *)at); break;
      case COLUMN_WORD: visit(context, request[i].name, request[i].words->text(at), 0); break;
      case COLUMN_TEXT: visit(context, request[i].name, *(const char *const *)at, 0); break;
      case COLUMN_REAL:
      case COLUMN_BYTES: break;
    }
  }
}
