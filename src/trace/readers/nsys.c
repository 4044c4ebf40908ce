/* Nsight Systems' SQLite export: CUPTI's records as tables, which exist only where there was something to put in. Times are nanoseconds.
 * Correlations are numbered in each process apart. Columns come and go with versions: a column that is missing is read as NULL. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sidecar.h"
#include "trace/trace.h"

enum { DATABASE_MAX = 256 << 20, COLUMNS_MAX = 15, DEVICES_MAX = 64, PROGRESS_ROWS = 20000 };

struct reading {
  sqlite3 *db;
  const struct trace_sink *sink;
  struct trace_source *source;
  int64_t n_rows, lost[TRACE_LOSS_COUNT], multiprocessors[DEVICES_MAX]; /* 0: not known */
  bool stopped;
};

/* What each kind of row is, and where its fields stand. */
struct table {
  const char *name, *columns[COLUMNS_MAX]; /* in the order of enum field; NULL: there is none */
  enum trace_kind kind;
  const char *fixed_name; /* where rows have none */
};

enum field {
  FIELD_START,
  FIELD_END,
  FIELD_NAME,
  FIELD_TEXT,
  FIELD_SCOPE,
  FIELD_CORRELATION,
  FIELD_DEVICE,
  FIELD_STREAM,
  FIELD_BYTES,
  FIELD_WHICH,
  FIELD_FROM,
  FIELD_TO,
  FIELD_GRID_X,
  FIELD_GRID_Y,
  FIELD_GRID_Z
};

static const struct table tables[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     {"start", "end", "nameId", NULL, "globalTid", "correlationId", NULL, NULL, NULL, NULL},
     TRACE_RUNTIME,
     NULL},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     {"start", "end", "demangledName", NULL, "globalPid", "correlationId", "deviceId", "streamId", NULL, NULL, NULL, NULL, "gridX", "gridY",
      "gridZ"},
     TRACE_KERNEL,
     NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     {"start", "end", NULL, NULL, "globalPid", "correlationId", "deviceId", "streamId", NULL, NULL},
     TRACE_KERNEL,
     "(a whole graph: trace with --cuda-graph-trace=node to see into it)"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     {"start", "end", NULL, NULL, "globalPid", "correlationId", "deviceId", "streamId", "bytes", "copyKind", "srcKind", "dstKind"},
     TRACE_COPY,
     NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     {"start", "end", NULL, NULL, "globalPid", "correlationId", "deviceId", "streamId", "bytes", NULL},
     TRACE_SET,
     "Memset"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     {"start", "end", NULL, NULL, "globalPid", NULL, "deviceId", "streamId", NULL, NULL},
     TRACE_SYNC,
     "stream synchronisation"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD",
     {"start", "end", "nameId", NULL, "globalTid", NULL, NULL, NULL, NULL, NULL},
     TRACE_OVERHEAD,
     "overhead"},
    {"PROFILER_OVERHEAD", {"start", "end", "nameId", NULL, "globalTid", NULL, NULL, NULL, NULL, NULL}, TRACE_OVERHEAD, "overhead"},
    {"OSRT_API", {"start", "end", "nameId", NULL, "globalTid", NULL, NULL, NULL, NULL, NULL}, TRACE_SYSTEM, NULL},
    {"NVTX_EVENTS", {"start", "end", "textId", "text", "globalTid", NULL, NULL, NULL, NULL, "eventType"}, TRACE_ANNOTATION, NULL},
};

static const char *copy_name(int64_t kind) {
  switch (kind) {
    case 1: return "Memcpy HtoD";
    case 2: return "Memcpy DtoH";
    case 8: return "Memcpy DtoD";
    case 10: return "Memcpy PtoP";
    case 11: return "Memcpy HtoD (Unified Memory)"; /* pages that move by themselves, as faults or prefetches ask for them */
    case 12: return "Memcpy DtoH (Unified Memory)";
    case 13: return "Memcpy DtoD (Unified Memory)";
    default: return "Memcpy";
  }
}

/* CUPTI's kinds of memory, as PyTorch's profiler writes them. */
static const char *memory_name(int64_t kind) {
  static const char *const names[] = {"Pageable", "Pinned", "Device", "Array", "Managed", "Device", "Managed"};
  return kind >= 0 && kind < (int64_t)LYNX_COUNT(names) ? names[kind] : NULL;
}

