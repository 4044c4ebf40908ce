#include "verify/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/file.h"
#include "ledger/blob.h"

/* --- ustar (POSIX 1003.1, pax interchange, 4.6): a head of 512 bytes, then the bytes, to a multiple of 512 --- */

enum { BLOCK = 512 };
#define FILE_MAX_BYTES (((int64_t)1 << 33) - 1)

struct tar {
  int fd;
  int64_t time_s;
  struct buffer sums; /* sha256sum's own format */
  enum lynx_status status;
  struct lynx_error *error;
};

static void tar_bytes(struct tar *t, const void *data, size_t length) {
  if (t->status == LYNX_OK && !file_write_all(t->fd, data, length))
    t->status = lynx_fail(t->error, LYNX_IO, "cannot be written: %s", strerror(errno));
}

static void tar_head(struct tar *t, const char *name, int64_t length, bool executable) {
  char head[BLOCK] = "";
  unsigned sum = 0;
  if (strlen(name) > 99 || length > FILE_MAX_BYTES) {
    t->status = t->status == LYNX_OK ? lynx_fail(t->error, LYNX_LIMIT, "%.80s: a name or a file that a tar archive does not hold", name)
                                     : t->status;
    return;
  }
  (void)snprintf(head, 100, "%s", name);
  (void)snprintf(head + 100, 8, "%07o", executable ? 0755u : 0644u);
  (void)snprintf(head + 108, 8, "%07o", 0u);
  (void)snprintf(head + 116, 8, "%07o", 0u);
  (void)snprintf(head + 124, 12, "%011" PRIo64, (uint64_t)length);
  (void)snprintf(head + 136, 12, "%011" PRIo64, (uint64_t)t->time_s & 077777777777);
  memset(head + 148, ' ', 8);
  head[156] = '0';
  memcpy(head + 257, "ustar\00000", 8);
  for (int i = 0; i < BLOCK; i++) sum += (uint8_t)head[i];
  (void)snprintf(head + 148, 7, "%06o", sum);
  tar_bytes(t, head, sizeof head);
}

static void tar_pad(struct tar *t, int64_t length) {
  static const char zeros[2 * BLOCK];
  if (length % BLOCK != 0) tar_bytes(t, zeros, (size_t)(BLOCK - length % BLOCK));
}

static void note_sum(struct tar *t, const uint8_t digest[DIGEST_BYTES], const char *name) {
  char hex[DIGEST_HEX];
  const char *inside = strchr(name, '/'); /* the archive's one folder */
  if (!buffer_printf(&t->sums, "%s  %s\n", digest_hex(digest, hex), inside != NULL ? inside + 1 : name) && t->status == LYNX_OK)
    t->status = lynx_fail(t->error, LYNX_LIMIT, "too many files for one archive");
}

static void tar_member(struct tar *t, const char *name, struct bytes bytes) {
  uint8_t digest[DIGEST_BYTES];
  digest_of(bytes.ptr, bytes.length, digest);
  note_sum(t, digest, name);
  tar_head(t, name, (int64_t)bytes.length, strcmp(name + strlen(name) - 3, ".sh") == 0);
  tar_bytes(t, bytes.ptr, bytes.length);
  tar_pad(t, (int64_t)bytes.length);
}

static void tar_file(struct tar *t, const char *name, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  struct digest digest = {{0}};
  uint8_t sum[DIGEST_BYTES];
  static const size_t part = 1 << 16;
  char *bytes = xalloc(part, 1);
  int64_t left = 0;
  if (fd < 0 || fstat(fd, &info) != 0)
    t->status = t->status == LYNX_OK ? lynx_fail(t->error, LYNX_IO, "%s: %s", path, strerror(errno)) : t->status;
  else {
    left = info.st_size;
    tar_head(t, name, info.st_size, false);
  }
  digest_init(&digest);
  while (left > 0 && t->status == LYNX_OK) {
    ssize_t n = read(fd, bytes, left < (int64_t)part ? (size_t)left : part);
    if (n <= 0) t->status = lynx_fail(t->error, LYNX_IO, "%s: it became shorter while it was read", path);
    else {
      digest_update(&digest, bytes, (size_t)n);
      tar_bytes(t, bytes, (size_t)n);
      left -= n;
    }
  }
  if (t->status == LYNX_OK) {
    digest_final(&digest, sum);
    note_sum(t, sum, name);
    tar_pad(t, info.st_size);
  }
  free(bytes);
  if (fd >= 0) (void)close(fd); /* it was read */
}

