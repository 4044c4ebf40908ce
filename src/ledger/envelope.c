#include "ledger/envelope.h"

#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/base64.h"

const char statement_payload_type[] = "application/vnd.in-toto+json";
static const char statement_type[] = "https://in-toto.io/Statement/v1", kind_prefix[] = "urn:lynxbench:", kind_suffix[] = ":2";

bool envelope_signed_bytes(struct bytes payload_type, struct bytes payload, struct buffer *ret) {
  return buffer_printf(ret, "DSSEv1 %zu ", payload_type.length) && buffer_append(ret, payload_type.ptr, payload_type.length) &&
         buffer_printf(ret, " %zu ", payload.length) && buffer_append(ret, payload.ptr, payload.length);
}

static bool decode(struct bytes text, struct arena *arena, struct bytes *ret) {
  struct buffer decoded;
  buffer_init(&decoded, ENVELOPE_MAX);
  bool good = base64_decode(&decoded, text.ptr, text.length);
  if (good) *ret = (struct bytes){arena_text(arena, decoded.data != NULL ? decoded.data : "", decoded.length), decoded.length};
  buffer_release(&decoded);
  return good;
}

/* --- as it is written here --- */

static bool take(struct bytes *rest, const char *literal) {
  const size_t n = strlen(literal);
  if (rest->length < n || memcmp(rest->ptr, literal, n) != 0) return false;
  *rest = (struct bytes){rest->ptr + n, rest->length - n};
  return true;
}

/* Up to the quote that ends it. False: it holds an escape, or other bytes than ASCII's. */
static bool take_text(struct bytes *rest, struct bytes *ret) {
  size_t n = 0;
  while (n < rest->length && rest->ptr[n] >= ' ' && rest->ptr[n] <= '~' && rest->ptr[n] != '"' && rest->ptr[n] != '\\') n++;
  *ret = (struct bytes){rest->ptr, n};
  *rest = (struct bytes){rest->ptr + n, rest->length - n};
  return take(rest, "\"");
}

static bool take_base64(struct bytes *rest, struct arena *arena, struct bytes *ret) {
  struct bytes text;
  return take_text(rest, &text) && decode(text, arena, ret);
}

/* All entries of a ledger have this form. To read it needs no tree of JSON, which would take longer than all the rest of reading an entry.
 * False: it has another form. */
static bool read_plain(struct bytes rest, struct arena *arena, struct envelope *ret) {
  struct bytes type, id, value;
  bool good = rest.length <= ENVELOPE_MAX && take(&rest, "{\"payloadType\":\"") && take_text(&rest, &type) &&
              take(&rest, ",\"payload\":\"") && take_base64(&rest, arena, &ret->payload) && take(&rest, ",\"signatures\":[");
  if (!good) return false;
  ret->payload_type = (struct bytes){arena_text(arena, type.ptr, type.length), type.length};
  do {
    good = ret->n_signatures < ENVELOPE_SIGNATURES_MAX && take(&rest, "{\"keyid\":\"") && take_text(&rest, &id) &&
           take(&rest, ",\"sig\":\"") && take_base64(&rest, arena, &value) && take(&rest, "}") && value.length == SIGNATURE_BYTES;
    if (!good) return false;
    struct envelope_signature *to = &ret->signatures[ret->n_signatures++];
    to->key_id = arena_text(arena, id.ptr, id.length);
    memcpy(to->value, value.ptr, SIGNATURE_BYTES);
  } while (take(&rest, ","));
  return take(&rest, "]}") && rest.length == 0;
}

/* --- as JSON --- */

static bool decode_member(const json_t *object, const char *key, struct arena *arena, struct bytes *ret) {
  const json_t *member = json_object_get(object, key);
  return json_is_string(member) && decode((struct bytes){json_string_value(member), json_string_length(member)}, arena, ret);
}

