# gearshift: `make` builds build/gearshift; `make help` lists the rest.
# Every goal first asks dpkg which of its Debian packages are missing, and installs only those.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
PYTHON := /usr/bin/python3
BINARY := build/gearshift
# make lint SINCE=HEAD~3 lints only what changed since then.
SINCE ?=
# Seconds each fuzz target runs.
DURATION ?= 60

packages_build := g++ binutils cmake ninja-build ccache pkg-config libboost-dev \
  liblua5.4-dev cppzmq-dev libzmq3-dev libmsgpack-cxx-dev libspdlog-dev libcli11-dev \
  libtorch-dev libopenblas0-pthread \
  libtomlplusplus-dev nlohmann-json3-dev libsqlite3-dev libeigen3-dev libfuse3-dev libgtest-dev libgmock-dev libbenchmark-dev
packages_run := fuse3 python3 python3-zmq python3-msgpack
packages_train := python3-torch python3-sklearn
packages_browser := chromium
packages_check := python3-pyflakes
packages_lint := git clang-format clang-tidy
packages_fuzz := clang libclang-rt-14-dev

# Installs what is missing of the packages $(1). No stamp file: it would hide a package removed since.
define install
missing=()
for package in $(1); do
  status=$$(dpkg-query -W -f '$${Status}' "$$package" 2>/dev/null || true)
  [[ "$$status" == *" ok installed" ]] || missing+=("$$package")