/* --- what is in it --- */

static const char folder[] = "evidence";

static const char instructions[] =
    "What this is\n"
    "============\n"
    "The record of one measurement, what teams signed about it, and proofs that their signatures stand in a ledger. No program of\n"
    "lynxbench's is needed to check it: a shell, openssl (3.0 or later) and sha256sum do.\n"
    "\n"
    "    sh verify.sh\n"
    "\n"
    "verify.sh came with this archive: whoever sent it to you can have written another one. Read it first (it is short), or use\n"
    "lynxbench audit on your own copy, or do its steps by hand. As it was made it reads only this folder. Step by step it does what you "
    "can do by hand:\n"
    "1. sha256sum -c SHA256SUMS: no file was damaged on its way. (Whoever alters files can make these sums again: the rest is for that.)\n"
    "2. checkpoint/: text.txt says how many entries the ledger had and the root of their tree; signature.bin is the log's signature of\n"
    "   it, which openssl pkeyutl -verify holds against log.pub.pem.\n"
    "3. entries/N-KIND/: envelope.json is what was signed, in a DSSE envelope: the signature is over the bytes\n"
    "   DSSEv1 LENGTH TYPE LENGTH PAYLOAD, where payload.json is PAYLOAD. team.pub.pem is the key of the team that signed, the same as\n"
    "   the one in its line of keys.txt, which envelope.json's keyid names.\n"
    "4. The same folder's path.txt leads from the entry to the root: start with SHA-256 of a zero byte and envelope.json; for each line,\n"
    "   'L' means SHA-256 of a one byte, the hash given, the hash so far; 'R' a one byte, the hash so far, the hash given. The last\n"
    "   one is the root in checkpoint/text.txt (there in base64).\n"
    "5. bundle.lynx has the SHA-256 that the entry of kind 'bundle' names as its subject 'file'.\n"
    "\n"
    "What it does not show: that the keys are those teams' keys. Ask each team for its key by another way (one line, NAME+ID+KEY) and "
    "hold\n"
    "it against keys.txt: everything rests on that. No signature covers claim.txt, report.html, the audit and contract.yaml: they follow "
    "from\n"
    "bundle.lynx, and `lynxbench show` and `audit` make them from it again. Nor that the ledger's keeper shows everybody the same "
    "ledger: witnesses' cosignatures, where there are any,\n"
    "are in checkpoint/note.txt. Nor that the figures follow from the rows: `lynxbench audit bundle.lynx` recomputes them, and audit.html\n"
    "is what that gave when this archive was made.\n";