static bool has_column(struct reading *r, const char *table, const char *column) {
  return sqlite3_table_column_metadata(r->db, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

static bool has_table(struct reading *r, const char *table) {
  return has_column(r, table, NULL);
}

static bool tell_progress(struct reading *r) {
  if (r->sink->progress == NULL) return true;
  return r->sink->progress(r->sink->progress_context, r->source->done(r->source->context));
}

static struct bytes text_column(sqlite3_stmt *row, int column) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  return (struct bytes){text != NULL ? text : "", text != NULL ? (size_t)sqlite3_column_bytes(row, column) : 0};
}

static int64_t number_column(sqlite3_stmt *row, int column, int64_t missing) {
  return sqlite3_column_type(row, column) == SQLITE_NULL ? missing : sqlite3_column_int64(row, column);
}

/* Thread blocks for each multiprocessor; 0: not known. */
static double blocks_each(const struct reading *r, sqlite3_stmt *row, int64_t device) {
  double blocks = 1;
  for (int i = FIELD_GRID_X; i <= FIELD_GRID_Z; i++) blocks *= (double)number_column(row, i, 0);
  bool known = device >= 0 && device < DEVICES_MAX && r->multiprocessors[device] > 0;
  return known && blocks > 0 ? blocks / (double)r->multiprocessors[device] : 0;
}

static void take_row(struct reading *r, const struct table *table, sqlite3_stmt *row) {
  int64_t start = number_column(row, FIELD_START, INT64_MIN), end = number_column(row, FIELD_END, INT64_MIN),
          id = number_column(row, FIELD_SCOPE, 0), which = number_column(row, FIELD_WHICH, 0);
  bool on_device = table->kind == TRACE_KERNEL || table->kind == TRACE_COPY || table->kind == TRACE_SET || table->kind == TRACE_SYNC;
  struct bytes name = text_column(row, FIELD_NAME), text = text_column(row, FIELD_TEXT);
  if (table->kind == TRACE_ANNOTATION && which != 59 && which != 60) { /* 59: pushed and popped, 60: started and ended; 34: a mark */
    r->lost[TRACE_LOSS_UNUSED]++;
    return;
  }
  if (start <= INT64_MIN / 4 || start > INT64_MAX / 4 || end > INT64_MAX / 4 || end < start || (on_device && start == 0 && end == 0)) {
    r->lost[end == INT64_MIN ? TRACE_LOSS_UNPAIRED : TRACE_LOSS_TIMES]++;
    return;
  }
  char copy[80];
  const char *from = memory_name(number_column(row, FIELD_FROM, -1)), *to = memory_name(number_column(row, FIELD_TO, -1));
  bool told = from != NULL && to != NULL;
  (void)snprintf(copy, sizeof copy, "%s%s%s%s%s%s", copy_name(which), told ? " (" : "", told ? from : "", told ? " -> " : "",
                 told ? to : "", told ? ")" : "");
  if (table->kind == TRACE_COPY) name = bytes_of(copy);
  else if (text.length > 0) name = text;
  if (name.length == 0) name = bytes_of(table->fixed_name != NULL ? table->fixed_name : "(no name)");
  /* A global id holds the process and the thread: 24 bits each. */
  struct trace_span span = {.kind = table->kind,
                            .name = name,
                            .start_ns = start,
                            .duration_ns = end - start,
                            .process = id / 0x1000000 % 0x1000000,
                            .thread = id % 0x1000000,
                            .scope = id / 0x1000000 % 0x1000000,
                            .device = number_column(row, FIELD_DEVICE, -1),
                            .stream = number_column(row, FIELD_STREAM, -1),
                            .correlation = (uint64_t)number_column(row, FIELD_CORRELATION, 0),
                            .bytes = number_column(row, FIELD_BYTES, -1),
                            .elements = -1,
                            .sequence = -1};
  if (on_device && span.device < 0) span.device = 0;
  if (table->kind == TRACE_KERNEL) span.blocks_each = blocks_each(r, row, span.device);
  if (r->sink->span != NULL) r->sink->span(r->sink->context, &span);
}

static enum lynx_status read_table(struct reading *r, const struct table *table, struct lynx_error *error) {
  char query[1200], join[80] = "";
  size_t n = (size_t)snprintf(query, sizeof query, "SELECT ");
  if (!has_table(r, table->name)) return LYNX_OK;
  for (int i = 0; i < COLUMNS_MAX; i++) {
    const char *column = table->columns[i];
    bool there = column != NULL && has_column(r, table->name, column);
    if (there && i == FIELD_NAME && has_table(r, "StringIds")) {
      n += (size_t)snprintf(query + n, sizeof query - n, "s.value,");
      (void)snprintf(join, sizeof join, " LEFT JOIN StringIds s ON s.id = t.%s", column);
    } else if (there) n += (size_t)snprintf(query + n, sizeof query - n, "t.\"%s\"%s", column, i + 1 < COLUMNS_MAX ? "," : "");
    else n += (size_t)snprintf(query + n, sizeof query - n, "NULL%s", i + 1 < COLUMNS_MAX ? "," : "");
  }
  (void)snprintf(query + n, sizeof query - n, " FROM \"%s\" t%s", table->name, join);
  sqlite3_stmt *row = NULL;
  int code = sqlite3_prepare_v2(r->db, query, -1, &row, NULL);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(row);
    if (code != SQLITE_ROW) break;
    take_row(r, table, row);
    if (++r->n_rows % PROGRESS_ROWS == 0 && !tell_progress(r)) {
      r->stopped = true;
      break;
    }
  }
  (void)sqlite3_finalize(row);
  if (code == SQLITE_DONE || code == SQLITE_ROW) return LYNX_OK;
  if (r->n_rows == 0) return lynx_fail(error, LYNX_INPUT, "table %s: %s", table->name, sqlite3_errmsg(r->db));
  r->lost[TRACE_LOSS_DAMAGED]++; /* what came before the damage counts */
  return LYNX_OK;
}

