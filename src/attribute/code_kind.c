#include "attribute/code_kind.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"

/* --- whose --- */

static bool begins_with_one(const char *text, const char *const *begins, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strncmp(text, begins[i], strlen(begins[i])) == 0) return true;
  return false;
}

static bool holds_one(const char *text, const char *const *parts, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strstr(text, parts[i]) != NULL) return true;
  return false;
}

/* What compilers add to the name of a part of a function: "uv__async_io.part.0". */
static bool is_suffix(const char *dot) {
  static const char *const suffixes[] = {".part.", ".cold", ".isra.", ".constprop.", ".llvm.", ".lto_priv.", ".clone."};
  return begins_with_one(dot, suffixes, LYNX_COUNT(suffixes));
}

/* "net/http.(*conn).serve": packages of Go's own have no dot before their first '/', and are not "main". Names of C hold no dot. */
static bool is_go(const char *function) {
  const char *dot = strchr(function, '.');
  return dot != NULL && dot != function && function[0] != '_' && !is_suffix(dot);
}

static bool is_go_library(const char *function) {
  size_t first = strcspn(function, "/."); /* up to the first '/' of a path, or the dot behind a package without one */
  return strncmp(function, "main.", 5) != 0 && (function[first] == '.' ? strchr(function + first, '/') == NULL : true);
}

/* The crate is the first part of an old name, and stands behind the number of its digits in a new one. */
static bool is_rust_library(const char *function) {
  static const char *const old[] = {"_ZN3std", "_ZN4core", "_ZN5alloc", "_ZN5tokio", "_ZN9hashbrown", "_ZN3mio", "_ZN5hyper"};
  static const char *const new[] = {"_3std", "_4core", "_5alloc", "_5tokio", "_9hashbrown", "_3mio", "_5hyper"};
  if (begins_with_one(function, old, LYNX_COUNT(old))) return true;
  if (strncmp(function, "_ZN", 3) == 0) { /* "<core..ops..range..Range<T> as ...>": of an implementation, whose it is */
    const char *of = function + 3 + strspn(function + 3, "0123456789_");
    static const char *const of_library[] = {"$LT$core..", "$LT$alloc..", "$LT$std..", "$LT$I$u20$as$u20$core",
                                             "$LT$usize",  "$LT$f32",     "$LT$$RF$",  "$LT$T$"};
    return begins_with_one(of, of_library, LYNX_COUNT(of_library));
  }
  return strncmp(function, "_R", 2) == 0 && holds_one(function, new, LYNX_COUNT(new));
}

bool code_is_language(const char *function) {
  static const char *const begins[] = {"_ZNSt",   "_ZNKSt",    "_ZSt",      "_ZN9__gnu_cxx",  "_ZNK9__gnu_cxx", "_ZN2v8",
                                       "_ZNK2v8", "_ZN4node",  "_ZNK4node", "_ZThn56_N4node", "_ZZN4node",      "uv_",
                                       "uv__",    "Builtins_", "_start",    "__libc_",        "std::sys::",     "__rust_"};
  if (is_go(function)) return is_go_library(function);
  return begins_with_one(function, begins, LYNX_COUNT(begins)) || is_rust_library(function) || strcmp(function, "worker") == 0;
}

bool code_is_script(const char *function) {
  static const char *const begins[] = {"JS:", "LazyCompile:", "Function:", "InterpretedFunction:"};
  return begins_with_one(function, begins, LYNX_COUNT(begins));
}

bool code_parks(const char *function) {
  static const char *const parks[] = {"runtime.stopm",
                                      "runtime.findRunnable",
                                      "runtime.findrunnable",
                                      "runtime.sysmon",
                                      "runtime.templateThread",
                                      "runtime.gcBgMarkWorker",
                                      "runtime.startlockedm",
                                      "os/signal.signal_recv",
                                      "runtime.ensureSigM",
                                      "uv__io_poll",
                                      "6Parker4park", /* of a JVM: an idle pool's threads, or a lock's: which, it does not say */
                                      "PlatformWorkerThread",
                                      "DelayedTaskScheduler",
                                      "WorkerThreadsTaskRunner",
                                      "StartInspectorThread",
                                      "rayon_core5sleep",
                                      "tokio7runtime4park",
                                      "tokio7runtime8blocking4pool",
                                      "tokio7runtime9scheduler12multi_thread6worker"};
  return holds_one(function, parks, LYNX_COUNT(parks)) || strcmp(function, "worker") == 0;
}

bool code_parks_goroutine(const char *function) {
  return strncmp(function, "runtime.gopark", 14) == 0;
}

/* --- which work --- */

