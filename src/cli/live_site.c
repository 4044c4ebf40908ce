#include "cli/live_site.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/child.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/dropped_file.h"
#include "cli/site_now.h"
#include "ledger/blob.h"

enum { STEP_ENTRIES = 7 * LEDGER_BATCH, KEPT_MAX = 4096, COMPRESS_FROM = 1000, FIELD = 4200, WHY_MAX = 16384 };
/* How often it looks for new entries; and for how long it leaves the processors alone after it judged what they changed. */
enum { LOOK_EVERY_S = 1, REST_TIMES = 4 };

/* A page, or what a bundle gave. */
struct kept {
  char name[PAGE_ADDRESS_MAX];
  bool view;          /* what a bundle gave: no address that a reader asks for names it */
  uint64_t n_entries; /* of the ledger that it is of; 0: it does not depend on them */
  unsigned status;
  const char *type;
  struct buffer plain, compressed;
  char tag[SERVED_TAG_MAX];
  uint64_t used; /* when, by the count of uses */
};

struct live_site {
  pthread_mutex_t lock; /* of the board and the ledger: held while a page is made, or a part of the ledger read */
  struct ledger_file file;
  struct board board;
  struct pages pages;
  char folder[FIELD], address[512];
  struct site_now now;

  pthread_mutex_t look_lock; /* of the folder's files that somebody brought */
  pthread_mutex_t kept_lock; /* of all that follows; taken after `lock`, and never for long */
  struct kept *kept;
  size_t n_kept, bytes, n_makers;
  uint64_t n_uses;
  uint64_t n_shown;   /* entries of the board when all of it was judged last: what is kept of fewer is old */
  uint64_t n_checked; /* entries of which it is remembered that they were checked */
  char waiting[200];  /* what it waits for; "": pages can be given */

  pthread_t follower;
  pthread_cond_t stopping;
  bool follows, stop;
};

/* --- what is kept --- */

static void drop(struct live_site *s, size_t i) {
  s->bytes -= s->kept[i].plain.length + s->kept[i].compressed.length;
  buffer_release(&s->kept[i].plain);
  buffer_release(&s->kept[i].compressed);
  s->kept[i] = s->kept[--s->n_kept];
}

static size_t find_at(const struct live_site *s, const char *name, bool view) {
  size_t i = 0;
  while (i < s->n_kept && (s->kept[i].view != view || strcmp(s->kept[i].name, name) != 0)) i++;
  return i;
}

/* Of what pages show beside the ledger, something changed. */
static void forget_home(struct live_site *s) {
  static const char *const names[] = {"", "index.html"};
  (void)pthread_mutex_lock(&s->kept_lock);
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    size_t at = find_at(s, names[i], false);
    if (at < s->n_kept) drop(s, at);
  }
  (void)pthread_mutex_unlock(&s->kept_lock);
}

/* NULL: none is kept. *ret_old: the ledger has grown since. */
static struct kept *find_kept(struct live_site *s, const char *name, bool view, bool *ret_old) {
  size_t i = find_at(s, name, view);
  if (i == s->n_kept) return NULL;
  struct kept *k = &s->kept[i];
  *ret_old = k->n_entries != 0 && k->n_entries != s->n_shown;
  k->used = ++s->n_uses;
  return k;
}

/* NULL also where the ledger has grown since. */
static struct kept *find_fresh(struct live_site *s, const char *name, bool view) {
  bool old = false;
  struct kept *k = find_kept(s, name, view, &old);
  return old ? NULL : k;
}

/* Takes the bytes over. */
static struct kept *keep(struct live_site *s, const char *name, bool view, uint64_t n_entries, struct buffer *bytes) {
  size_t before = find_at(s, name, view);
  if (before < s->n_kept) drop(s, before);
  while (s->n_kept > 0 && (s->n_kept == KEPT_MAX || s->bytes + bytes->length > LIVE_SITE_KEPT)) {
    size_t oldest = 0;
    for (size_t i = 1; i < s->n_kept; i++)
      if (s->kept[i].used < s->kept[oldest].used) oldest = i;
    drop(s, oldest);
  }
  struct kept *k = &s->kept[s->n_kept++];
  *k = (struct kept){.view = view, .n_entries = n_entries, .plain = *bytes, .used = ++s->n_uses};
  (void)snprintf(k->name, sizeof k->name, "%s", name);
  s->bytes += bytes->length;
  return k;
}

/* --- what only a bundle says --- */