/* Which devices there are, and before the kernels are read, how large they are. */
static void tell_devices(struct reading *r) {
  sqlite3_stmt *row = NULL;
  char key[40], query[120];
  const char *id = has_column(r, "TARGET_INFO_GPU", "id") ? "id" : "deviceId"; /* of older versions */
  const char *size = has_column(r, "TARGET_INFO_GPU", "smCount") ? "smCount" : "0";
  if (r->sink->fact == NULL || !has_column(r, "TARGET_INFO_GPU", "name") || !has_column(r, "TARGET_INFO_GPU", id)) return;
  (void)snprintf(query, sizeof query, "SELECT %s, name, %s FROM TARGET_INFO_GPU LIMIT %d", id, size, DEVICES_MAX);
  if (sqlite3_prepare_v2(r->db, query, -1, &row, NULL) == SQLITE_OK)
    while (sqlite3_step(row) == SQLITE_ROW) {
      int64_t device = sqlite3_column_int64(row, 0);
      if (device >= 0 && device < DEVICES_MAX) r->multiprocessors[device] = sqlite3_column_int64(row, 2);
      (void)snprintf(key, sizeof key, "device.%lld", (long long)device);
      r->sink->fact(r->sink->context, key, text_column(row, 1));
    }
  (void)sqlite3_finalize(row);
}

/* Warnings and errors of the profiler about what it could not record of the device. */
static void tell_diagnostics(struct reading *r) {
  sqlite3_stmt *row = NULL;
  char key[40];
  if (r->sink->fact == NULL || !has_column(r, "DIAGNOSTIC_EVENT", "severity") || !has_column(r, "DIAGNOSTIC_EVENT", "text")) return;
  if (sqlite3_prepare_v2(r->db, "SELECT DISTINCT text FROM DIAGNOSTIC_EVENT WHERE severity IN (2, 3) AND text LIKE '%CUDA%' LIMIT 4", -1,
                         &row, NULL) == SQLITE_OK)
    for (int i = 0; sqlite3_step(row) == SQLITE_ROW; i++) {
      (void)snprintf(key, sizeof key, "profiler.said.%d", i);
      r->sink->fact(r->sink->context, key, text_column(row, 0));
    }
  (void)sqlite3_finalize(row);
}

