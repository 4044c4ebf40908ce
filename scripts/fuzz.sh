#!/bin/sh
# libFuzzer on every reader, from its corpus, for so many seconds each; two at a time. A finding is kept in build-fuzz/.
# The random numbers begin alike everywhere, so that what one machine finds another does; FUZZ_SEED=0 takes others.
set -eu
seconds=$1
dir=build-fuzz
# Every source is compiled once, whichever readers it is of.
flags="-g -O1 -std=c17 -D_GNU_SOURCE -DLYNX_VERSION=\\\"fuzz\\\" -DTEMPLATES=\\\"$PWD/tests/recorded/bundles\\\" -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -Isrc -I. $(pkg-config --cflags libpq)"
mkdir -p $dir
meson_lists=build/src
[ -f build/build.ninja ] || meson setup build >/dev/null
ninja -C build src/executor/probes_list.c src/result/importers_list.c src/history/series_readers_list.c src/attribute/rules_list.c src/trace/readers_list.c src/ledger/stores_list.c src/experiment/perturbers_list.c src/experiment/slowed_function_module.c src/experiment/slowed_library_object.c src/experiment/take_gpu_kernel.c src/report/report_style.c src/page/page_style.c src/page/site_script.c src/page/site_openapi.c >/dev/null
major=$(sed -n 's/^#define DNNL_VERSION_MAJOR *\([0-9]*\).*/\1/p' /usr/include/oneapi/dnnl/dnnl_version.h)
base=$(ls src/base/*.c)
record=$(ls src/record/*.c)
contract="$(ls src/contract/*.c src/stats/*.c)"
executor="$(ls src/executor/*.c src/executor/probes/*.c) $meson_lists/executor/probes_list.c"
parsers="src/drivers/http_parser.c src/drivers/sse.c src/drivers/dialect.c src/drivers/native.c src/drivers/openai.c src/drivers/piece.c"
common="-lexpat -lpcre2-8 -lyaml -ljansson -lcrypto -lcurl -lm -lpthread -lz"
cat >$dir/build.ninja <<END
rule cc
  command = ${CCACHE:-} clang $flags -MMD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  deps = gcc
rule link
  command = clang -fsanitize=fuzzer,address,undefined \$in \$libraries -o \$out
END
: >$dir/compiled
# build NAME SOURCE ... -lLIBRARY ...
build() {
  name=$1 objects= libraries=
  shift
  for word in tests/fuzz/fuzz_$name.c "$@"; do
    case $word in
    -l*) libraries="$libraries $word" ;;
    *)
      object=$dir/objects/$(echo "$word" | tr / _).o
      objects="$objects $object"
      echo "build $object: cc $word" >>$dir/compiled
      ;;
    esac
  done
  printf 'build %s: link%s\n  libraries =%s\n' "$dir/$name" "$objects" "$libraries" >>$dir/build.ninja
}
result="$(ls src/result/*.c src/result/importers/*.c) $meson_lists/result/importers_list.c"
build yaml $base $contract src/experiment/experiment_plan.c src/experiment/swap.c src/measure/environment.c $executor $common -lhwloc -lelf
build http $base $parsers $common
build watch $base $parsers src/drivers/answer.c src/drivers/model_answer.c src/load/events.c src/load/driver.c src/watch/connections.c src/watch/conversation.c src/watch/packet.c src/watch/request_reader.c src/watch/stream.c src/watch/watch_record.c $common
build bundle $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $common -lsqlite3 -lhwloc -lelf
build log $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $common -lsqlite3 -lhwloc -lelf
build import $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $common -lsqlite3 -lhwloc -lelf
build capture $base $executor $common -lhwloc -lelf
build model $base $executor $common -lhwloc -lelf
attribute="$(ls src/attribute/*.c src/attribute/rules/*.c src/trace/*.c src/trace/readers/*.c) $meson_lists/attribute/rules_list.c $meson_lists/trace/readers_list.c"
experiment="$(ls src/experiment/*.c src/experiment/perturbers/*.c) $meson_lists/experiment/perturbers_list.c $meson_lists/experiment/slowed_function_module.c $meson_lists/experiment/slowed_library_object.c $meson_lists/experiment/take_gpu_kernel.c src/telemetry/cupti_socket.c src/telemetry/process_tree.c src/telemetry/node_map.c src/telemetry/control_group.c src/measure/environment.c"
build trace $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $attribute $common -lsqlite3 -lhwloc -lelf
build python src/executor/python_imports.c
build metrics $base src/telemetry/metrics.c $common
build git $base $executor $common -lhwloc -lelf
build elf $base $executor src/telemetry/elf_symbols.c src/telemetry/go_functions.c $common -lhwloc -lelf
build prompt $base src/measure/prompt_file.c src/measure/prompt_tokens.c src/measure/tokenizer_file.c src/measure/byte_pairs.c src/drivers/tensor.c $common
build samples $base src/measure/host_samples.c $common
build ledger $base src/ledger/*.c $meson_lists/ledger/stores_list.c $common -lsqlite3 -lpq
build safetensors $base reference/safetensors.c reference/transformer.c reference/matmul.c reference/onednn$major.c $common -ldnnl
history="$(ls src/history/*.c src/history/readers/*.c) $meson_lists/history/series_readers_list.c"
report="$(ls src/report/*.c src/decide/*.c) $meson_lists/report/report_style.c"
prompts="src/measure/inputs.c src/measure/image.c src/measure/prompt_file.c src/measure/prompt_tokens.c src/measure/tokenizer_file.c src/measure/byte_pairs.c"
verify="$(ls src/verify/*.c) $prompts"
build audit $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $attribute $experiment src/ledger/*.c $meson_lists/ledger/stores_list.c $verify $history $report $common -lsqlite3 -lpq -lhwloc -lelf
build ranks $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $attribute $experiment src/ledger/*.c $meson_lists/ledger/stores_list.c $verify $history $report $common -lsqlite3 -lpq -lhwloc -lelf
build history $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $attribute $experiment src/ledger/*.c $meson_lists/ledger/stores_list.c $verify $history $report $common -lsqlite3 -lpq -lhwloc -lelf
build page $base $contract $record $result src/load/*.c src/telemetry/metrics.c $executor $attribute $experiment src/ledger/*.c $meson_lists/ledger/stores_list.c $verify $history $report src/board/*.c src/page/*.c $meson_lists/page/*.c $common -lsqlite3 -lpq -lhwloc -lelf
build serve $base src/ledger/*.c $meson_lists/ledger/stores_list.c src/serve/*.c $common -lsqlite3 -lpq -lmicrohttpd
sort -u $dir/compiled >>$dir/build.ninja
ninja -f $dir/build.ninja >$dir/build.log || { cat $dir/build.log; exit 1; }
[ "$seconds" != 0 ] || exit 0 # built
run() {
  case $1 in bundle) recorded=tests/recorded/bundles ;; history) recorded="tests/recorded/history tests/recorded/imports" ;; *) recorded= ;; esac
  mkdir -p $dir/corpus-$1
  LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0 $dir/$1 -seed=${FUZZ_SEED:-1} -max_total_time="$seconds" -max_len=100000 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=$dir/found-$1- $dir/corpus-$1 tests/fuzz/corpus/$1 $recorded >$dir/$1.log 2>&1
}
found=
pair() {
  run $1 & a=$!
  [ $# = 1 ] || run $2 & b=$!
  wait $a || found="$found $1"
  wait $b || found="$found $2"
}
pair yaml http
pair bundle capture
pair safetensors log
pair model trace
pair prompt ledger
pair import python
pair metrics git
pair elf audit
pair serve history
pair page samples
for name in yaml http watch bundle capture safetensors log model trace ranks prompt ledger import python metrics git elf audit serve history page samples; do
  log=$dir/$name.log
  echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' $log) inputs in $seconds s; $(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' $log | tail -n 1) of" \
    "$(sed -n 's/.*Loaded 1 modules *(\([0-9]*\) inline.*/\1/p' $log | head -n 1) edges of what is linked were taken"
done
taken=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' $dir/bundle.log | tail -n 1)
[ "${taken:-0}" -ge 500 ] || { echo "bundle: no bundle of its corpus can be read: is tests/recorded/bundles/small.lynx of this format?"; exit 1; }
for name in $found; do # last, and with the input, so that it is found where only the end of a log is kept
  echo "$name:"
  grep -v -E '^#[0-9]+|^ *(NEW|REDUCE)' $dir/$name.log | tail -40 | cut -c 1-400
  for input in $dir/found-$name-*; do [ ! -f "$input" ] || { echo "$input, base64:" && head -c 3000 "$input" | base64 -w 0 && echo; }; done
done
[ -z "$found" ] && echo "no finding in 20 readers" || exit 1