static const char script[] =
    "#!/bin/sh\n"
    "# Checks this archive with openssl and sha256sum alone; README.txt says what each step means.\n"
    "cd \"$(dirname \"$0\")\" || exit 2\n"
    "failed=0\n"
    "say() { printf '%-8s %s\\n' \"$1\" \"$2\"; [ \"$1\" = holds ] || failed=1; }\n"
    "# The line of keys.txt that a key in PEM belongs to: NAME+ID+base64 of a one byte and the key.\n"
    "line_of() { printf '%s+%s\\n' \"$1\" \"$({ printf '\\001'; openssl pkey -pubin -in \"$2\" -outform DER | tail -c 32; } | openssl "
    "base64 -A)\"; }\n"
    "if sha256sum -c --quiet SHA256SUMS; then say holds 'no file was damaged on its way'; else say FAILS 'files are damaged or altered'; "
    "fi\n"
    "origin=$(sed -n 1p checkpoint/text.txt)\n"
    "log=$(sed -n 1p keys.txt)\n"
    "id=${log#*+}; id=${id%%+*}\n"
    "if [ \"$(line_of \"$origin+$id\" checkpoint/log.pub.pem)\" = \"$log\" ]; then say holds \"the log's key is the first line of "
    "keys.txt\"\n"
    "else say FAILS \"checkpoint/log.pub.pem is not the key of keys.txt's first line\"; fi\n"
    "if openssl pkeyutl -verify -pubin -inkey checkpoint/log.pub.pem -rawin -in checkpoint/text.txt -sigfile checkpoint/signature.bin "
    ">/dev/null 2>&1\n"
    "then say holds \"the log signed: $(sed -n 2p checkpoint/text.txt) entries of $(sed -n 1p checkpoint/text.txt)\"\n"
    "else say FAILS 'the log did not sign this checkpoint'; fi\n"
    "root=$(sed -n 3p checkpoint/text.txt | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')\n"
    "work=$(mktemp -d) || exit 2\n"
    "trap 'rm -rf \"$work\"' EXIT\n"
    "file=none\n"
    "for entry in entries/*/; do\n"
    "  name=$(basename \"$entry\")\n"
    "  sed -n 's/.*\"payload\":\"\\([^\"]*\\)\".*/\\1/p' \"$entry/envelope.json\" | openssl base64 -d -A >\"$work/payload\"\n"
    "  sed -n 's/.*\"sig\":\"\\([^\"]*\\)\".*/\\1/p' \"$entry/envelope.json\" | openssl base64 -d -A >\"$work/signature\"\n"
    "  type=$(sed -n 's/.*\"payloadType\":\"\\([^\"]*\\)\".*/\\1/p' \"$entry/envelope.json\")\n"
    "  { printf 'DSSEv1 %d %s %d ' \"${#type}\" \"$type\" \"$(wc -c <\"$work/payload\")\"; cat \"$work/payload\"; } >\"$work/signed\"\n"
    "  keyid=$(sed -n 's/.*\"keyid\":\"\\([^\"]*\\)\".*/\\1/p' \"$entry/envelope.json\")\n"
    "  if cmp -s \"$work/payload\" \"$entry/payload.json\" && sed 1d keys.txt | grep -qxF -- \"$(line_of \"$keyid\" "
    "\"$entry/team.pub.pem\")\" &&\n"
    "    openssl pkeyutl -verify -pubin -inkey \"$entry/team.pub.pem\" -rawin -in \"$work/signed\" -sigfile \"$work/signature\" >/dev/null "
    "2>&1\n"
    "  then say holds \"$name: signed by ${keyid%%+*}, by its key in keys.txt\"; else say FAILS \"$name: the signature\"; fi\n"
    "  { printf '\\000'; cat \"$entry/envelope.json\"; } | openssl dgst -sha256 -binary >\"$work/hash\"\n"
    "  while read -r side hash; do\n"
    "    printf '%s' \"$hash\" | openssl base64 -d -A >\"$work/given\"\n"
    "    if [ \"$side\" = L ]; then set -- \"$work/given\" \"$work/hash\"; else set -- \"$work/hash\" \"$work/given\"; fi\n"
    "    { printf '\\001'; cat \"$1\" \"$2\"; } | openssl dgst -sha256 -binary >\"$work/next\"\n"
    "    mv \"$work/next\" \"$work/hash\"\n"
    "  done <\"$entry/path.txt\"\n"
    "  if [ \"$(od -An -v -tx1 \"$work/hash\" | tr -d ' \\n')\" = \"$root\" ]\n"
    "  then say holds \"$name: is in the log\"; else say FAILS \"$name: its path does not lead to the log's root\"; fi\n"
    "  case $name in *-bundle)\n"
    "    named=$(sed -n 's/.*\"name\":\"file\",\"digest\":{\"sha256\":\"\\([0-9a-f]*\\)\".*/\\1/p' \"$work/payload\")\n"
    "    [ \"$named\" = \"$(sha256sum <bundle.lynx | cut -d' ' -f1)\" ] && file=$name ;;\n"
    "  esac\n"
    "done\n"
    "if [ \"$file\" != none ]; then say holds \"bundle.lynx is the file that $file records\"; else say FAILS 'no entry records this "
    "bundle.lynx'; fi\n"
    "echo 'no signature covers claim.txt, report.html, audit.html, audit.txt and contract.yaml: they follow from bundle.lynx (lynxbench "
    "show, audit)'\n"
    "if [ \"$failed\" = 0 ]; then echo 'all that is signed holds, if the keys in keys.txt are those teams keys'; else echo 'it does NOT "
    "hold'; fi\n"
    "exit \"$failed\"\n";