/* Part of a name, in lower case; a '.' or '_' at an end stands for itself. The first that fits decides: what a thing is made of comes last. */
static const struct {
  const char *part;
  size_t work;
} words[] = {{"json", 0},
             {"pbkdf2", 1},
             {"bcrypt", 1},
             {"scrypt", 1},
             {"argon2", 1},
             {"sha1", 2},
             {"sha256", 2},
             {"sha512", 2},
             {"sha3", 2},
             {"md5", 2},
             {"hash3sip", 2},
             {"siphash", 2},
             {"sip13", 2},
             {"defaulthasher", 2},
             {"hash_bytes", 2},
             {"xxh3", 2},
             {"xxh64", 2},
             {"murmur", 2},
             {"crc32", 2},
             {"hash/fnv", 2},
             {"hash/maphash", 2},
             {"memhash", 2},
             {"blake2", 2},
             {"blake3", 2},
             {"hmac_", 2},
             {"crypto/hmac", 2},
             {"crypto/sha", 2},
             {"evp_digest", 2},
             {"evp_encrypt", 2},
             {"evp_decrypt", 2},
             {"aesni_", 2},
             {"crypto/aes", 2},
             {"rsa_", 2},
             {"ecdsa", 2},
             {"deflate", 3},
             {"inflate", 3},
             {"gzip", 3},
             {"brotli", 3},
             {"zstd_", 3},
             {"lz4_", 3},
             {"compress/", 3},
             {"flate", 3},
             {"regex", 4},
             {"regexp", 4},
             {"_zn3re2", 4},
             {"irregexp", 4},
             {"pcre", 4},
             {"protobuf", 5},
             {"msgpack", 5},
             {"cbor", 5},
             {"encoding/gob", 5},
             {"encoding/xml", 5},
             {"yaml", 5},
             {"serde", 5},
             {"sqlite3", 6},
             {"getaddrinfo", 7},
             {"res_query", 7},
             {"std2fs", 8},
             {"fs4read", 8},
             {"os.readfile", 8},
             {"os.writefile", 8},
             {"fopen", 8},
             {"fread", 8},
             {"ifstream", 8},
             {"basic_filebuf", 8},
             {"utf8", 9},
             {"unicode", 9},
             {"strconv.", 9},
             {"fmt.sprint", 9},
             {"fmt.fprint", 9},
             {"vfprintf", 9},
             {"vsnprintf", 9},
             {"fmt6format", 9},
             {"basic_ostringstream", 9},
             {"basic_stringstream", 9},
             {"levenshtein", 9},
             {"std4sort", 10},
             {"sort.", 10},
             {"__introsort", 10},
             {"slice4sort", 10},
             {"runtime.gcdrain", 11},
             {"runtime.gcbgmarkworker", 11},
             {"runtime.gcassist", 11},
             {"runtime.scanobject", 11},
             {"runtime.bgsweep", 11},
             {"runtime.greyobject", 11},
             {"markcompact", 11},
             {"scaveng", 11},
             {"collectgarbage", 11},
             {"concurrentmark", 11},
             {"gc_collect", 11},
             {"malloc_trim", 12},
             {"madvise", 12},
             {"munmap", 12},
             {"valueserializer", 5},
             {"valuedeserializer", 5},
             {"structuredclone", 5},
             {"tokeniz", 15},
             {"detok", 15},
             {"bpe_", 15},
             {"memcpy", 14},
             {"memmove", 14},
             {"pthread_create", 13},
             {"libc_fork", 13},
             {"posix_spawn", 13}};

static const char once[] = "do it once for many tokens or answers, or not at all; else by a faster library, or behind the answer";

static const struct code_work works[] = {
    {"JSON", "whether that much has to be written or read again for every token", once, false},
    {"deriving keys from passwords", "whether every request needs a key of its own", "derive it once, and keep the key", false},
    {"hashes and ciphers", "whether all of that has to be gone through for every token", once, false},
    {"compression", "whether the answer gains by it", "compress less, or larger pieces, or leave it to a proxy", false},
    {"regular expressions", "whether the text is gone through again for every token", once, false},
    {"writing objects as messages or copies, and reading them", "whether that much has to be written or read again for every token", once,
     false},
    {"a database in the process", "which statements those are", "keep what is asked again and again, or ask for it behind the answer",
     false},
    {"names of hosts", "which names are looked up", "keep connections open, or the addresses", false},
    {"files", "which files those are, and whether they change", "read them once, and keep what they hold", false},
    {"texts and their forms", "whether the text is made again for every token", once, false},
    {"sorting", "whether all of it has to be sorted for every token", once, false},
    {"collecting garbage", "which objects those are",
     "make fewer objects for each token, or give the heap more room (GOGC, GOMEMLIMIT, "
     "--max-semi-space-size, gc.freeze)",
     true},
    {"giving memory back and taking it again", "who frees that much for each token", "keep buffers and use them again", true},
    {"starting threads and processes", "what is started for each token or request", "keep them, and hand them the next work", true},
    {"copying memory", "what is copied for each token", "pass it on where it lies, or copy only what is new", true},
    {"tokenizing", "whether all of the text has to be gone through again", once, false}};

const struct code_work *code_work_of(const char *function) {
  char lower[256];
  size_t n = 0;
  for (; n < sizeof lower - 1 && function[n] != 0; n++) lower[n] = (char)tolower((unsigned char)function[n]);
  lower[n] = 0;
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strstr(lower, words[i].part) != NULL) return &works[words[i].work];
  return NULL;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

bool code_is_unoptimised(const char *function) {
  static const char *const checks[] = {"precondition_check", "4core4iter5range", "..ops..range..Range", "iter..range..Step"};
  static const char *const begins[] = {"_ZN9__gnu_cxx17__normal_iterator",
                                       "_ZNK9__gnu_cxx17__normal_iterator",
                                       "_ZN9__gnu_cxxeqI",
                                       "_ZN9__gnu_cxxneI",
                                       "_ZN9__gnu_cxxmiI",
                                       "_ZSt7forwardI",
                                       "_ZSt4moveI",
                                       "_ZSt3minI",
                                       "_ZSt3maxI"};
  static const char *const ends[] = {"EixEm", "E5beginEv", "E3endEv", "E4sizeEv", "E4dataEv", "EptEv", "EdeEv", "E3getEv"};
  if (holds_one(function, checks, LYNX_COUNT(checks)) || begins_with_one(function, begins, LYNX_COUNT(begins))) return true;
  bool of_std = strncmp(function, "_ZNSt", 5) == 0 || strncmp(function, "_ZNKSt", 6) == 0;
  for (size_t i = 0; of_std && i < LYNX_COUNT(ends); i++)
    if (ends_with(function, ends[i])) return true;
  return false;
}
