#include "measure/tokenizer_file.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/root.h"
#include "measure/byte_pairs.h"

enum { FILE_MAX = 256 << 20, TEXT_MAX = 1 << 20, STEPS_MAX = 16, REPLACEMENTS_MAX = 8, ADDED_BYTES = 256, MATCH_LIMIT = 100000 };

static const int64_t TIME_NS = 2000000000;       /* for one text */
static const char blank_mark[] = "\xe2\x96\x81"; /* U+2581 */
/* GPT-2's, which a ByteLevel step uses unless it says otherwise. */
static const char words_of_bytes[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* A step of the pre-tokenizer: matches of a pattern and what lies between them are pieces, or one of the two is dropped. */
struct step {
  pcre2_code *pattern;
  bool literal, drops_matches, drops_others;
  const char *before; /* put before a piece that does not begin with it; NULL: nothing */
};

struct tokenizer {
  json_t *root;
  struct byte_pairs pairs;
  struct step steps[STEPS_MAX];
  size_t n_steps;
  struct replacement {
    const char *from, *to; /* from "": put before the text */
    bool once;             /* unless it begins with it */
  } replacements[REPLACEMENTS_MAX];
  size_t n_replacements;
  bool by_bytes;
  json_t *added; /* tokens that no step takes apart: their texts are the keys */
  bool added_length[ADDED_BYTES + 1], begins_added[256];
  int64_t until_ns;     /* of the present text */
  char by_byte[256][3]; /* the character that stands for a byte */
  pcre2_match_data *match;
  pcre2_match_context *limits;
};

/* --- reading --- */

static enum lynx_status unknown_step(const char *what, const char *type, const char *accepted, struct lynx_error *error) {
  return lynx_fail(error, LYNX_UNSUPPORTED, "%s is '%.60s'; accepted: %s", what, type, accepted);
}

static enum lynx_status add_step(struct tokenizer *t, const char *pattern, struct step step, struct lynx_error *error) {
  uint32_t how = step.literal ? PCRE2_UTF | PCRE2_LITERAL : PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  int code = 0;
  PCRE2_SIZE at = 0;
  PCRE2_UCHAR why[120];
  if (t->n_steps == STEPS_MAX) return lynx_fail(error, LYNX_LIMIT, "pre_tokenizer has more than %d steps", STEPS_MAX);
  step.pattern = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, how, &code, &at, NULL);
  if (step.pattern == NULL) {
    pcre2_get_error_message(code, why, sizeof why);
    return lynx_fail(error, LYNX_INPUT, "pre_tokenizer: a pattern is wrong at its byte %zu: %s", (size_t)at, (const char *)why);
  }
  t->steps[t->n_steps++] = step;
  return LYNX_OK;
}

static enum lynx_status add_split(struct tokenizer *t, const json_t *split, struct lynx_error *error) {
  const json_t *pattern = json_object_get(split, "pattern");
  const char *behaviour = json_get_text(split, "behavior", ""), *regex = json_get_text(pattern, "Regex", NULL),
             *text = json_get_text(pattern, "String", NULL);
  bool removed = strcmp(behaviour, "Removed") == 0, inverted = json_get_bool(split, "invert", false);
  if (!removed && strcmp(behaviour, "Isolated") != 0)
    return unknown_step("a Split's behavior in pre_tokenizer", behaviour, "Isolated, Removed", error);
  if (regex == NULL && text == NULL)
    return lynx_fail(error, LYNX_INPUT, "pre_tokenizer: a Split without a pattern; accepted: Regex, String");
  const struct step step = {.literal = regex == NULL, .drops_matches = removed && !inverted, .drops_others = removed && inverted};
  return add_step(t, regex != NULL ? regex : text, step, error);
}