static bool fetch(struct live_site *s, const uint8_t digest[DIGEST_BYTES], const char *name, char *path, size_t size) {
  struct lynx_error error = {0};
  struct store *store = ledger_store(s->file.ledger);
  (void)snprintf(path, size, "%s/%s", s->folder, name);
  (void)unlink(path); /* the one before, if it is there still */
  return blob_length(store, digest) <= LIVE_SITE_BUNDLE && blob_get_file(store, digest, path, &error) == LYNX_OK;
}

/* Its exit code says what it found; 0, 1 and 3 (nothing was counted) are answers. */
static bool run_view(const char *const *arguments, const char *out, struct buffer *ret) {
  static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
  const struct timespec pause = {.tv_nsec = 2000000};
  struct child child = {.pid = 0};
  struct lynx_error error = {0};
  struct buffer text;
  const struct child_request request = {.arguments = arguments, .environment = environment, .output_path = out};
  if (child_start(&child, &request, &error) != LYNX_OK) return false;
  int64_t until = clock_now(&clock_system) + (int64_t)LIVE_SITE_VIEW_S * 1000000000;
  while (child_running(&child) && clock_now(&clock_system) < until) (void)nanosleep(&pause, NULL);
  if (!child.exited) child_stop(&child, 0);
  bool answered = child.exit_code <= 1 || child.exit_code == EXIT_INCONCLUSIVE;
  if (!answered || !read_file(out, PAGE_BYTES_MAX, &text)) return false;
  bool good = text.length > 0 && buffer_append(ret, text.data, text.length);
  buffer_release(&text);
  return good;
}

static bool view_bundles(struct live_site *s, enum bundle_view view, const uint8_t a[DIGEST_BYTES], const uint8_t b[DIGEST_BYTES],
                         struct buffer *ret) {
  char path_a[FIELD + 16], path_b[FIELD + 16] = "", out[FIELD + 16];
  (void)snprintf(out, sizeof out, "%s/out", s->folder);
  const char *const report[] = {"/proc/self/exe", "show", path_a, "--inside", "--html", "-", NULL};
  const char *const shared[] = {"/proc/self/exe", "show", path_a, "--inside", "--disclose", "shared", "--html", "-", NULL};
  const char *const public[] = {"/proc/self/exe", "show", path_a, "--inside", "--disclose", "public", "--html", "-", NULL};
  const char *const result[] = {"/proc/self/exe", "show", path_a, "--json", NULL};
  const char *const difference[] = {"/proc/self/exe", "diff", path_a, path_b, "--json", NULL};
  const char *const *const words[] = {
      [VIEW_REPORT] = report, [VIEW_SHARED] = shared, [VIEW_PUBLIC] = public, [VIEW_RESULT] = result, [VIEW_DIFFERENCE] = difference};
  bool good = fetch(s, a, "a.lynx", path_a, sizeof path_a) && (b == NULL || fetch(s, b, "b.lynx", path_b, sizeof path_b)) &&
              run_view(words[view], out, ret);
  (void)unlink(path_a);
  if (b != NULL) (void)unlink(path_b);
  (void)unlink(out);
  return good;
}

static bool give_kept(struct live_site *s, const char *name, struct buffer *ret, bool *ret_good) {
  (void)pthread_mutex_lock(&s->kept_lock);
  const struct kept *k = find_fresh(s, name, true);
  if (k != NULL) *ret_good = k->plain.length > 0 && buffer_append(ret, k->plain.data, k->plain.length);
  (void)pthread_mutex_unlock(&s->kept_lock);
  return k != NULL;
}

/* One that cannot be had is not tried again until the ledger grows: it may have taken long. */
static bool view(void *context, enum bundle_view view, const uint8_t a[DIGEST_BYTES], const uint8_t b[DIGEST_BYTES], struct buffer *ret) {
  struct live_site *s = context;
  char name[PAGE_ADDRESS_MAX], hex[2][DIGEST_HEX];
  bool good = false;
  struct buffer made;
  (void)snprintf(name, sizeof name, "view %d %s %s", (int)view, digest_hex(a, hex[0]), b != NULL ? digest_hex(b, hex[1]) : "");
  if (give_kept(s, name, ret, &good)) return good;
  buffer_init(&made, PAGE_BYTES_MAX);
  good = view_bundles(s, view, a, b, &made) && buffer_append(ret, made.data, made.length);
  if (!good) buffer_clear(&made);
  (void)pthread_mutex_lock(&s->kept_lock);
  (void)keep(s, name, true, good ? 0 : s->n_shown, &made);
  (void)pthread_mutex_unlock(&s->kept_lock);
  return good;
}

/* --- the ledger --- */

