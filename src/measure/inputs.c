#include "measure/inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"
#include "base/root.h"
#include "measure/image.h"
#include "measure/prompt_file.h"
#include "measure/prompt_tokens.h"
#include "stats/draw.h"
#include "stats/special.h"

enum { BLOCK_TOKENS = 512, INPUTS_MAX = 1000000, OUTPUT_TOKENS_MAX = 1000000, WORD_MOST = 32, CHARACTER_MOST = 8, LETTERS_LEAST = 16 };
static const size_t inputs_bytes_max = (size_t)1 << 30;

enum lynx_status inputs_read_text(const char *path, struct buffer *ret, struct lynx_error *error) {
  const struct root root = {""};
  buffer_init(ret, 64 << 20);
  return root_read(&root, path, ret, error);
}

/* What all prompts are made with. */
struct making {
  const struct contract *contract;
  const char *bearer;
  struct inputs *inputs;
  struct random_stream random;
  struct buffer text; /* the prompts' file; empty: seeded words */
  struct profile profile;
  bool has_profile;
  size_t n_bytes; /* of all prompts so far */
  struct lynx_error *error;
};

static enum lynx_status account(struct making *m, size_t bytes) {
  m->n_bytes += bytes;
  if (m->n_bytes <= inputs_bytes_max) return LYNX_OK;
  return lynx_fail(m->error, LYNX_LIMIT, "the prompts would be more than %zu MiB in all; ask for fewer or shorter ones",
                   inputs_bytes_max >> 20);
}

/* --- text --- */

static void put_words(struct random_stream *random, char *text, size_t length) {
  static const char *const syllables[] = {"ka", "lo", "mi", "ne", "ra", "su", "ti", "vo", "en", "ar", "is", "un", "to", "pe", "da", "go"};
  size_t n = 0;
  while (n < length) {
    for (uint64_t left = 1 + random_below(random, 3); left > 0 && n < length; left--) {
      const char *syllable = syllables[random_below(random, LYNX_COUNT(syllables))];
      text[n++] = syllable[0];
      if (n < length) text[n++] = syllable[1];
    }
    if (n < length) text[n++] = ' ';
  }
}

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The next word's beginning from there on, round the end; where the word there is longer than WORD_MOST, a place within it. */
static size_t word_begin(const struct buffer *from, size_t at) {
  size_t i = at;
  while (i > 0 && i < from->length && i < at + WORD_MOST && !is_blank(from->data[i - 1])) i++;
  if (i == at + WORD_MOST) return at;
  while (i < from->length && is_blank(from->data[i])) i++;
  for (i = i < from->length ? i : 0; is_blank(from->data[i]); i++) continue; /* it has a word: check_text */
  return i;
}

static size_t word_end(const struct buffer *from, size_t at, size_t end) {
  size_t i = end;
  while (i > at && end - i < WORD_MOST && i < from->length && !is_blank(from->data[i])) i--;
  while (i > at && is_blank(from->data[i - 1])) i--;
  return i > at && end - i < WORD_MOST ? i : end;
}

/* From the beginning of a word to the end of one, as people write: no word is cut in two, so that nothing but its words tells a server what
 * was cut. Where there are no blanks, or no room for a word, whole characters. Returns the length that was put: at most `length`, but for
 * one character that is longer. */
static size_t put_cut(const struct buffer *from, size_t at, char *text, size_t length) {
  at = word_begin(from, at);
  while (at > 0 && ((unsigned char)from->data[at] & 0xc0) == 0x80) at--;
  size_t end = at + length < from->length ? at + length : from->length;
  end = word_end(from, at, end);
  while (end > at && end < from->length && ((unsigned char)from->data[end] & 0xc0) == 0x80) end--;
  if (end == at) end += utf8_length((const unsigned char *)from->data + at, from->length - at); /* no room for one: one all the same */
  memcpy(text, from->data + at, end - at);
  return end - at;
}