struct packing {
  const struct evidence_request *request;
  struct tar *tar;
  struct checkpoint checkpoint;
  uint64_t *indices;
  size_t n_indices;
  struct note_key *keys; /* of whoever signed one of them */
  size_t n_keys;
};

static void note_signer(struct packing *p, const struct ledger_entry *entry) {
  const struct policy_team *team = policy_signer(ledger_policy_at(p->request->ledger, entry->index), &entry->envelope);
  if (team == NULL) return; /* told when it is packed */
  for (size_t i = 0; i < p->n_keys; i++)
    if (memcmp(&p->keys[i], &team->key, sizeof team->key) == 0) return;
  p->keys = xgrow(p->keys, p->n_keys + 1, sizeof *p->keys);
  p->keys[p->n_keys++] = team->key;
}

static bool take_index(void *context, const struct ledger_entry *entry, const char *subject) {
  struct packing *p = context;
  (void)subject;
  note_signer(p, entry);
  for (size_t i = 0; i < p->n_indices; i++)
    if (p->indices[i] == entry->index) return true;
  p->indices = xgrow(p->indices, p->n_indices + 1, sizeof *p->indices);
  p->indices[p->n_indices++] = entry->index;
  return true;
}

static void put_text(struct packing *p, const char *name, struct bytes bytes) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  tar_member(p->tar, path, bytes);
}

/* On which side the neighbour stands, as merkle_inclusion_holds climbs. */
static bool put_path(const struct merkle_proof *proof, uint64_t index, uint64_t size, struct buffer *out) {
  unsigned n_inner = 0;
  for (uint64_t rest = index ^ (size - 1); rest != 0; rest >>= 1) n_inner++;
  bool good = true;
  for (unsigned i = 0; i < proof->n && good; i++)
    good = buffer_text(out, i < n_inner && (index >> i & 1) == 0 ? "R " : "L ") && base64_encode(out, proof->hashes[i], DIGEST_BYTES) &&
           buffer_text(out, "\n");
  return good;
}

static enum lynx_status pack_entry(struct packing *p, uint64_t index, struct lynx_error *error) {
  struct ledger *ledger = p->request->ledger;
  struct arena arena = {0};
  struct ledger_entry entry;
  struct merkle_proof proof = {.n = 0};
  struct buffer path, pem;
  const struct merkle_source tree = ledger_tree(ledger);
  char name[80];
  buffer_init(&path, 65536);
  buffer_init(&pem, 65536);
  enum lynx_status status = ledger_read_entry(ledger, index, &arena, &entry, error);
  if (status == LYNX_OK) status = merkle_prove_inclusion(&tree, index, p->checkpoint.size, &proof, error);
  const struct policy_team *team = status == LYNX_OK ? policy_signer(ledger_policy_at(ledger, index), &entry.envelope) : NULL;
  if (status == LYNX_OK && team == NULL)
    status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is signed by nobody who was a team of the ledger then", index);
  if (status == LYNX_OK && !(put_path(&proof, index, p->checkpoint.size, &path) && signature_public_pem(team->key.public_key, &pem)))
    status = lynx_fail(error, LYNX_LIMIT, "no memory for a proof");
  const struct {
    const char *file;
    struct bytes bytes;
  } files[] = {{"envelope.json", entry.bytes},
               {"payload.json", status == LYNX_OK ? entry.envelope.payload : (struct bytes){"", 0}},
               {"path.txt", {path.data != NULL ? path.data : "", path.length}},
               {"team.pub.pem", {pem.data, pem.length}}};
  for (size_t i = 0; i < LYNX_COUNT(files) && status == LYNX_OK; i++) {
    (void)snprintf(name, sizeof name, "entries/%06" PRIu64 "-%.20s/%s", index, entry.statement.kind, files[i].file);
    put_text(p, name, files[i].bytes);
  }
  statement_release(&entry.statement);
  arena_release(&arena);
  buffer_release(&path);
  buffer_release(&pem);
  return status;
}