static enum lynx_status read_json(struct bytes bytes, struct arena *arena, struct envelope *ret, struct lynx_error *error) {
  json_t *whole = json_parse(bytes.ptr, bytes.length, ENVELOPE_MAX, error);
  if (whole == NULL) return error->status;
  const json_t *signatures = json_object_get(whole, "signatures"), *one;
  const char *type = json_get_text(whole, "payloadType", NULL);
  size_t i;
  bool good = type != NULL && decode_member(whole, "payload", arena, &ret->payload) && json_is_array(signatures) &&
              json_array_size(signatures) <= ENVELOPE_SIGNATURES_MAX;
  if (good) ret->payload_type = bytes_of(arena_copy(arena, type));
  json_array_foreach(signatures, i, one) {
    struct bytes value;
    good = good && decode_member(one, "sig", arena, &value);
    if (!good || value.length != SIGNATURE_BYTES) continue;
    struct envelope_signature *to = &ret->signatures[ret->n_signatures++];
    to->key_id = arena_copy(arena, json_get_text(one, "keyid", ""));
    memcpy(to->value, value.ptr, SIGNATURE_BYTES);
  }
  json_decref(whole);
  return good ? LYNX_OK
              : lynx_fail(error, LYNX_INPUT, "not a DSSE envelope: payloadType, payload and at most %d signatures in base64 are expected",
                          ENVELOPE_SIGNATURES_MAX);
}

enum lynx_status envelope_parse(struct bytes bytes, struct arena *arena, struct envelope *ret, struct lynx_error *error) {
  *ret = (struct envelope){0};
  if (read_plain(bytes, arena, ret)) return LYNX_OK;
  *ret = (struct envelope){0}; /* of what it read before it came upon another form */
  return read_json(bytes, arena, ret, error);
}

bool envelope_signed_by(const struct envelope *envelope, const uint8_t public_key[SIGNATURE_KEY_BYTES]) {
  struct buffer text;
  buffer_init(&text, 2 * ENVELOPE_MAX);
  bool holds = false;
  if (envelope_signed_bytes(envelope->payload_type, envelope->payload, &text))
    for (size_t i = 0; i < envelope->n_signatures && !holds; i++)
      holds = signature_valid(public_key, envelope->signatures[i].value, (struct bytes){text.data, text.length});
  buffer_release(&text);
  return holds;
}

static void put_base64(struct json_writer *json, const char *key, const void *data, size_t length) {
  struct buffer text;
  buffer_init(&text, 2 * ENVELOPE_MAX);
  (void)base64_encode(&text, data, length); /* an overflow leaves it empty, which no reader accepts */
  json_put_text(json, key, text.data != NULL ? text.data : "");
  buffer_release(&text);
}

static bool write_envelope(const struct envelope *envelope, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "payloadType", envelope->payload_type.ptr);
  put_base64(&json, "payload", envelope->payload.ptr, envelope->payload.length);
  json_key(&json, "signatures");
  json_open_array(&json);
  for (size_t i = 0; i < envelope->n_signatures; i++) {
    json_open_object(&json);
    json_put_text(&json, "keyid", envelope->signatures[i].key_id);
    put_base64(&json, "sig", envelope->signatures[i].value, SIGNATURE_BYTES);
    json_close(&json);
  }
  json_close(&json);
  json_close(&json);
  return json_finish(&json);
}

bool envelope_plain(struct bytes bytes, const struct envelope *envelope) {
  struct buffer again;
  buffer_init(&again, ENVELOPE_MAX);
  bool same = write_envelope(envelope, &again) && again.length == bytes.length && memcmp(again.data, bytes.ptr, bytes.length) == 0;
  buffer_release(&again);
  return same;
}

enum lynx_status envelope_make(struct bytes payload_type, struct bytes payload, const char *name, const struct signing_key *key,
                               struct buffer *ret, struct lynx_error *error) {
  struct buffer text;
  struct note_key own;
  char id[NOTE_KEY_TEXT_MAX];
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  struct envelope envelope = {.payload_type = payload_type, .payload = payload, .n_signatures = 1};
  buffer_init(&text, 2 * ENVELOPE_MAX);
  signing_key_public(key, public_key);
  note_key_make(name, NOTE_ED25519, public_key, &own);
  envelope.signatures[0].key_id = note_key_id_text(&own, id);
  bool fits = envelope_signed_bytes(payload_type, payload, &text);
  enum lynx_status status = fits ? signing_key_sign(key, (struct bytes){text.data, text.length}, envelope.signatures[0].value, error)
                                 : LYNX_OK;
  buffer_release(&text);
  if (status == LYNX_OK && (!fits || !write_envelope(&envelope, ret)))
    status = lynx_fail(error, LYNX_LIMIT, "the statement would pass %d bytes: shorten its text or its evidence", ENVELOPE_MAX);
  return status;
}