/* What prompts are cut from: what is sealed must be what is sent, and that is UTF-8. */
static enum lynx_status check_text(const struct buffer *text, const char *path, struct lynx_error *error) {
  const char *zero = text->length > 0 ? memchr(text->data, 0, text->length) : NULL;
  size_t n_letters = 0, good = utf8_valid(text->data, zero != NULL ? (size_t)(zero - text->data) : text->length);
  lynx_error_at(error, path, 0, NULL);
  if (good < text->length)
    return lynx_fail(error, LYNX_INPUT, "byte %zu (0x%02x) is not of a text in UTF-8; accepted: UTF-8", good,
                     (unsigned)(unsigned char)text->data[good]);
  for (size_t at = 0; at < text->length; at++) n_letters += ((unsigned char)text->data[at] & 0xc0) != 0x80 && !is_blank(text->data[at]);
  if (n_letters >= LETTERS_LEAST) return LYNX_OK;
  return lynx_fail(error, LYNX_INPUT, "holds %zu characters besides blanks: too little to cut prompts from; accepted: %d or more",
                   n_letters, LETTERS_LEAST);
}

static size_t put_text(struct making *m, char *text, size_t length) {
  if (m->text.length == 0) {
    put_words(&m->random, text, length);
    return length;
  }
  size_t put = 0; /* a piece longer than the file goes on at another place of it */
  while (put == 0 || put + WORD_MOST < length) {
    size_t from = put > 0 ? put + 1 : 0, left = length - from, room = m->text.length > left ? m->text.length - left : 0;
    size_t n = put_cut(&m->text, random_below(&m->random, room + 1), text + from, left);
    if (n == 0) break;
    if (put > 0) text[put] = ' ';
    put = from + n;
  }
  return put;
}

/* After n bytes of text, in the words of which it goes on. */
static size_t put_next(struct making *m, char *text, size_t n, size_t length) {
  bool apart = m->text.length > 0 && n > 0 && length > 1; /* the blank is one of its bytes */
  if (apart) text[n] = ' ';
  return (apart ? 1 : 0) + put_text(m, text + n + (apart ? 1 : 0), length - (apart ? 1 : 0));
}

/* --- lengths --- */

/* A length around `centre`, at least 1. */
static int64_t draw_length(struct making *m, int kind, double centre, double spread, double most) {
  double length = centre;
  if (kind == LENGTH_UNIFORM) length = centre * (1 + spread * (2 * draw_uniform(&m->random) - 1));
  if (kind == LENGTH_LOGNORMAL) length = centre * special_exp(spread * draw_normal(&m->random));
  length = floor(length + 0.5);
  return length < 1 ? 1 : length > most ? (int64_t)most : (int64_t)length;
}

struct lengths {
  size_t bytes;
  int64_t output_tokens;
};

static struct lengths draw_lengths(struct making *m) {
  const struct contract_workload *w = &m->contract->workload;
  size_t pair = m->has_profile && m->profile.n_pairs > 0 ? random_below(&m->random, m->profile.n_pairs) : 0;
  struct lengths l;
  l.bytes = (size_t)(w->prompts.distribution == LENGTH_PROFILE
                         ? draw_length(m, LENGTH_FIXED, m->profile.prompt_tokens[pair] * w->bytes_per_token, 0, 1e8)
                         : draw_length(m, w->prompts.distribution, (double)w->prompts.bytes, w->prompts.spread, 1e8));
  l.output_tokens = w->output_distribution == LENGTH_PROFILE
                        ? draw_length(m, LENGTH_FIXED, m->profile.output_tokens[pair], 0, OUTPUT_TOKENS_MAX)
                        : draw_length(m, w->output_distribution, (double)w->output_tokens, w->output_spread, OUTPUT_TOKENS_MAX);
  return l;
}

/* --- pictures --- */

