# The front door. Meson does the work.

MESON = /usr/bin/env meson
BUILD = build

.PHONY: all setup demo test soak guest bench lint format install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

$(BUILD)/build.ninja:
	@tools/setup.sh
	@$(MESON) setup $(BUILD) >/dev/null || \
		{ cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

setup:
	@tools/setup.sh test

demo: all
	@examples/demo.sh $(BUILD)/remit

# Everything: builds, unit tests, sanitizers, fuzzing, linters, end to end and
# the escape suite. Ends with "N passed, N failed".
test: setup all
	@/usr/bin/python3 tests/run.py

# A hundred thousand runs, and a minute of clients of the server: they must
# leave nothing behind. A minute of every fuzz target, and the tests for every
# user in every way.
soak: setup all
	@REMIT_FUZZ_SECONDS=60 /usr/bin/python3 tests/run.py fuzz
	@REMIT_EVERY_PAIR=1 /usr/bin/python3 tests/run.py e2e
	@/usr/bin/python3 tests/soak.py
	@/usr/bin/python3 tests/soak_serve.py

# The whole escape suite on another kernel, in an emulator.
guest: setup all
	@test -f build-holes/build.ninja || \
		$(MESON) setup build-holes -Dholes=true >/dev/null
	@ninja -C build-holes --quiet
	@/usr/bin/python3 tests/guest/guest.py full

# Starts, throughput and memory beside the peers that are installed.
BENCH = --python /usr/bin/python3
bench: setup all
	@$(BUILD)/remit bench $(BENCH) --json $(BUILD)/bench.json
	@/usr/bin/python3 bench/plot.py $(BUILD)/bench.json >$(BUILD)/bench.svg

lint: setup all
	@/usr/bin/python3 tests/run.py lint

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

install: all
	$(MESON) install -C $(BUILD) --quiet

clean:
	rm -rf build build-wheel build-holes build-asan build-fuzz build-soak \
		build-analyzer
