# Short commands for the common tasks. Meson does the work.

MESON = /usr/bin/env meson
BUILD = build
PYTHON = /usr/bin/python3

.PHONY: all writable setup demo test soak guest cpython bench lint format install deb wasm wheel clean

# The command, the library and the man pages, without what only tests need.
all: $(BUILD)/build.ninja
	@if [ -t 1 ]; then ninja -C $(BUILD); else \
		echo "building in $(BUILD)/"; ninja -C $(BUILD) --quiet; fi

$(BUILD)/build.ninja: | writable
	@tools/setup.sh
	@$(MESON) setup $(BUILD) >/dev/null || \
		{ cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

writable:
	@for folder in "$(CURDIR)" $(wildcard $(BUILD)); do \
		[ -w "$$folder" ] || { echo "make: you cannot write to $$folder." \
			"Build in a clone that belongs to you." >&2; exit 1; }; \
	done

setup: | writable
	@tools/setup.sh test

demo: all
	@examples/demo.sh $(BUILD)/remit

# Unit tests, end-to-end tests, the escape suite, and README.md on unprepared
# machines. Ends with "N passed, N failed".
test: setup
	@$(PYTHON) tests/run.py

# The longer tests: linters, sanitizers, a minute of every fuzz target, all tests
# for every user and every kind of start, an unprepared machine for every pair of
# distribution and user, and load tests of the keeper and the server, after which
# nothing may be left.
soak: setup
	@REMIT_FUZZ_SECONDS=60 $(PYTHON) tests/run.py lint sanitizers fuzz \
		analyzer guest
	@REMIT_SOAK=1 $(PYTHON) tests/run.py escape python e2e newcomer deb
	@$(PYTHON) tests/soak.py
	@$(PYTHON) tests/soak_serve.py
	@$(PYTHON) tests/soak_neighbour.py

# The whole escape suite on another kernel, in an emulator.
guest: setup all
	@test -f build-holes/build.ninja || \
		$(MESON) setup build-holes -Dholes=true >/dev/null
	@ninja -C build-holes --quiet
	@$(PYTHON) tests/guest/guest.py full

# CPython's own tests, outside and in a jail, in bare roots of two Debian releases.
cpython: setup
	@$(PYTHON) tests/cpython.py

# Measures start time, throughput and memory, and compares them with the peers that
# are installed.
BENCH = --python /usr/bin/python3
bench: setup all
	@$(BUILD)/remit bench $(BENCH) --json $(BUILD)/bench.json
	@$(PYTHON) bench/plot.py $(BUILD)/bench.json >$(BUILD)/bench.svg

lint: setup
	@$(PYTHON) tests/run.py lint

format:
	clang-format-19 -i $$(git ls-files '*.c' '*.h')

# With DESTDIR=FOLDER, below that folder.
install: all
	@tools/install.sh $(BUILD)

# Debian packages, in build-deb/.
deb: | writable
	@tools/deb.sh

# The interpreter of the tier wasm, in build/wasm: CPython as WebAssembly, from the
# cache directory if it was built before, and its host.
wasm: | writable
	@tools/wasm.sh machine
	@tools/setup.sh wasm
	@tools/wasm.sh
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@$(MESON) setup --reconfigure $(BUILD) -Dwasm="$$(tools/wasm.sh path)" \
		>/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }
	@ninja -C $(BUILD) --quiet

# A wheel for every CPython from 3.9 on, in dist/.
wheel: | writable
	@tools/setup.sh
	@$(PYTHON) -c 'import sys; sys.path.insert(0, "python"); \
		import backend, os; os.makedirs("dist", exist_ok=True); \
		print("dist/" + backend.build_wheel("dist"))'

clean:
	rm -rf build build-* dist