/* From a file (path), or of noise. */
static enum lynx_status add_picture(struct making *m, struct driver_input *input, const char *path, size_t index) {
  int width = 0, height = 0;
  struct buffer url;
  buffer_init(&url, 128 << 20);
  enum lynx_status status = LYNX_OK;
  if (path != NULL) status = image_file_url(path, &url, m->error);
  else if (sscanf(m->contract->workload.prompts.image, "%dx%d", &width, &height) != 2 ||
           !image_noise_url(width, height, (uint64_t)m->contract->method.seed * 1000003 + index, &url))
    status = lynx_fail(m->error, LYNX_LIMIT, "workload.prompts.image: no memory for such a picture");
  if (status == LYNX_OK) status = account(m, url.length);
  if (status == LYNX_OK) input->image = arena_text(&m->inputs->arena, url.data, url.length);
  buffer_release(&url);
  return status;
}

/* --- prompts by themselves, and conversations --- */

static enum lynx_status make_drawn(struct making *m) {
  const struct contract_prompts *p = &m->contract->workload.prompts;
  struct inputs *inputs = m->inputs;
  size_t shared = (size_t)p->shared_prefix_bytes, groups = (size_t)p->prefix_groups;
  lynx_assert(groups > 0 && inputs->turns > 0 && inputs->items != NULL);
  char **prefixes = arena_alloc(&inputs->arena, groups, sizeof *prefixes);
  size_t *prefix_length = arena_alloc(&inputs->arena, groups, sizeof *prefix_length);
  enum lynx_status status = LYNX_OK;
  for (size_t g = 0; g < groups && shared > 0 && status == LYNX_OK; g++) {
    status = account(m, shared);
    if (status != LYNX_OK) break;
    prefixes[g] = arena_alloc(&inputs->arena, shared + CHARACTER_MOST, 1);
    prefix_length[g] = put_text(m, prefixes[g], shared);
  }
  for (size_t i = 0; i < inputs->n_items && status == LYNX_OK; i++) {
    struct lengths l = draw_lengths(m);
    const struct driver_input *before = i % inputs->turns > 0 ? &inputs->items[i - 1] : NULL;
    size_t answer = before != NULL ? (size_t)((double)before->output_tokens * m->contract->workload.bytes_per_token) : 0;
    size_t group = i / inputs->turns % groups, kept = before != NULL ? before->length : prefix_length[group];
    status = account(m, kept + answer + l.bytes);
    if (status != LYNX_OK) break;
    char *text = arena_alloc(&inputs->arena, kept + answer + l.bytes + 3 * CHARACTER_MOST, 1);
    if (kept > 0) memcpy(text, before != NULL ? before->prompt : prefixes[group], kept);
    size_t n = kept;
    if (answer > 0) n += put_next(m, text, n, answer);
    n += put_next(m, text, n, l.bytes);
    inputs->items[i] = (struct driver_input){.prompt = text, .length = n, .output_tokens = l.output_tokens};
  }
  return status;
}

/* --- a trace --- */

static enum log_format log_format_of(int trace_format) {
  static const enum log_format formats[] = {[TRACE_AUTO] = LOG_AUTO,
                                            [TRACE_JSONL] = LOG_JSONL,
                                            [TRACE_MOONCAKE] = LOG_MOONCAKE,
                                            [TRACE_BURSTGPT] = LOG_BURSTGPT,
                                            [TRACE_AZURE] = LOG_AZURE};
  return formats[trace_format];
}