static enum lynx_status add_marked(struct tokenizer *t, const json_t *step, struct lynx_error *error) {
  static const char marked[] = "\xe2\x96\x81[^\xe2\x96\x81]*|[^\xe2\x96\x81]+", whole[] = "(?s).+";
  const char *mark = json_get_text(step, "replacement", blank_mark), *scheme = json_get_text(step, "prepend_scheme", "always");
  if (strcmp(mark, blank_mark) != 0) return unknown_step("a Metaspace's replacement in pre_tokenizer", mark, blank_mark, error);
  if (t->n_replacements + 1 >= REPLACEMENTS_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d replacements", REPLACEMENTS_MAX);
  t->replacements[t->n_replacements++] = (struct replacement){" ", blank_mark, false};
  const char *pattern = json_get_bool(step, "split", true) ? marked : whole;
  if (strcmp(scheme, "never") != 0 && json_get_bool(step, "add_prefix_space", true))
    t->replacements[t->n_replacements++] = (struct replacement){"", blank_mark, true};
  return add_step(t, pattern, (struct step){0}, error);
}

/* A step of one piece in front of the pattern, where the text shall begin with a blank. */
static enum lynx_status add_bytes(struct tokenizer *t, const json_t *step, struct lynx_error *error) {
  bool by_pattern = json_get_bool(step, "use_regex", true), blank = json_get_bool(step, "add_prefix_space", true);
  enum lynx_status status = blank ? add_step(t, "(?s).+", (struct step){.before = " "}, error) : LYNX_OK;
  t->by_bytes = true;
  if (status != LYNX_OK || !by_pattern) return status;
  return add_step(t, words_of_bytes, (struct step){0}, error);
}

static enum lynx_status read_steps(struct tokenizer *t, const json_t *step, int depth, struct lynx_error *error) {
  const char *type = json_get_text(step, "type", "");
  const json_t *inner = json_object_get(step, "pretokenizers");
  enum lynx_status status = LYNX_OK;
  if (step == NULL || json_is_null(step)) return LYNX_OK; /* the text is one piece */
  if (!json_is_object(step)) return lynx_fail(error, LYNX_INPUT, "pre_tokenizer is no object; accepted: an object with \"type\", or null");
  if (strcmp(type, "Sequence") == 0 && depth < 4) {
    for (size_t i = 0; i < json_array_size(inner) && status == LYNX_OK; i++)
      status = read_steps(t, json_array_get(inner, i), depth + 1, error);
    return status;
  }
  if (strcmp(type, "Split") == 0) return add_split(t, step, error);
  if (strcmp(type, "ByteLevel") == 0) return add_bytes(t, step, error);
  if (strcmp(type, "Metaspace") == 0) return add_marked(t, step, error);
  if (strcmp(type, "Digits") == 0) {
    const char *pattern = json_get_bool(step, "individual_digits", false) ? "\\p{N}" : "\\p{N}+";
    return add_step(t, pattern, (struct step){0}, error);
  }
  if (strcmp(type, "WhitespaceSplit") == 0) return add_step(t, "\\s+", (struct step){.drops_matches = true}, error);
  return unknown_step("a step of pre_tokenizer", type, "Sequence, Split, ByteLevel, Metaspace, Digits, WhitespaceSplit", error);
}

/* Normal forms of Unicode are passed over (tokenizer.h). */
static enum lynx_status read_normaliser(struct tokenizer *t, const json_t *step, int depth, struct lynx_error *error) {
  static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
  const char *type = json_get_text(step, "type", "");
  const json_t *inner = json_object_get(step, "normalizers");
  enum lynx_status status = LYNX_OK;
  if (step == NULL || json_is_null(step)) return LYNX_OK;
  if (!json_is_object(step)) return lynx_fail(error, LYNX_INPUT, "normalizer is no object; accepted: an object with \"type\", or null");
  for (size_t i = 0; i < LYNX_COUNT(forms); i++)
    if (strcmp(type, forms[i]) == 0) return LYNX_OK;
  if (strcmp(type, "Sequence") == 0 && depth < 4) {
    for (size_t i = 0; i < json_array_size(inner) && status == LYNX_OK; i++)
      status = read_normaliser(t, json_array_get(inner, i), depth + 1, error);
    return status;
  }
  bool prepends = strcmp(type, "Prepend") == 0, replaces = strcmp(type, "Replace") == 0;
  const char *from = prepends ? "" : json_get_text(json_object_get(step, "pattern"), "String", NULL),
             *to = json_get_text(step, prepends ? "prepend" : "content", NULL);
  if (!prepends && (!replaces || from == NULL || from[0] == 0))
    return unknown_step("a step of normalizer", type, "Sequence, Prepend, Replace (of a String), NFC", error);
  if (to == NULL || strlen(to) > 64)
    return lynx_fail(error, LYNX_INPUT, "normalizer: a %s without its text, or with more than 64 bytes", type);
  if (t->n_replacements == REPLACEMENTS_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d replacements", REPLACEMENTS_MAX);
  t->replacements[t->n_replacements++] = (struct replacement){from, to, false};
  return LYNX_OK;
}

static enum lynx_status read_added(struct tokenizer *t, struct lynx_error *error) {
  const json_t *list = json_object_get(t->root, "added_tokens");
  if (list != NULL && !json_is_null(list) && !json_is_array(list))
    return lynx_fail(error, LYNX_INPUT, "added_tokens is no list; accepted: a list of objects with \"content\"");
  t->added = json_object();
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *text = json_object_get(json_array_get(list, i), "content");
    size_t n = json_string_length(text);
    if (n == 0 || n > ADDED_BYTES) continue;
    if (json_object_setn_new(t->added, json_string_value(text), n, json_true()) != 0)
      return lynx_fail(error, LYNX_LIMIT, "there is no memory for its added tokens");
    t->added_length[n] = true;
    t->begins_added[(unsigned char)json_string_value(text)[0]] = true;
  }
  return LYNX_OK;
}

/* A printable byte stands for itself; the others, in order, for the characters from U+0100 on (GPT-2's encoder.py). */
static void name_bytes(struct tokenizer *t) {
  unsigned next = 256;
  for (unsigned b = 0; b < 256; b++) {
    bool itself = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    unsigned c = itself ? b : next++;
    if (c < 128) t->by_byte[b][0] = (char)c;
    else t->by_byte[b][0] = (char)(0xc0 | c >> 6), t->by_byte[b][1] = (char)(0x80 | (c & 63));
  }
}

enum lynx_status tokenizer_open(const char *json, size_t length, struct tokenizer **ret, struct lynx_error *error) {
  struct tokenizer *t = xalloc(1, sizeof *t);
  *ret = NULL;
  t->root = json_parse(json, length, FILE_MAX, error);
  t->match = pcre2_match_data_create(1, NULL);
  t->limits = pcre2_match_context_create(NULL);
  name_bytes(t);
  enum lynx_status status = t->root != NULL ? LYNX_OK : LYNX_INPUT;
  if (status == LYNX_OK && (t->match == NULL || t->limits == NULL))
    status = lynx_fail(error, LYNX_LIMIT, "there is no memory for its patterns");
  if (status == LYNX_OK) status = byte_pairs_read(json_object_get(t->root, "model"), &t->pairs, error);
  if (status == LYNX_OK) status = read_normaliser(t, json_object_get(t->root, "normalizer"), 0, error);
  if (status == LYNX_OK) status = read_steps(t, json_object_get(t->root, "pre_tokenizer"), 0, error);
  if (status == LYNX_OK) {
    pcre2_set_match_limit(t->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(t->limits, 16 << 10); /* KiB */
    status = read_added(t, error);
  }
  if (status == LYNX_OK) *ret = t;
  else tokenizer_close(t);
  return status;
}

enum lynx_status tokenizer_read(const char *path, struct tokenizer **ret, char *ret_digest, struct lynx_error *error) {
  const struct root root = {""};
  struct buffer file;
  uint8_t digest[DIGEST_BYTES];
  buffer_init(&file, FILE_MAX);
  *ret = NULL;
  enum lynx_status status = root_read(&root, path, &file, error);
  if (status == LYNX_OK) {
    digest_of(file.data, file.length, digest);
    digest_hex(digest, ret_digest);
    status = tokenizer_open(file.data, file.length, ret, error);
  }
  if (status != LYNX_OK) lynx_error_at(error, path, 0, NULL);
  buffer_release(&file);
  return status;
}

void tokenizer_close(struct tokenizer *t) {
  if (t == NULL) return;
  for (size_t i = 0; i < t->n_steps; i++) pcre2_code_free(t->steps[i].pattern);
  pcre2_match_data_free(t->match);
  pcre2_match_context_free(t->limits);
  byte_pairs_release(&t->pairs);
  json_decref(t->added);
  json_decref(t->root);
  free(t);
}

/* --- counting --- */

static bool is_late(const struct tokenizer *t) {
  return clock_now(&clock_system) > t->until_ns;
}

static enum lynx_status count_pieces(const struct tokenizer *t, size_t k, const char *text, size_t length, int64_t *n,
                                     struct lynx_error *error);

static enum lynx_status count_piece(const struct tokenizer *t, const char *text, size_t length, int64_t *n, struct lynx_error *error) {
  struct buffer named;
  int64_t count;
  buffer_init(&named, 2 * TEXT_MAX + 2);
  for (size_t i = 0; t->by_bytes && i < length; i++) (void)buffer_text(&named, t->by_byte[(unsigned char)text[i]]);
  if (t->by_bytes) count = byte_pairs_count(&t->pairs, named.data, named.length);
  else count = byte_pairs_count(&t->pairs, text, length);
  bool good = count >= 0 && !named.overflowed;
  buffer_release(&named);
  *n += count;
  return good ? LYNX_OK : lynx_fail(error, LYNX_LIMIT, "there is no memory to count %zu bytes", length);
}

static enum lynx_status split(const struct tokenizer *t, size_t k, const char *text, size_t length, int64_t *n, struct lynx_error *error) {
  const struct step *step = &t->steps[k];
  enum lynx_status status = LYNX_OK;
  size_t done = 0, at = 0;
  while (at < length && status == LYNX_OK) {
    int found = pcre2_match(step->pattern, (PCRE2_SPTR)text, length, at, PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, t->match, t->limits);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0 || is_late(t))
      return lynx_fail(error, LYNX_LIMIT, "a text of %zu bytes is not taken apart in reasonable time by the patterns of pre_tokenizer",
                       length);
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(t->match);
    size_t from = span[0], to = span[1];
    if (from < done || to <= from) break; /* \K can say so */
    if (from > done && !step->drops_others) status = count_pieces(t, k + 1, text + done, from - done, n, error);
    if (status == LYNX_OK && !step->drops_matches) status = count_pieces(t, k + 1, text + from, to - from, n, error);
    done = at = to;
  }
  if (status == LYNX_OK && done < length && !step->drops_others) status = count_pieces(t, k + 1, text + done, length - done, n, error);
  return status;
}

/* The steps from the k-th on. */
static enum lynx_status count_pieces(const struct tokenizer *t, size_t k, const char *text, size_t length, int64_t *n,
                                     struct lynx_error *error) {
  if (length == 0) return LYNX_OK;
  if (k == t->n_steps) return count_piece(t, text, length, n, error);
  const char *before = t->steps[k].before;
  if (before == NULL || strncmp(text, before, strlen(before)) == 0) return split(t, k, text, length, n, error);
  struct buffer longer;
  buffer_init(&longer, 2 * TEXT_MAX);
  enum lynx_status status = buffer_text(&longer, before) && buffer_append(&longer, text, length)
                                ? split(t, k, longer.data, longer.length, n, error)
                                : lynx_fail(error, LYNX_LIMIT, "there is no memory to count %zu bytes", length);
  buffer_release(&longer);
  return status;
}

static bool replace(const struct replacement *r, struct buffer *text) {
  struct buffer out;
  size_t n = strlen(r->from), at = 0;
  bool good = true;
  if (r->once && strncmp(text->data, r->to, strlen(r->to)) == 0) return true;
  buffer_init(&out, text->limit);
  if (n == 0) good = buffer_text(&out, r->to);
  while (n > 0 && good && at < text->length) {
    const char *found = memmem(text->data + at, text->length - at, r->from, n);
    size_t until = found != NULL ? (size_t)(found - text->data) : text->length;
    good = buffer_append(&out, text->data + at, until - at) && (found == NULL || buffer_text(&out, r->to));
    at = until + (found != NULL ? n : 0);
  }
  good = good && buffer_append(&out, text->data + at, text->length - at);
  buffer_release(text);
  *text = out;
  return good;
}

/* What lies between added tokens. */
static enum lynx_status count_stretch(const struct tokenizer *t, const char *text, size_t length, int64_t *n, struct lynx_error *error) {
  struct buffer normal;
  if (length == 0) return LYNX_OK;
  buffer_init(&normal, 8 * TEXT_MAX);
  bool good = buffer_append(&normal, text, length);
  for (size_t i = 0; i < t->n_replacements && good; i++) good = replace(&t->replacements[i], &normal);
  enum lynx_status status = good ? count_pieces(t, 0, normal.data, normal.length, n, error)
                                 : lynx_fail(error, LYNX_LIMIT, "the text grows beyond %d bytes", 8 * TEXT_MAX);
  buffer_release(&normal);
  return status;
}

static size_t added_here(const struct tokenizer *t, const char *text, size_t length) {
  if (!t->begins_added[(unsigned char)text[0]]) return 0;
  for (size_t n = length < ADDED_BYTES ? length : ADDED_BYTES; n > 0; n--)
    if (t->added_length[n] && json_object_getn(t->added, text, n) != NULL) return n;
  return 0;
}

enum lynx_status tokenizer_count(void *context, const char *text, size_t length, int64_t *ret, struct lynx_error *error) {
  struct tokenizer *t = context;
  enum lynx_status status = LYNX_OK;
  size_t done = 0;
  *ret = 0;
  t->until_ns = clock_now(&clock_system) + TIME_NS;
  if (utf8_valid(text, length) < length) return lynx_fail(error, LYNX_INPUT, "a text that is not UTF-8");
  if (length > TEXT_MAX) return lynx_fail(error, LYNX_LIMIT, "a text of %zu bytes; accepted: %d at most", length, TEXT_MAX);
  for (size_t at = 0; at < length && status == LYNX_OK;) {
    if (at % 1024 == 0 && is_late(t)) return lynx_fail(error, LYNX_LIMIT, "a text of %zu bytes takes too long to be taken apart", length);
    size_t n = added_here(t, text + at, length - at);
    if (n > 0) {
      status = count_stretch(t, text + done, at - done, ret, error);
      ++*ret;
      done = at + n;
    }
    at += n > 0 ? n : 1;
  }
  return status == LYNX_OK ? count_stretch(t, text + done, length - done, ret, error) : status;
}