static void say_waiting(struct live_site *s, const char *format, ...) LYNX_PRINTF(2, 3);
static void say_waiting(struct live_site *s, const char *format, ...) {
  va_list more;
  va_start(more, format);
  (void)pthread_mutex_lock(&s->kept_lock);
  (void)vsnprintf(s->waiting, sizeof s->waiting, format, more);
  (void)pthread_mutex_unlock(&s->kept_lock);
  va_end(more);
}

static enum lynx_status read_step(struct live_site *s, bool *ret_more, struct lynx_error *error) {
  (void)pthread_mutex_lock(&s->lock);
  enum lynx_status status = board_update(&s->board, s->file.ledger, STEP_ENTRIES, ret_more, error);
  (void)pthread_mutex_unlock(&s->lock);
  return status;
}

bool live_site_read(struct live_site *s) {
  struct lynx_error error = {0};
  bool more = true;
  while (more)
    if (read_step(s, &more, &error) != LYNX_OK) {
      (void)report_error(&error);
      return false;
    }
  s->n_shown = s->board.n_entries;
  return true;
}

static bool is_stopped(struct live_site *s) {
  (void)pthread_mutex_lock(&s->kept_lock);
  bool stop = s->stop;
  (void)pthread_mutex_unlock(&s->kept_lock);
  return stop;
}

/* One contract at a time, so that others come between. */
static void judge_all(struct live_site *s, bool first) {
  size_t n = 1;
  for (size_t i = 0; i < n && !is_stopped(s); i++) {
    (void)pthread_mutex_lock(&s->lock);
    n = s->board.n_contracts;
    if (i < n) board_judge(&s->board, &s->board.contracts[i]);
    (void)pthread_mutex_unlock(&s->lock);
    if (first) say_waiting(s, "Looking for changes: %zu of %zu contracts.", i + 1, n);
  }
}

static void show_all(struct live_site *s) {
  (void)pthread_mutex_lock(&s->lock);
  (void)pthread_mutex_lock(&s->kept_lock);
  s->n_shown = s->board.n_entries;
  s->waiting[0] = 0;
  (void)pthread_mutex_unlock(&s->kept_lock);
  (void)pthread_mutex_unlock(&s->lock);
}

/* Every entry that the board took was checked: the next start checks what is new. Not after each one: the tree's root costs reading. */
static void remember_checked(struct live_site *s) {
  enum { NEW_LEAST = 1000 };
  if (s->board.n_entries < s->n_checked + NEW_LEAST) return;
  (void)pthread_mutex_lock(&s->lock);
  ledger_file_checked(&s->file, s->board.n_entries);
  s->n_checked = s->board.n_entries;
  (void)pthread_mutex_unlock(&s->lock);
}

static void *follow(void *context) {
  struct live_site *s = context;
  uint64_t n_judged = UINT64_MAX;
  while (!is_stopped(s)) {
    struct lynx_error error = {0};
    struct timespec until;
    bool more = true, first = n_judged == UINT64_MAX;
    int64_t begun = 0, spent = 0;
    enum lynx_status status = LYNX_OK;
    while (more && status == LYNX_OK && !is_stopped(s)) {
      status = read_step(s, &more, &error);
      if (first) say_waiting(s, "Reading the ledger: %" PRIu64 " entries so far.", s->board.n_entries); /* this thread alone changes it */
    }
    if (status != LYNX_OK) say_waiting(s, "The ledger cannot be read now: %.120s", error.message);
    else if (!more && (s->board.n_entries != n_judged || s->waiting[0] != 0)) {
      begun = clock_now(&clock_system);
      judge_all(s, first);
      n_judged = s->board.n_entries;
      show_all(s);
      remember_checked(s);
      spent = clock_now(&clock_system) - begun;
    }
    if (site_now_look(&s->now, &s->lock)) forget_home(s);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += first || REST_TIMES * spent < LOOK_EVERY_S * INT64_C(1000000000) ? LOOK_EVERY_S : 1 + REST_TIMES * spent / 1000000000;
    (void)pthread_mutex_lock(&s->kept_lock);
    if (!s->stop) (void)pthread_cond_timedwait(&s->stopping, &s->kept_lock, &until);
    (void)pthread_mutex_unlock(&s->kept_lock);
  }
  return NULL;
}

bool live_site_follow(struct live_site *s) {
  s->pages.live = true;
  s->follows = pthread_create(&s->follower, NULL, follow, s) == 0;
  return s->follows;
}

/* --- answers --- */

