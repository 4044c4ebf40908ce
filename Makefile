# A thin front over meson. `make demo` and `make test` are all that a newcomer needs.
BUILD ?= build
CC_CACHE := $(shell command -v ccache 2>/dev/null)
MESON_CC := $(if $(CC_CACHE),CC="ccache $(or $(filter-out cc,$(CC)),gcc)",)

.PHONY: help build configured site-docs demo test test-long test-steps test-fresh deb test-deb wheel test-peers test-gpu check bench bench-peers bench-pages bench-attribution bench-attribution-replay bench-profilers bench-confirm bench-bisect bench-gpu simulate fuzz install clean format

help:
	@echo "make demo      install what is missing, build, and tell one story: a slow server, its cause, the fix, verified"
	@echo "make test      install what is missing, build, run the tests (some minutes)"
	@echo "make test-long   the tests that need minutes of load each, or a browser"
	@echo "make test-steps  the tests again, and every next step that they print is run as it was printed (as root: unshare)"
	@echo "make test-fresh  make demo and make test in empty Debian 12 and 13 (as root: debootstrap)"
	@echo "make build     only build: build/lynxbench and build/lynxbench-ref"
	@echo "make deb         Debian packages of the last commit, in build/deb: built twice, the same bytes, lintian"
	@echo "make test-deb    the same in empty Debian 12 and 13, installed and used in a clean root (as root: debootstrap)"
	@echo "make wheel       a wheel that carries the program, in build/wheel, installed from there and used (tools from PyPI)"
	@echo "make site-docs   the documents as a site, in build/site-docs (mkdocs-material from PyPI)"
	@echo "make test-peers  tests against executors from PyPI (vLLM, PyTorch, Triton, ...; some GB), in build/peers*, launchers, and Go's transparency log"
	@echo "make test-gpu  where an NVIDIA GPU is at hand: capture it, compare it with nvidia-smi, keep it in build/gpu"
	@echo "make check     sanitizers, fuzzing, static analysis, formatting, layers, documents against tables"
	@echo "make bench     what measuring costs and how late it is, on this machine"
	@echo "make bench-peers  load beside wrk, asyncio, AIPerf and GuideLLM, traces beside simdjson and HolisticTraceAnalysis, each in the same run; how real executors' sessions vary; history beside Otava"
	@echo "make bench-pages  the pages of a ledger of 100,000 results: processor time, first paint in Chromium, load by wrk (some minutes)"
	@echo "make bench-attribution  plant causes in real servers and score what diagnose says of each (some 15 minutes; packages from PyPI)"
	@echo "make bench-attribution-replay  what today's rules say of the bundles of the blind rounds (seconds; AGAINST=PROGRAM compares)"
	@echo "make bench-profilers    what each profiler takes of the throughput of real servers (some 20 minutes)"
	@echo "make bench-confirm      plant causes, diagnose and confirm them; take them out, and see them refuted (some 25 minutes)"
	@echo "make bench-gpu          where an NVIDIA GPU and PyTorch are at hand: plant causes in a server on it (some 6 minutes)"
	@echo "make bench-bisect       swap a dozen settings, of which it is known which make the difference (some 40 minutes)"
	@echo "make simulate  hold intervals, steady state and saturation search against simulation (minutes)"
	@echo "make install   PREFIX=/usr/local: programs, manual pages, completion"

build: configured
	@ninja -C $(BUILD) lynxbench lynxbench-ref

$(BUILD)/build.ninja:
	@command -v meson >/dev/null && command -v ninja >/dev/null || { echo "meson and ninja are missing: run 'make demo' or 'make test', which install what is needed"; exit 2; }
	@$(MESON_CC) meson setup $(BUILD) --prefix $(or $(PREFIX),/usr/local) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

# A build folder that was copied or moved with its tree still names the old place, and would be made there.
configured: $(BUILD)/build.ninja
	@python3 scripts/own_build.py $(BUILD)

packages-%:
	@scripts/packages.sh $*

demo: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh $(BUILD)

test: packages-test
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD)
	@scripts/test.sh $(BUILD) --no-suite long

test-long: packages-web
	@$(MAKE) --no-print-directory configured
	@scripts/web.sh $(BUILD)
	@ninja -C $(BUILD)
	@LANES=$$(($$(nproc) + 1)) scripts/test.sh $(BUILD) --suite long

# What the tests themselves say is no matter here: a step that loads their server may disturb them.
test-steps: packages-test
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD)
	@rm -f $(BUILD)/steps.jsonl
	@LYNX_TESTS_STEPS=$(abspath $(BUILD))/steps.jsonl scripts/test.sh $(BUILD) --suite e2e --no-suite quiet --no-suite long --timeout-multiplier 3 || true
	@python3 tests/e2e/printed_steps.py $(BUILD)/steps.jsonl