done
if [[ -n "$${missing[*]}" ]]; then
  as_root=()
  if [[ $$EUID -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "make: missing Debian packages, and neither root nor sudo to install them with. As root:" >&2
      echo "  apt-get install --no-install-recommends $${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "Installing $${missing[*]}"
  "$${as_root[@]}" apt-get update -qq </dev/null
  "$${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$${missing[@]}" </dev/null
fi
endef

# Configures build folder $(1) with the CMake options $(2), once: ninja itself notices later changes.
configure = [[ -f $(1)/build.ninja ]] || cmake -G Ninja -B $(1) $(2)

.PHONY: build
build:  ## build the program, build/gearshift (the default)
	@$(call install,$(packages_build))
	$(call configure,build)
	ninja -C build -j$(JOBS) gearshift

.PHONY: test
test:  ## build everything and run the unit and process tests
	@$(call install,$(packages_build) $(packages_run) $(packages_train) $(packages_browser) $(packages_check))
	$(call configure,build)
	ninja -C build -j$(JOBS)
	code=0
	ctest --test-dir build -L 'unit|process' -j$$((3 * $(JOBS))) --output-on-failure --no-tests=error \
	  --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
	  --output-junit results.xml || code=$$?
	$(PYTHON) .ci/summary.py build/results.xml
	exit $$code

.PHONY: demo
demo: build  ## a virtual Jetson AGX Orin, an emulated ResNet-18, and a cap that falls to 20 W
	@$(call install,$(packages_run))
	$(PYTHON) cli/demo/demo.py --binary $(BINARY)

.PHONY: demo-train
demo-train: build  ## a real PyTorch training on this machine, under a cap on its processor time
	@$(call install,$(packages_run) $(packages_train))
	$(PYTHON) cli/demo/demo_train.py --binary $(BINARY)

.PHONY: demo-interleave
demo-interleave: build  ## training beside requests, on a virtual board and with PyTorch on this machine
	@$(call install,$(packages_run) $(packages_train))
	$(PYTHON) cli/demo/demo_interleave.py --binary $(BINARY)

.PHONY: demo-battery
demo-battery: build  ## a drone's battery of 10 Wh, training in gusts of wind, planned against what else one would do
	@$(call install,$(packages_run))
	$(PYTHON) cli/demo/demo_battery.py --binary $(BINARY)

.PHONY: bench
bench:  ## build and run the benchmarks
	@$(call install,$(packages_build) $(packages_run))
	$(call configure,build)
	ninja -C build -j$(JOBS)
	for program in bench/*_bench.cpp; do
	  name=$$(basename "$$program" .cpp)
	  echo "== $$name"
	  "build/$$name"
	done
	for script in bench/*.py; do
	  echo "== $$(basename "$$script" .py)"
	  GEARSHIFT_BINARY="$$PWD/$(BINARY)" $(PYTHON) "$$script"
	done

# The modes that PowerTrain profiled; all 18,096 make a worse reference (docs/decisions).
reference_modes := --keep cpu_cores=2,4,6,8,10,12 --keep cpu_mhz=268.8,422.4,576,729.6,883.2,1036.8,1190.4,1344,1497.6,1651.2,1804.8,1958.4,2112,2201.6

.PHONY: reference
reference: build  ## make the reference of `gearshift powertrain` anew, from the board model
	profile=$$(mktemp --suffix=.csv)
	trap 'rm -f "$$profile"' EXIT
	$(BINARY) model profile --board jetson-agx-orin-jetpack5 --workload resnet18 $(reference_modes) -o "$$profile"
	$(BINARY) powertrain train "$$profile" -o policies/powertrain/reference/jetson-agx-orin-resnet18.model

.PHONY: lint
lint:  ## clang-format and clang-tidy; SINCE=HEAD~3 checks only what changed since that commit
	@$(call install,$(packages_build) $(packages_lint))
	# clang cannot read what g++ precompiled, and reads each file by itself: the flags are those of a folder without
	# precompiled headers and without files that are compiled together, where nothing is built.
	cmake -G Ninja -B build-lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DGEARSHIFT_UNITY=OFF >/dev/null
	if [[ -n "$(SINCE)" ]]; then
	  mapfile -t files < <(git diff --name-only --diff-filter=d "$(SINCE)" -- '*.h' '*.cpp')
	else
	  mapfile -t files < <(git ls-files -- '*.h' '*.cpp')
	fi
	[[ -n "$${files[*]}" ]] || { echo "nothing to lint"; exit 0; }
	code=0
	clang-format --dry-run -Werror "$${files[@]}" || code=$$?
	# What the build does not compile (fuzz targets) has no flags here and is left out.
	grep '"file":' build-lint/compile_commands.json > build-lint/compiled.txt
	for file in "$${files[@]}"; do
	  if [[ "$$file" == *.cpp ]] && grep -qF "\"$$PWD/$$file\"" build-lint/compiled.txt; then echo "$$file"; fi
	done | xargs -r -P $(JOBS) -n 1 clang-tidy -p build-lint --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null || code=$$?
	[[ $$code -ne 0 ]] || echo "lint: $${#files[@]} files are clean"
	exit $$code

# The unit tests under the sanitizers $(2), built in folder $(1).
define sanitized
$(call install,$(packages_build) $(packages_run))
$(call configure,$(1),-DGEARSHIFT_SANITIZE=$(2) -DGEARSHIFT_BENCH=OFF)
ninja -C $(1) -j$(JOBS)
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  TSAN_OPTIONS=halt_on_error=1:suppressions=$(CURDIR)/tests/thread_sanitizer.suppressions
ctest --test-dir $(1) -L unit -j$$((3 * $(JOBS))) --output-on-failure --no-tests=error
endef

.PHONY: asan
asan:  ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call sanitized,build-asan,address$(comma)undefined)

.PHONY: tsan
tsan:  ## unit tests under ThreadSanitizer
	@$(call sanitized,build-tsan,thread)

.PHONY: fuzz
fuzz:  ## run every fuzz target; DURATION=600 seconds each (60 unless given)
	@$(call install,$(packages_build) $(packages_fuzz))
	$(call configure,build-fuzz,-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
	  -DGEARSHIFT_FUZZ=ON -DGEARSHIFT_TESTS=OFF -DGEARSHIFT_BENCH=OFF)
	ninja -C build-fuzz -j$(JOBS) fuzz_targets
	for source in tests/fuzz/*_fuzz.cpp; do
	  name=$$(basename "$$source" .cpp)
	  mkdir -p "build-fuzz/corpus/$$name"
	  seeds=("tests/fuzz/corpus/$${name%_fuzz}")
	  [[ -d "$${seeds[0]}" ]] || seeds=()
	  [[ "$$name" != script_fuzz ]] || seeds+=(scripts)
	  echo "== $$name"
	  "build-fuzz/$$name" -max_total_time=$(DURATION) -timeout=5 -print_final_stats=1 \
	    -artifact_prefix="build-fuzz/$$name-" "build-fuzz/corpus/$$name" "$${seeds[@]}"
	done

# The first scenario, and how many.
SEED ?= 1
SCENARIOS ?= 1000

.PHONY: swarm
swarm:  ## random simulated scenarios with faults; SCENARIOS=1000 of them from SEED=1 on
	@$(call install,$(packages_build))
	$(call configure,build)
	ninja -C build -j$(JOBS) swarm
	build/swarm --seed $(SEED) --scenarios $(SCENARIOS)

# Of the live part of the soak.
MINUTES ?= 30

.PHONY: soak
soak:  ## 24 simulated hours of random faults, then MINUTES=30 of them with real processes, from SEED=1
	@$(call install,$(packages_build) $(packages_run))
	$(call configure,build)
	ninja -C build -j$(JOBS) gearshift swarm kill_at_write
	GEARSHIFT_BINARY="$$PWD/$(BINARY)" $(PYTHON) tests/soak/soak.py --seed $(SEED) --minutes $(MINUTES)
	GEARSHIFT_BINARY="$$PWD/$(BINARY)" KILL_AT_WRITE_SHIM="$$PWD/build/kill_at_write.so" KILL_STRIDE=1 \
	  $(PYTHON) tests/process/test_killed.py

.PHONY: determinism
determinism:  ## the same scenarios at -O0, at -O2 and under AddressSanitizer decide the same, byte by byte
	@$(call install,$(packages_build))
	$(call configure,build-O0,-DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 -DGEARSHIFT_BENCH=OFF)
	$(call configure,build-O2,-DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O2 -DGEARSHIFT_BENCH=OFF)
	$(call configure,build-asan,-DGEARSHIFT_SANITIZE=address$(comma)undefined -DGEARSHIFT_BENCH=OFF)
	for folder in build-O0 build-O2 build-asan; do
	  ninja -C $$folder -j$(JOBS) swarm
	  $$folder/swarm --seed $(SEED) --scenarios 200 --log > $$folder/swarm.log
	  cmp build-O0/swarm.log $$folder/swarm.log
	done
	wc -l build-O0/swarm.log

.PHONY: packages
packages:  ## install every Debian package that any goal needs
	@$(call install,$(packages_build) $(packages_run) $(packages_train) $(packages_browser) $(packages_lint) $(packages_fuzz))

.PHONY: clean
clean:  ## remove what was built
	@rm -rf build build-O0 build-O2 build-asan build-tsan build-fuzz build-lint

.PHONY: help
help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r goal purpose; do
	  printf 'make %-16s%s\n' "$$goal" "$$purpose"
	done

comma := ,