/* Blocks that two requests share become text that they share. */
static enum lynx_status make_from_blocks(struct making *m, const struct logged_request *q, struct driver_input *ret) {
  double per_token = m->contract->workload.bytes_per_token;
  size_t block = (size_t)(BLOCK_TOKENS * per_token), length = (size_t)((double)q->prompt_tokens * per_token), n = 0;
  if (length < 1) length = 1;
  enum lynx_status status = account(m, length);
  if (status != LYNX_OK) return status;
  char *text = arena_alloc(&m->inputs->arena, length + 1, 1);
  for (size_t k = 0; n < length; k++) {
    struct random_stream own;
    size_t part = length - n < block ? length - n : block;
    random_init(&own, (uint64_t)(k < q->n_blocks ? q->blocks[k] : (int64_t)random_next(&m->random)), "block");
    put_words(&own, text + n, part);
    n += part;
  }
  *ret = (struct driver_input){.prompt = text, .length = length};
  return LYNX_OK;
}

static enum lynx_status make_replayed(struct making *m, const struct request_log *log) {
  const struct contract_workload *w = &m->contract->workload;
  const struct contract_method *method = &m->contract->method;
  struct inputs *inputs = m->inputs;
  double speed = m->contract->regime.trace_speed, most_ns = (double)(method->warm_up_ns + method->counted_ns + method->drain_ns);
  while (inputs->n_items < log->n_items && (double)log->items[inputs->n_items].at_ns / speed < most_ns) inputs->n_items++;
  if (inputs->n_items > INPUTS_MAX)
    return lynx_fail(m->error, LYNX_LIMIT, "%zu requests of the trace fall into one session; at most %d", inputs->n_items, INPUTS_MAX);
  inputs->items = arena_alloc(&inputs->arena, inputs->n_items, sizeof *inputs->items);
  inputs->fixed_order = true;
  inputs->given_at_ns = arena_alloc(&inputs->arena, inputs->n_items, sizeof *inputs->given_at_ns);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < inputs->n_items && status == LYNX_OK; i++) {
    const struct logged_request *q = &log->items[i];
    struct driver_input *input = &inputs->items[i];
    inputs->given_at_ns[i] = (int64_t)((double)q->at_ns / speed);
    if (q->prompt != NULL) {
      status = account(m, q->prompt_length);
      *input = (struct driver_input){.prompt = arena_text(&inputs->arena, q->prompt, q->prompt_length), .length = q->prompt_length};
    } else if (q->n_blocks > 0) status = make_from_blocks(m, q, input);
    else {
      size_t length = (size_t)((double)q->prompt_tokens * w->bytes_per_token) + (q->prompt_tokens == 0);
      status = account(m, length);
      if (status != LYNX_OK) break;
      char *text = arena_alloc(&inputs->arena, length + CHARACTER_MOST, 1);
      *input = (struct driver_input){.prompt = text, .length = put_text(m, text, length)};
    }
    input->output_tokens = q->output_tokens > 0 ? q->output_tokens : q->output_tokens == 0 ? 1 : w->output_tokens;
    if (input->output_tokens > OUTPUT_TOKENS_MAX) input->output_tokens = OUTPUT_TOKENS_MAX;
  }
  return status;
}

static enum lynx_status read_trace(struct making *m) {
  const struct contract_regime *regime = &m->contract->regime;
  struct buffer text;
  struct request_log log;
  const struct root root = {""};
  buffer_init(&text, (size_t)1 << 30);
  enum lynx_status status = root_read(&root, regime->trace, &text, m->error);
  if (status == LYNX_OK) status = request_log_parse(text.data, text.length, log_format_of(regime->trace_format), &log, m->error);
  if (status != LYNX_OK) lynx_error_at(m->error, regime->trace, 0, NULL);
  else {
    status = make_replayed(m, &log);
    if (log.n_skipped > 0 || m->inputs->n_items < log.n_items)
      m->inputs->note = arena_printf(&m->inputs->arena, "%s: %zu of its %zu requests fall into a session; %zu lines were not read%s%s",
                                     regime->trace, m->inputs->n_items, log.n_items, log.n_skipped,
                                     log.n_skipped > 0 ? ", the first: " : "", log.first_skipped);
    request_log_release(&log);
  }
  buffer_release(&text);
  return status;
}