/* Without a path, the whole database in memory: for tests, and for what comes through a pipe. */
static enum lynx_status open_memory(struct reading *r, unsigned char **ret_bytes, struct lynx_error *error) {
  size_t length = 0, room = 1 << 20;
  unsigned char *bytes = sqlite3_malloc64(room);
  ptrdiff_t n = bytes != NULL ? 1 : -1;
  while (n > 0) {
    if (length == room) {
      unsigned char *larger = 2 * room <= DATABASE_MAX ? sqlite3_realloc64(bytes, 2 * room) : NULL;
      if (larger == NULL) {
        sqlite3_free(bytes);
        return lynx_fail(error, LYNX_LIMIT, "a packed or piped database larger than %d MB: unpack it to a file", DATABASE_MAX >> 20);
      }
      bytes = larger;
      room *= 2;
    }
    n = r->source->read(r->source->context, (char *)bytes + length, room - length, error);
    if (n > 0) length += (size_t)n;
  }
  if (n < 0) {
    sqlite3_free(bytes);
    return LYNX_IO;
  }
  *ret_bytes = bytes;
  if (sqlite3_open(":memory:", &r->db) != SQLITE_OK ||
      sqlite3_deserialize(r->db, "main", bytes, (sqlite3_int64)length, (sqlite3_int64)length, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    return lynx_fail(error, LYNX_INPUT, "no database that can be read");
  return LYNX_OK;
}

static enum lynx_status open_database(struct reading *r, unsigned char **ret_bytes, struct lynx_error *error) {
  if (r->source->path == NULL || strcmp(r->source->path, "-") == 0) return open_memory(r, ret_bytes, error);
  char uri[2048];
  if (sidecar_refuse_all(r->source->path, "Export the trace again, or copy it to a folder of its own", error) != LYNX_OK) return LYNX_INPUT;
  sidecar_uri(r->source->path, "mode=ro&immutable=1", uri, sizeof uri);
  if (sqlite3_open_v2(uri, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
    return lynx_fail(error, LYNX_IO, "cannot be opened as a database: %s", sqlite3_errmsg(r->db));
  return LYNX_OK;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  struct reading r = {.sink = sink, .source = source};
  unsigned char *bytes = NULL;
  enum lynx_status status = open_database(&r, &bytes, error);
  if (status == LYNX_OK) {
    (void)sqlite3_db_config(r.db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(r.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL); /* no views or functions of the file's own */
    (void)sqlite3_limit(r.db, SQLITE_LIMIT_LENGTH, TRACE_EVENT_MAX);
    (void)sqlite3_limit(r.db, SQLITE_LIMIT_VDBE_OP, 25000);
    int is_key = 0;
    bool of_nsys = has_table(&r, "TARGET_INFO_SESSION_START_TIME") || has_table(&r, "TARGET_INFO_SYSTEM_ENV");
    (void)sqlite3_table_column_metadata(r.db, NULL, "StringIds", "id", NULL, NULL, NULL, &is_key, NULL);
    if (is_key == 0 || (!has_table(&r, "CUPTI_ACTIVITY_KIND_KERNEL") && !has_table(&r, "NVTX_EVENTS") &&
                        !has_table(&r, "CUPTI_ACTIVITY_KIND_RUNTIME") && !has_table(&r, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")))
      status = lynx_fail(error, LYNX_INPUT,
                         of_nsys && is_key != 0
                             ? "an export of Nsight Systems in which nothing of CUDA or NVTX was recorded: record again with "
                               "--trace=cuda,nvtx, and look at what the profiler said then"
                             : "a database, but no export of Nsight Systems: it holds no CUPTI or NVTX table, or its strings have no key");
    if (status == LYNX_OK) tell_devices(&r), tell_diagnostics(&r);
    for (size_t i = 0; i < LYNX_COUNT(tables) && status == LYNX_OK && !r.stopped; i++) status = read_table(&r, &tables[i], error);
  }
  (void)sqlite3_close(r.db);
  sqlite3_free(bytes);
  for (int i = 0; i < TRACE_LOSS_COUNT; i++)
    if (r.lost[i] > 0 && sink->lost != NULL) sink->lost(sink->context, (enum trace_loss)i, r.lost[i]);
  return status;
}

static int sniff(const char *head, size_t length) {
  if (length < 100 || memcmp(head, "SQLite format 3", 16) != 0) return 0;
  if (memcmp(head + 68, "LYNX", 4) == 0) return 0; /* a bundle of ours */
  return memmem(head, length, "CUPTI", 5) != NULL || memmem(head, length, "NVTX", 4) != NULL ? 90 : 40;
}

const struct trace_reader trace_reader_nsys;
const struct trace_reader trace_reader_nsys = {
    .name = "nsys", .summary = "Nsight Systems, exported to SQLite (nsys export --type sqlite)", .sniff = sniff, .read = read_trace};
