/* What linkers' names say of functions: whose they are, what they do, where threads have nothing to do. */
#include "attribute/code_kind.h"

#include "attribute/live_module.h"
#include "attribute/live_shape.h"
#include "tests/check.h"

static void check_whose(void) {
  static const char *const languages[] = {"net/http.(*conn).serve",
                                          "runtime.gopark",
                                          "encoding/json.Marshal",
                                          "time.Sleep",
                                          "_ZNSt6vectorIfSaIfEEixEm",
                                          "_ZSt4sortIPfEvT_S1_",
                                          "_ZN3std6thread5sleep17h0123456789abcdefE",
                                          "_RNvNtNtCsgEmfK2I1SDS_4core3fmt5write",
                                          "_ZN2v88internal9Execution4CallE",
                                          "uv__io_poll"};
  static const char *const own[] = {
      "main.runEngine",     "github.com/team/app/queue.(*Queue).take", "engine_step",
      "engine_step.part.0", "_ZL9ask_shardRSt6vectorIfSaIfEE",         "_ZN6rserve12load_adapter17h2bee5c2e7de39d7aE",
      "_ZN5llama6decodeE"};
  for (size_t i = 0; i < LYNX_COUNT(languages); i++) CHECK(code_is_language(languages[i]));
  for (size_t i = 0; i < LYNX_COUNT(own); i++) CHECK(!code_is_language(own[i]));
}

static void check_parks(void) {
  CHECK(code_parks("runtime.stopm") && code_parks("runtime.sysmon") && code_parks("uv__io_poll") && code_parks("worker"));
  CHECK(!code_parks("main.worker") && !code_parks("workers_step") && !code_parks("pthread_cond_wait"));
  CHECK(code_parks_goroutine("runtime.gopark") && !code_parks_goroutine("runtime.goexit1"));
}

static void check_work(void) {
  static const struct {
    const char *function, *name;
  } cases[] = {{"encoding/json.Marshal", "JSON"},
               {"_ZN8nlohmann10basic_jsonE", "JSON"},
               {"_ZN2v88internal14JsonStringifier9SerializeE", "JSON"},
               {"kdf_pbkdf2_derive", "deriving keys from passwords"},
               {"SHA256_Final", "hashes and ciphers"},
               {"ZSTD_compressBlock", "compression"},
               {"compress/flate.(*compressor).deflate", "compression"},
               {"regexp.(*Regexp).FindAllString", "regular expressions"},
               {"runtime.gcBgMarkWorker", "collecting garbage"},
               {"_RNvNvNtCsjrHSEGnQ3l9_3std2fs4read5inner", "files"}};
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    const struct code_work *work = code_work_of(cases[i].function);
    CHECK(work != NULL);
    CHECK_TEXT(work->name, cases[i].name);
  }
  static const char *const none[] = {
      "main.matvec", "_ZN6rserve6matvec17h34d9c9b4b39cba58E", "sgemm_kernel", "core_loop", "forkjoin_step", ""};
  for (size_t i = 0; i < LYNX_COUNT(none); i++) CHECK(code_work_of(none[i]) == NULL);
  CHECK(code_work_of("runtime.gcDrain")->of_runtime && !code_work_of("encoding/json.Marshal")->of_runtime);
}

static void check_builds(void) {
  static const char *const of_debug[] = {"_ZNSt6vectorIfSaIfEEixEm", "_ZNKSt6vectorIfSaIfEE4sizeEv",
                                         "_ZN9__gnu_cxx17__normal_iteratorIPfSt6vectorIfSaIfEEEppEv", "_ZSt7forwardIiEOT_",
                                         "_ZN4core5slice3raw14from_raw_parts18precondition_check17h722af22f5a628403E"};
  static const char *const of_any[] = {"_ZNSt6vectorIfSaIfEE17_M_realloc_insertIJfEEEvN9__gnu_cxx17__normal_iteratorIPfS1_EEDpOT_",
                                       "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPfSt6vectorIfSaIfEEEElEvT_S6_T0_",
                                       "_ZN6engine4sizeEv", "main.size"};
  for (size_t i = 0; i < LYNX_COUNT(of_debug); i++) CHECK(code_is_unoptimised(of_debug[i]));
  for (size_t i = 0; i < LYNX_COUNT(of_any); i++) CHECK(!code_is_unoptimised(of_any[i]));
}

static void check_names(void) {
  static const struct {
    const char *symbol, *text;
  } cases[] = {{"_ZL9ask_shardRSt6vectorIfSaIfEE", "ask_shard"},
               {"_ZN6rserve12load_adapter17h2bee5c2e7de39d7aE", "rserve::load_adapter"},
               {"_RNvNvNtCsjrHSEGnQ3l9_3std2fs4read5inner", "std::fs::read::inner"},
               {"_ZThn56_N4node6crypto9CryptoJobE", "node::crypto::CryptoJob"},
               {"main.:*allowance:.take", "main.(*allowance).take"},
               {"JS:*signToken /srv/server.js:12:3", "signToken"},
               {"JS:~ /srv/server.js:1:1", "JS:~ /srv/server.js:1:1"},
               {"_R", "_R"},
               {"_RNvB9", "_RNvB9"},
               {"_ZTh", "_ZTh"},
               {"a.:*b", "a.:*b"},
               {"plain_c", "plain_c"}};
  struct arena arena = {.blocks = NULL};
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) CHECK_TEXT(live_symbol_text(&arena, cases[i].symbol), cases[i].text);
  arena_release(&arena);
}

static enum live_kernel_kind kind_of(const char *function) {
  const char *name;
  return live_kernel_kind_of(function, &name);
}

static void check_kernels(void) {
  CHECK_INT(kind_of("_aligned_contig_cast_float_to_double"), LIVE_CONVERTING);
  CHECK_INT(kind_of("_aligned_strided_to_contig_size4"), LIVE_COPYING);
  CHECK_INT(kind_of("_ZN2at6native12_GLOBAL__N_122direct_copy_kernel_cpuE"), LIVE_COPYING);
  CHECK_INT(kind_of("sgemm_kernel_SKYLAKEX"), LIVE_ORDINARY);
  CHECK(live_is_c_library("libc.so.6") && live_is_c_library("libc-2.31.so") && !live_is_c_library("libcrypto.so.3"));
}

int main(void) {
  check_kernels();
  check_whose();
  check_parks();
  check_work();
  check_builds();
  check_names();
  return check_end();
}