/* --- a file of prompts --- */

static int64_t output_tokens_of(struct making *m, const struct prompt *prompt) {
  const struct contract_workload *w = &m->contract->workload;
  if (w->output_distribution != LENGTH_GIVEN) return draw_lengths(m).output_tokens;
  int64_t tokens = prompt->output_tokens > 0   ? prompt->output_tokens
                   : prompt->answer_bytes >= 0 ? (int64_t)((double)prompt->answer_bytes / w->bytes_per_token + 0.5)
                                               : w->output_tokens;
  return tokens < 1 ? 1 : tokens > OUTPUT_TOKENS_MAX ? OUTPUT_TOKENS_MAX : tokens;
}

static enum lynx_status take_listed(struct making *m, const struct prompt_list *list) {
  const char *path = m->contract->workload.prompts.file;
  struct inputs *inputs = m->inputs;
  if (inputs->n_items > list->n_items) {
    lynx_error_at(m->error, path, 0, "workload.prompts.count");
    return lynx_fail(m->error, LYNX_INPUT, "holds %zu prompts, and %zu are asked for; none is asked twice", list->n_items, inputs->n_items);
  }
  size_t *places = arena_alloc(&inputs->arena, inputs->n_items, sizeof *places);
  prompt_sample(list->n_items, inputs->n_items, (uint64_t)m->contract->method.seed, places);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < inputs->n_items && status == LYNX_OK; i++) {
    const struct prompt *prompt = &list->items[places[i]];
    struct driver_input *input = &inputs->items[i];
    *input = (struct driver_input){.prompt = arena_text(&inputs->arena, prompt->text, prompt->length), .length = prompt->length};
    input->output_tokens = output_tokens_of(m, prompt);
    status = account(m, prompt->length);
    int api = m->contract->workload.api;
    if (status == LYNX_OK && prompt->image != NULL && api != API_CHAT && api != API_NATIVE && api != API_NATIVE_CHAT) {
      lynx_error_at(m->error, path, 0, NULL);
      status = lynx_fail(m->error, LYNX_INPUT, "a prompt of it has a picture, and this route takes none; set workload.api: chat");
    }
    if (status == LYNX_OK && prompt->image != NULL) status = add_picture(m, input, prompt->image, i);
  }
  if (list->n_skipped > 0)
    inputs->note = arena_printf(&inputs->arena, "%s: %zu conversations without a human turn were passed over", path, list->n_skipped);
  return status;
}

static enum lynx_status make_listed(struct making *m) {
  const struct contract_prompts *p = &m->contract->workload.prompts;
  const struct root root = {""};
  struct buffer text;
  struct prompt_list list = {.n_items = 0};
  buffer_init(&text, (size_t)1 << 30);
  enum lynx_status status = root_read(&root, p->file, &text, m->error);
  if (status == LYNX_OK) {
    struct lynx_error why = {0};
    status = prompt_file_parse(text.data, text.length, (enum prompt_format)p->format, &list, &why);
    if (status != LYNX_OK) {
      lynx_error_at(m->error, p->file, why.line, NULL);
      (void)lynx_fail(m->error, status, "%s", why.message);
    }
  }
  if (status == LYNX_OK) status = take_listed(m, &list);
  prompt_list_release(&list);
  buffer_release(&text);
  return status;
}

/* --- an exact number of tokens --- */

struct server_tokenizer server_tokenizer_of(const struct contract *c, const char *bearer) {
  return (struct server_tokenizer){.endpoint = c->executor.endpoint,
                                   .model = c->workload.model,
                                   .bearer = bearer,
                                   .ca_file = c->executor.ca_file,
                                   .user_agent = c->workload.user_agent};
}