static void answer_later(struct served_page *ret, const char *why) {
  ret->status = 503;
  ret->type = "text/plain; charset=utf-8";
  ret->again = true;
  buffer_init(&ret->body, 1000);
  (void)buffer_printf(&ret->body, "%s This page comes again by itself.\n", why);
}

static bool compress_body(const struct buffer *from, struct buffer *to) {
  z_stream z = {.next_in = (Bytef *)from->data, .avail_in = (uInt)from->length};
  enum { GZIP_WINDOW = 15 + 16, LEVEL = 4, MEMORY = 8 };
  if (deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) return false;
  size_t bound = deflateBound(&z, (uLong)from->length);
  bool good = buffer_reserve(to, bound + 1);
  if (good) {
    z.next_out = (Bytef *)to->data;
    z.avail_out = (uInt)bound;
    good = deflate(&z, Z_FINISH) == Z_STREAM_END;
    to->length = good ? z.total_out : 0;
  }
  (void)deflateEnd(&z);
  return good;
}

static void give(const struct kept *k, bool compressed, struct served_page *ret) {
  ret->status = k->status;
  ret->type = k->type;
  ret->compressed = compressed && k->compressed.length > 0;
  memcpy(ret->tag, k->tag, sizeof ret->tag);
  const struct buffer *bytes = ret->compressed ? &k->compressed : &k->plain;
  buffer_init(&ret->body, PAGE_BYTES_MAX);
  (void)buffer_append(&ret->body, bytes->data, bytes->length);
}

/* Of what is kept; or told to come later. Else it may make the page, and is one of its makers until it is kept. While others make it, the
 * page of before is given: it is a second old, and better than none. */
static bool give_or_enter(struct live_site *s, const char *address, bool compressed, struct served_page *ret) {
  (void)pthread_mutex_lock(&s->kept_lock);
  bool old = false, enters = false;
  const struct kept *k = find_kept(s, address, false, &old);
  bool waits = s->waiting[0] != 0, busy = s->n_makers == LIVE_SITE_MAKERS;
  if (waits) answer_later(ret, s->waiting);
  else if (k != NULL && (!old || busy)) give(k, compressed, ret);
  else if (busy) answer_later(ret, "Other pages are being made.");
  else {
    s->n_makers++;
    enters = true;
  }
  (void)pthread_mutex_unlock(&s->kept_lock);
  return enters;
}

/* What was asked is not kept: there is no end of questions, and other pages would go for them. */
static void make(struct live_site *s, const char *address, bool compressed, struct served_page *ret) {
  struct page page;
  struct kept made = {.n_entries = 0};
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  pages_answer(&s->pages, address, &page);
  buffer_init(&made.compressed, PAGE_BYTES_MAX);
  if (page.body.length >= COMPRESS_FROM && !compress_body(&page.body, &made.compressed)) buffer_release(&made.compressed);
  digest_of(page.body.data, page.body.length, digest);
  made.status = page.status;
  made.type = page.type;
  made.plain = page.body;
  (void)snprintf(made.tag, sizeof made.tag, "\"%.32s\"", digest_hex(digest, hex));
  give(&made, compressed, ret);
  if (strchr(address, '?') != NULL) {
    buffer_release(&made.plain);
    buffer_release(&made.compressed);
    return;
  }
  (void)pthread_mutex_lock(&s->kept_lock);
  struct kept *k = keep(s, address, false, s->n_shown, &made.plain);
  k->status = made.status;
  k->type = made.type;
  k->compressed = made.compressed;
  memcpy(k->tag, made.tag, sizeof k->tag);
  s->bytes += made.compressed.length;
  (void)pthread_mutex_unlock(&s->kept_lock);
}

/* Files of the build: they do not depend on the ledger. */
static bool give_file(const char *address, struct served_page *ret) {
  struct page page;
  if (!pages_file(address, &page)) return false;
  *ret = (struct served_page){.status = page.status, .type = page.type, .body = page.body};
  (void)snprintf(ret->tag, sizeof ret->tag, "\"" LYNX_VERSION "-%zu\"", page.body.length);
  return true;
}