/* The note, its text, the log's signature as bytes, its key. */
static enum lynx_status pack_checkpoint(struct packing *p, struct lynx_error *error) {
  const struct policy *policy = ledger_policy(p->request->ledger);
  struct buffer bytes, pem, value, keys;
  struct note note = {{NULL, 0}, {NULL, 0}};
  char text[NOTE_KEY_TEXT_MAX];
  buffer_init(&bytes, NOTE_MAX);
  buffer_init(&pem, 65536);
  buffer_init(&value, NOTE_MAX);
  buffer_init(&keys, 65536);
  enum lynx_status status = ledger_checkpoint(p->request->ledger, &bytes, &p->checkpoint, error);
  if (status == LYNX_OK) status = note_parse((struct bytes){bytes.data, bytes.length}, &note, error);
  /* The log's own line is the first: its key signed before any witness did. */
  const char *end = status == LYNX_OK ? memchr(note.signatures.ptr, '\n', note.signatures.length) : NULL, *blank = end;
  while (blank != NULL && *blank != ' ') blank--;
  bool good = status == LYNX_OK && base64_decode(&value, blank + 1, (size_t)(end - blank - 1)) && value.length == 4 + SIGNATURE_BYTES &&
              signature_public_pem(policy->log.public_key, &pem) && buffer_printf(&keys, "%s\n", note_key_text(&policy->log, text));
  for (size_t k = 0; k < p->n_keys && good; k++) good = buffer_printf(&keys, "%s\n", note_key_text(&p->keys[k], text));
  if (status == LYNX_OK && !good) status = lynx_fail(error, LYNX_PROTOCOL, "the log's own signature is not the checkpoint's first");
  if (status == LYNX_OK) {
    put_text(p, "checkpoint/note.txt", (struct bytes){bytes.data, bytes.length});
    put_text(p, "checkpoint/text.txt", note.text);
    put_text(p, "checkpoint/signature.bin", (struct bytes){value.data + 4, SIGNATURE_BYTES});
    put_text(p, "checkpoint/log.pub.pem", (struct bytes){pem.data, pem.length});
    put_text(p, "keys.txt", (struct bytes){keys.data, keys.length});
  }
  buffer_release(&bytes);
  buffer_release(&pem);
  buffer_release(&value);
  buffer_release(&keys);
  return status;
}

static enum lynx_status find_entries(struct packing *p, struct lynx_error *error) {
  const struct evidence_request *q = p->request;
  const char *intent = bundle_meta(q->bundle, "ledger_intent"),
             *texts[] = {q->result->seal.root, q->result->contract_digest, intent != NULL ? intent : ""};
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < LYNX_COUNT(texts) && status == LYNX_OK; i++) {
    uint8_t digest[DIGEST_BYTES];
    size_t before = p->n_indices;
    if (hex_decode(texts[i], digest, DIGEST_BYTES)) status = ledger_each_mention(q->ledger, digest, take_index, p, error);
    if (status == LYNX_OK && i == 0 && p->n_indices == before)
      status = lynx_fail(error, LYNX_NOT_FOUND, "the bundle is not in the ledger: `lynxbench ledger put LEDGER BUNDLE` records it");
  }
  return status;
}

struct matching {
  const uint8_t *file;
  bool found;
};