test-fresh:
	@scripts/fresh.sh $(or $(RELEASES),bookworm trixie)

deb: packages-deb
	@scripts/deb.sh twice
	@scripts/deb.sh check

test-deb:
	@scripts/deb.sh fresh $(or $(RELEASES),bookworm trixie)

# Links in the documents are as they lie in the tree: a copy of it is what mkdocs reads.
site-docs: packages-build
	@scripts/site_docs.sh

wheel: packages-build
	@$(MAKE) --no-print-directory build
	@scripts/wheel.sh

test-peers: packages-peers
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD)
	@scripts/peers.sh $(BUILD)

test-gpu: packages-test
	@$(MAKE) --no-print-directory build
	@scripts/gpu.sh $(BUILD)

check: packages-check
	@scripts/check.sh

bench: packages-test
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD)
	@ninja -C $(BUILD) bench/samplers
	@bench/instrument.sh $(BUILD)
	@python3 bench/capture.py $(BUILD)
	@ninja -C $(BUILD) bench/ledger bench/pages
	@$(BUILD)/bench/ledger 100000
	@python3 bench/pages.py $(BUILD)
	@python3 bench/ingest.py $(BUILD)

bench-pages: packages-web
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD) lynxbench bench/pages
	@python3 bench/pages.py $(BUILD)

bench-attribution: packages-peers
	@ninja -C $(BUILD) lynxbench lynxbench-ref
	@$(BUILD)/peers/bin/python -c 'import torch' 2>/dev/null || { echo "torch is missing: run make test-peers first, which installs it"; exit 2; }
	@$(BUILD)/peers/bin/python -m pip install -q py-spy
	@python3 bench/attribution/scoreboard.py --json $(BUILD)/scoreboard.json

bench-attribution-replay: packages-build
	@$(MAKE) --no-print-directory build
	@python3 bench/attribution/replay.py $(BUILD)/lynxbench $(AGAINST)

bench-gpu: packages-test
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD) lynxbench inject/liblynxbench_cupti.so
	@python3 bench/attribution/gpu.py --keep $(BUILD)/gpu

bench-bisect: packages-peers
	@ninja -C $(BUILD) lynxbench
	@$(BUILD)/peers/bin/python -c 'import torch' 2>/dev/null || { echo "torch is missing: run make test-peers first, which installs it"; exit 2; }
	@python3 bench/attribution/swaps.py --json $(BUILD)/bisect.json

bench-profilers: packages-peers
	@ninja -C $(BUILD) lynxbench lynxbench-ref
	@$(BUILD)/peers/bin/python -c 'import torch' 2>/dev/null || { echo "torch is missing: run make test-peers first, which installs it"; exit 2; }
	@$(BUILD)/peers/bin/python -m pip install -q py-spy
	@python3 bench/attribution/costs.py --json $(BUILD)/profilers.json

bench-confirm: packages-peers
	@ninja -C $(BUILD) lynxbench
	@$(BUILD)/peers/bin/python -c 'import torch' 2>/dev/null || { echo "torch is missing: run make test-peers first, which installs it"; exit 2; }
	@$(BUILD)/peers/bin/python -m pip install -q py-spy
	@python3 bench/attribution/confirm.py --json $(BUILD)/confirm.json

bench-peers: packages-bench
	@$(MAKE) --no-print-directory build
	@ninja -C $(BUILD) bench/open_bundle
	@python3 bench/load.py $(BUILD)
	@python3 bench/accuracy.py $(BUILD)
	@python3 bench/traces.py $(BUILD) $(MEGABYTES)
	@python3 bench/variance.py $(BUILD)
	@python3 bench/history.py $(BUILD)
	@cd bench && python3 history_recall.py --build $(abspath $(BUILD))

simulate: packages-test
	@$(MAKE) --no-print-directory configured
	@ninja -C $(BUILD) tests/simulate
	@$(BUILD)/tests/simulate

fuzz: packages-check
	@scripts/fuzz.sh $(or $(SECONDS_EACH),60)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

install: build
	@$(if $(PREFIX),meson configure $(BUILD) --prefix $(PREFIX) >/dev/null)
	@ninja -C $(BUILD) install
	@scripts/install_pages.sh $(BUILD) $(DESTDIR)$(or $(PREFIX),/usr/local)

clean:
	rm -rf $(BUILD) $(BUILD).log build-*