bool live_site_get(void *context, const char *whole, bool compressed, struct served_page *ret) {
  struct live_site *s = context;
  char address[PAGE_ADDRESS_MAX];
  *ret = (struct served_page){.status = 200};
  if (strlen(whole) >= PAGE_ADDRESS_MAX) return false;
  (void)snprintf(address, sizeof address, "%.*s", (int)(pages_asks(whole) ? strlen(whole) : strcspn(whole, "?")), whole);
  if (give_file(address, ret) || site_now_get(&s->now, &s->lock, &s->pages, address, ret) || !give_or_enter(s, address, compressed, ret))
    return true;
  (void)pthread_mutex_lock(&s->lock);
  (void)pthread_mutex_lock(&s->kept_lock);
  const struct kept *k = find_fresh(s, address, false); /* while it waited another made it, perhaps */
  if (k != NULL) give(k, compressed, ret);
  (void)pthread_mutex_unlock(&s->kept_lock);
  if (k == NULL) make(s, address, compressed, ret);
  (void)pthread_mutex_unlock(&s->lock);
  (void)pthread_mutex_lock(&s->kept_lock);
  s->n_makers--;
  (void)pthread_mutex_unlock(&s->kept_lock);
  return true;
}

/* Beside what makes pages: a file that takes long keeps nobody from reading. */
void live_site_look(void *context, int fd, const char *name, const atomic_int *stop, struct served_page *ret) {
  struct live_site *s = context;
  struct buffer inside, why;
  struct page page;
  *ret = (struct served_page){.status = 200};
  buffer_init(&inside, PAGE_BYTES_MAX);
  buffer_init(&why, WHY_MAX);
  (void)buffer_text(&why, "");
  (void)pthread_mutex_lock(&s->look_lock);
  struct looked looked = {.name = name, .inside = &inside};
  looked.kind = dropped_file_look(s->folder, fd, stop, &inside, &why);
  (void)pthread_mutex_unlock(&s->look_lock);
  looked.why = why.data;
  (void)pthread_mutex_lock(&s->lock);
  pages_look(&s->pages, &looked, &page);
  (void)pthread_mutex_unlock(&s->lock);
  ret->status = page.status;
  ret->type = page.type;
  ret->body = page.body;
  buffer_release(&inside);
  buffer_release(&why);
}

/* --- begin and end --- */

struct live_site *live_site_open(const char *ledger, int *ret_code) {
  struct live_site *s = xalloc(1, sizeof *s); /* the ledger's handle points into itself: it stays where it is */
  bool opened = ledger_file_open(ledger, LEDGER_READS, &s->file);
  *ret_code = opened ? EXIT_CONDITIONS : ledger_file_code(&s->file);
  if (!opened || !make_folder(s->folder, sizeof s->folder)) {
    if (opened) ledger_file_close(&s->file);
    free(s);
    return NULL;
  }
  (void)pthread_mutex_init(&s->lock, NULL);
  (void)pthread_mutex_init(&s->look_lock, NULL);
  (void)pthread_mutex_init(&s->kept_lock, NULL);
  (void)pthread_cond_init(&s->stopping, NULL);
  s->kept = xalloc(KEPT_MAX, sizeof *s->kept);
  ledger_file_trust(&s->file);
  s->board.address = s->address;
  s->pages = (struct pages){.board = &s->board, .ledger = s->file.ledger, .view = view, .context = s};
  (void)snprintf(s->waiting, sizeof s->waiting, "Reading the ledger.");
  return s;
}

void live_site_close(struct live_site *s) {
  if (s == NULL) return;
  (void)pthread_mutex_lock(&s->kept_lock);
  s->stop = true;
  (void)pthread_cond_signal(&s->stopping);
  (void)pthread_mutex_unlock(&s->kept_lock);
  if (s->follows) (void)pthread_join(s->follower, NULL);
  while (s->n_kept > 0) drop(s, 0);
  free(s->kept);
  pages_release(&s->pages);
  site_now_release(&s->now);
  board_release(&s->board);
  ledger_file_close(&s->file);
  (void)rmdir(s->folder);
  (void)pthread_mutex_destroy(&s->lock);
  (void)pthread_mutex_destroy(&s->look_lock);
  (void)pthread_mutex_destroy(&s->kept_lock);
  (void)pthread_cond_destroy(&s->stopping);
  free(s);
}

bool live_site_show(struct live_site *s, const char *command, struct running *running, const char *schedules) {
  s->now.running = running;
  s->now.schedules.folder = schedules;
  s->pages.schedules = &s->now.schedules;
  (void)site_now_look(&s->now, &s->lock);
  if (schedules == NULL || access(schedules, R_OK | X_OK) == 0) return true;
  complain("lynxbench %s: --schedules: found '%s'; accepted: a folder that `schedule add --folder` names\n", command, schedules);
  return false;
}

void live_site_name(struct live_site *s, const char *address) {
  (void)snprintf(s->address, sizeof s->address, "%s", address);
}

struct ledger_file *live_site_ledger(struct live_site *s) {
  return &s->file;
}

struct pages *live_site_pages(struct live_site *s) {
  return &s->pages;
}