static bool take_match(void *context, const struct ledger_entry *entry, const char *subject) {
  struct matching *m = context;
  m->found = strcmp(entry->statement.kind, "bundle") == 0 && strcmp(subject, "file") == 0;
  return !m->found;
}

/* An archive of another file than the one that was recorded would not hold. */
static enum lynx_status check_file(struct packing *p, struct lynx_error *error) {
  uint8_t file[DIGEST_BYTES];
  int64_t length;
  struct matching m = {.file = file};
  enum lynx_status status = blob_digest_file(p->request->bundle_path, file, &length, error);
  if (status == LYNX_OK) status = ledger_each_mention(p->request->ledger, file, take_match, &m, error);
  if (status == LYNX_OK && !m.found)
    status = lynx_fail(error, LYNX_INPUT,
                       "the file's bytes are not those that were recorded (a section was withheld, or SQLite wrote it again); `lynxbench "
                       "ledger get LEDGER ROOT` gives the recorded one");
  return status;
}

static enum lynx_status pack(struct packing *p, struct lynx_error *error) {
  const struct evidence_request *q = p->request;
  const char *contract = bundle_meta(q->bundle, "contract");
  char path[64];
  enum lynx_status status = find_entries(p, error);
  if (status == LYNX_OK) status = check_file(p, error);
  if (status != LYNX_OK) return status;
  put_text(p, "README.txt", bytes_of(instructions));
  put_text(p, "verify.sh", bytes_of(script));
  if (contract != NULL) put_text(p, "contract.yaml", bytes_of(contract));
  put_text(p, "report.html", q->report_html);
  put_text(p, "audit.html", q->audit_html);
  put_text(p, "audit.txt", q->audit_text);
  put_text(p, "claim.txt", q->claim);
  (void)snprintf(path, sizeof path, "%s/bundle.lynx", folder);
  tar_file(p->tar, path, q->bundle_path);
  status = pack_checkpoint(p, error);
  for (size_t i = 0; i < p->n_indices && status == LYNX_OK; i++) status = pack_entry(p, p->indices[i], error);
  if (status == LYNX_OK) put_text(p, "SHA256SUMS", (struct bytes){p->tar->sums.data, p->tar->sums.length});
  static const char end[2 * BLOCK];
  tar_bytes(p->tar, end, sizeof end);
  return status == LYNX_OK ? p->tar->status : status;
}

enum lynx_status evidence_write(const struct evidence_request *request, size_t *ret_n_entries, struct lynx_error *error) {
  char temporary[4200];
  struct tar tar = {.time_s = request->now_s, .error = error};
  struct packing p = {.request = request, .tar = &tar};
  lynx_error_at(error, request->out_path, 0, NULL);
  struct stat info;
  if (lstat(request->out_path, &info) == 0 && !S_ISREG(info.st_mode)) /* a rename would put a file in a device's place */
    return lynx_fail(error, LYNX_INPUT, "found a link, a device or a folder; accepted: a file's name");
  if (!file_temporary_name(request->out_path, temporary, sizeof temporary))
    return lynx_fail(error, LYNX_IO, "cannot be created: its name is too long");
  tar.fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (tar.fd < 0) return lynx_fail(error, LYNX_IO, "cannot be created: %s", strerror(errno));
  buffer_init(&tar.sums, 1 << 20);
  enum lynx_status status = pack(&p, error);
  if (status == LYNX_OK && fsync(tar.fd) != 0) status = lynx_fail(error, LYNX_IO, "cannot be written: %s", strerror(errno));
  (void)close(tar.fd); /* synced */
  if (status == LYNX_OK && rename(temporary, request->out_path) != 0)
    status = lynx_fail(error, LYNX_IO, "cannot be written: %s", strerror(errno));
  if (status != LYNX_OK) (void)unlink(temporary); /* half an archive is none */
  *ret_n_entries = p.n_indices;
  buffer_release(&tar.sums);
  free(p.indices);
  free(p.keys);
  return status;
}