static bool read_subjects(const json_t *whole, struct statement *ret) {
  const json_t *subjects = json_object_get(whole, "subject"), *one;
  size_t i;
  if (!json_is_array(subjects) || json_array_size(subjects) > STATEMENT_SUBJECTS_MAX) return false;
  json_array_foreach(subjects, i, one) {
    struct statement_subject *to = &ret->subjects[ret->n_subjects++];
    const char *digest = json_get_text(json_object_get(one, "digest"), "sha256", "");
    to->name = json_get_text(one, "name", "");
    if (!hex_decode(digest, to->digest, DIGEST_BYTES)) return false;
  }
  return true;
}

enum lynx_status statement_parse(const struct envelope *envelope, struct arena *arena, struct statement *ret, struct lynx_error *error) {
  *ret = (struct statement){0};
  if (!bytes_equal(envelope->payload_type, statement_payload_type))
    return lynx_fail(error, LYNX_INPUT, "the envelope's payloadType is not %s", statement_payload_type);
  json_t *whole = json_parse(envelope->payload.ptr, envelope->payload.length, ENVELOPE_MAX, error);
  if (whole == NULL) return error->status;
  const char *type = json_get_text(whole, "predicateType", "");
  size_t n = strlen(type), before = sizeof kind_prefix - 1, after = sizeof kind_suffix - 1;
  bool ours = n > before + after && strncmp(type, kind_prefix, before) == 0 && type[n - 2] == ':' &&
              (type[n - 1] == '1' || type[n - 1] == '2');
  ret->predicate = json_object_get(whole, "predicate");
  if (!ours || strcmp(json_get_text(whole, "_type", ""), statement_type) != 0 || !json_is_object(ret->predicate) ||
      !read_subjects(whole, ret)) {
    json_decref(whole);
    *ret = (struct statement){0};
    return lynx_fail(error, LYNX_INPUT,
                     "not a statement of lynxbench's: an in-toto Statement v1 with a predicateType of the form %sKIND%s is expected",
                     kind_prefix, kind_suffix);
  }
  ret->kind = arena_text(arena, type + before, n - before - after);
  ret->format = type[n - 1] - '0';
  ret->ledger = ret->format > 1 ? json_get_text(ret->predicate, "ledger", "") : "";
  ret->whole = whole;
  return LYNX_OK;
}

void statement_release(struct statement *statement) {
  json_decref(statement->whole);
  *statement = (struct statement){0};
}

int64_t statement_file_bytes(const struct statement *statement) {
  const char *text = json_get_text(statement->predicate, "bytes", "");
  int64_t n;
  return number_int64(text, strlen(text), &n) && n >= 0 ? n : -1;
}

const uint8_t *statement_subject_named(const struct statement *statement, const char *name) {
  for (size_t i = 0; i < statement->n_subjects; i++)
    if (strcmp(statement->subjects[i].name, name) == 0) return statement->subjects[i].digest;
  return NULL;
}

bool statement_time(const struct statement *statement, int64_t *ret_s) {
  struct tm utc = {.tm_isdst = 0};
  const char *text = json_get_text(statement->predicate, "time", ""), *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  char again[32];
  if (end == NULL || *end != 0 || strftime(again, sizeof again, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0 || strcmp(again, text) != 0) return false;
  const int day = utc.tm_mday;
  *ret_s = (int64_t)timegm(&utc);
  return utc.tm_mday == day; /* of a day that there is: the 30th of February becomes the 1st or 2nd of March */
}

bool statement_intent(const struct statement *statement, uint8_t ret[DIGEST_BYTES]) {
  return strcmp(statement->kind, "bundle") == 0 && hex_decode(json_get_text(statement->predicate, "intent", ""), ret, DIGEST_BYTES);
}

void statement_begin(struct json_writer *json, struct buffer *out, const char *kind, const char *ledger,
                     const struct statement_subject *subjects, size_t n) {
  char hex[DIGEST_HEX], type[128];
  json_begin_object(json, out);
  json_put_text(json, "_type", statement_type);
  json_key(json, "subject");
  json_open_array(json);
  for (size_t i = 0; i < n; i++) {
    json_open_object(json);
    json_put_text(json, "name", subjects[i].name);
    json_key(json, "digest");
    json_open_object(json);
    json_put_text(json, "sha256", digest_hex(subjects[i].digest, hex));
    json_close(json);
    json_close(json);
  }
  json_close(json);
  (void)snprintf(type, sizeof type, "%s%s%s", kind_prefix, kind, kind_suffix);
  json_put_text(json, "predicateType", type);
  json_key(json, "predicate");
  json_open_object(json);
  if (ledger != NULL) json_put_text(json, "ledger", ledger);
}

bool statement_end(struct json_writer *json) {
  json_close(json);
  json_close(json);
  return json_finish(json);
}