static enum lynx_status make_exact(struct making *m) {
  const struct contract *c = m->contract;
  const struct contract_prompts *p = &c->workload.prompts;
  const struct root root = {""};
  struct inputs *inputs = m->inputs;
  struct word_list words = {.n_words = 0};
  struct server_tokenizer server = server_tokenizer_of(c, m->bearer);
  bool by_server = strcmp(p->tokenizer, "server") == 0;
  struct buffer file, text;
  buffer_init(&file, 256 << 20);
  buffer_init(&text, 64 << 20);
  enum lynx_status status = by_server ? LYNX_OK : root_read(&root, p->tokenizer, &file, m->error);
  if (status == LYNX_OK && !by_server && (status = word_list_read(file.data, file.length, &words, m->error)) != LYNX_OK)
    lynx_error_at(m->error, p->tokenizer, 0, NULL);
  for (size_t i = 0; i < inputs->n_items && status == LYNX_OK; i++) {
    buffer_clear(&text);
    if (by_server) status = prompt_tokens_fit(prompt_tokens_by_server, &server, &m->random, p->tokens, &text, m->error);
    else if (!word_list_text(&words, &m->random, p->tokens, &text))
      status = lynx_fail(m->error, LYNX_LIMIT, "a prompt of %lld tokens is too long", (long long)p->tokens);
    if (status == LYNX_OK) status = account(m, text.length);
    inputs->items[i] = (struct driver_input){.prompt = arena_text(&inputs->arena, text.data != NULL ? text.data : "", text.length),
                                             .length = text.length,
                                             .output_tokens = draw_lengths(m).output_tokens};
  }
  word_list_release(&words);
  buffer_release(&file);
  buffer_release(&text);
  return status;
}

/* --- references --- */

static enum lynx_status read_references(struct making *m) {
  const char *path = m->contract->accuracy.references;
  struct inputs *inputs = m->inputs;
  struct buffer text;
  size_t room = 0;
  int line = 0;
  struct driver_input *items = NULL;
  enum lynx_status status = inputs_read_text(path, &text, m->error);
  for (size_t at = 0; at < text.length && status == LYNX_OK;) {
    const char *end = memchr(text.data + at, '\n', text.length - at);
    size_t n = end != NULL ? (size_t)(end - text.data) - at : text.length - at;
    line++;
    json_t *root = n > 0 ? json_parse(text.data + at, n, 16 << 20, NULL) : NULL;
    const json_t *prompt = json_object_get(root, "prompt"), *output = json_object_get(root, "output");
    if (n > 0 && (!json_is_string(prompt) || !json_is_string(output))) {
      lynx_error_at(m->error, path, line, NULL);
      status = lynx_fail(m->error, LYNX_INPUT, "not an object with a text \"prompt\" and a text \"output\"");
    } else if (n > 0) {
      if (inputs->n_items == room) { /* the arena keeps the old ones: twice the size at most */
        room = room == 0 ? 64 : 2 * room;
        struct driver_input *grown = arena_alloc(&inputs->arena, room, sizeof *grown);
        const char **references = arena_alloc(&inputs->arena, room, sizeof *references);
        if (items != NULL) memcpy(grown, items, inputs->n_items * sizeof *grown);
        if (inputs->references != NULL) memcpy(references, inputs->references, inputs->n_items * sizeof *references);
        items = grown;
        inputs->references = references;
      }
      lynx_assert(items != NULL && inputs->references != NULL);
      size_t length = json_string_length(prompt);
      items[inputs->n_items] = (struct driver_input){.prompt = arena_text(&inputs->arena, json_string_value(prompt), length),
                                                     .length = length,
                                                     .output_tokens = m->contract->workload.output_tokens};
      inputs->references[inputs->n_items++] = arena_text(&inputs->arena, json_string_value(output), json_string_length(output));
    }
    json_decref(root);
    at += n + 1;
  }
  inputs->items = items;
  if (status == LYNX_OK && inputs->n_items == 0) {
    lynx_error_at(m->error, path, 0, NULL);
    status = lynx_fail(m->error, LYNX_INPUT, "no line {\"prompt\": ..., \"output\": ...} in it");
  }
  buffer_release(&text);
  return status;
}

/* --- the whole --- */

static enum lynx_status read_profile(struct making *m) {
  const char *path = m->contract->workload.profile_file;
  if (path == NULL) return LYNX_OK;
  struct buffer text;
  enum lynx_status status = inputs_read_text(path, &text, m->error);
  if (status == LYNX_OK) status = profile_read(text.data, text.length, &m->profile, m->error);
  m->has_profile = status == LYNX_OK;
  const struct contract_workload *w = &m->contract->workload;
  bool drawn = w->output_distribution == LENGTH_PROFILE || w->prompts.distribution == LENGTH_PROFILE;
  if (status == LYNX_OK && drawn && m->profile.n_pairs == 0)
    status = lynx_fail(m->error, LYNX_INPUT, "it holds no lengths to draw from: what it was made of does not say them");
  if (status != LYNX_OK) lynx_error_at(m->error, path, 0, NULL);
  buffer_release(&text);
  return status;
}

enum lynx_status inputs_make(const struct contract *contract, const char *bearer, struct inputs *ret, struct lynx_error *error) {
  const struct contract_workload *w = &contract->workload;
  struct lynx_error own = {0};
  *ret = (struct inputs){.turns = contract->regime.load == LOAD_CONVERSATIONS ? (uint32_t)contract->regime.turns : 1};
  struct making m = {.contract = contract, .bearer = bearer, .inputs = ret, .error = error != NULL ? error : &own};
  random_init(&m.random, (uint64_t)contract->method.seed, "prompts");
  enum lynx_status status = read_profile(&m);
  bool cut = w->prompts.file != NULL && w->prompts.format == PROMPTS_TEXT;
  if (status == LYNX_OK && cut) status = inputs_read_text(w->prompts.file, &m.text, m.error);
  if (status == LYNX_OK && cut) status = check_text(&m.text, w->prompts.file, m.error);
  if (status == LYNX_OK && contract->regime.load == LOAD_REPLAY) status = read_trace(&m);
  else if (status == LYNX_OK && contract_states(contract, "accuracy") && contract->accuracy.references != NULL)
    status = read_references(&m);
  else if (status == LYNX_OK) {
    ret->n_items = (size_t)w->prompts.count;
    ret->items = arena_alloc(&ret->arena, ret->n_items, sizeof *ret->items);
    status = w->prompts.format != PROMPTS_TEXT                      ? make_listed(&m)
             : contract_states(contract, "workload.prompts.tokens") ? make_exact(&m)
                                                                    : make_drawn(&m);
    for (size_t i = 0; w->prompts.image != NULL && i < ret->n_items && status == LYNX_OK; i++)
      if (ret->items[i].image == NULL) status = add_picture(&m, &ret->items[i], NULL, i);
  }
  ret->n_order = ret->n_items / ret->turns;
  ret->order = arena_alloc(&ret->arena, ret->n_order + 1, sizeof *ret->order);
  for (size_t i = 0; i < ret->n_order; i++) ret->order[i] = (uint32_t)i;
  buffer_release(&m.text);
  profile_release(&m.profile);
  return status;
}

void inputs_shuffle(struct inputs *inputs, uint64_t seed) {
  struct random_stream random;
  if (inputs->fixed_order) return;
  random_init(&random, seed, "input order");
  for (size_t i = 0; i < inputs->n_order; i++) inputs->order[i] = (uint32_t)i;
  for (size_t i = inputs->n_order; i > 1; i--) {
    size_t k = random_below(&random, i);
    uint32_t kept = inputs->order[i - 1];
    inputs->order[i - 1] = inputs->order[k];
    inputs->order[k] = kept;
  }
}

void inputs_release(struct inputs *inputs) {
  arena_release(&inputs->arena);
  *inputs = (struct inputs){0};
}
