#!/bin/sh
# Builds the guest of the tier wasm: CPython as WebAssembly, compiled to C and then
# to an object file, and its standard library. Prints the directory of the result:
#
#   guest.o guest.h    the module "guest", made by wasm2c
#   wasm-rt*           wasm2c's runtime, as sources
#   lib/               the standard library
#   version            what the result was made from
#
# The result is cached by a hash of everything that goes into it. A build that was
# interrupted leaves nothing that a later build would use. With "path" the script
# only prints the directory, which may not exist yet; with "check" it only checks
# whether this machine can build the guest, and with "machine" only whether it could
# with the packages of "tools/setup.sh wasm".
#
# The sources of CPython and zlib come from the archives that apt is configured
# with, by a private configuration: the machine's configuration does not change,
# and apt checks signatures and hashes as always.
set -eu

packages="python3.11 clang-14 lld-14 llvm-14 libclang-rt-14-dev-wasm32 wasi-libc wabt
gcc make dpkg-dev"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/remit/wasm
# The parts of Remit that the guest shares.
shared="runtime/job.c runtime/channel.c src/base/buf.c src/base/file/io.c src/wire/frame.c"

fail() {
	echo "wasm: $*" >&2
	exit 1
}

say() {
	echo "wasm: $*" >&2
}

# ---- can this machine build it? ----

check_machine() {
	ID=unknown VERSION_ID= PRETTY_NAME="a system without /etc/os-release"
	[ ! -r /etc/os-release ] || . /etc/os-release
	[ "$ID $VERSION_ID" = "debian 12" ] ||
		fail "the guest needs the tools of Debian 12 (clang 14, wabt 1.0.32, CPython 3.11)," \
			"and this is $PRETTY_NAME. Build the guest in a container of Debian 12."
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

check_packages() {
	missing=
	for package in $packages; do
		is_installed "$package" || missing="$missing $package"
	done
	[ -z "$missing" ] ||
		fail "these packages are missing:$missing. Run \"tools/setup.sh wasm\"."
}

# ---- the cache ----

part_of_script() {
	sed -n "/^# ---- $1/,/^# ---- $2/p" "$script"
}

hash_of() {
	sha256sum | cut -c 1-32
}

# CPython has a separate hash: a change of the guest's C does not compile CPython
# again, which takes longest.
find_paths() {
	python_hash=$({
		dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' $packages
		part_of_script sources "the guest"
		cat runtime/guest/asyncio_tail.py
	} | hash_of)
	guest_hash=$({
		echo "$python_hash"
		part_of_script "the guest" "all of it"
		cat runtime/guest/* runtime/module.h include/remit.h src/base/own.h src/base/error.h \
			src/base/buf.h src/base/file/fd.h src/base/file/io.h src/wire/frame.h $shared
	} | hash_of)
	python=$cache/python-$python_hash
	guest=$cache/$guest_hash
}

# One build at a time. This also removes what a killed build left.
begin_work() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock -n 9 || {
		say "waiting for another build"
		flock 9
	}
	rm -rf "$cache"/work.*
	work=$(mktemp -d "$cache/work.XXXXXXXX")
	log=$work/log
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	renice -n 10 $$ >/dev/null
}

# step TEXT FUNCTION ARGUMENT...: calls a function, with its output in the log.
step() {
	say "$1"
	shift
	set +e
	(
		set -e
		"$@"
	) >>"$log" 2>&1 </dev/null
	status=$?
	set -e
	[ $status = 0 ] || {
		tail -n 40 "$log" >&2
		fail "this step failed, see above."
	}
}

# ---- sources ----

# Options for the C of CPython and of the guest. "Bulk memory" is not among the
# instructions, because with it clang 14 expects errno in thread-local memory, and
# wasi-libc has it elsewhere.
target="--target=wasm32-wasi -msign-ext -mnontrapping-fptoint"
target="$target -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS"
libraries="-lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks"

# As on other systems: the default of WASI is 600, for smaller stacks than the guest's.
limits=-DPy_DEFAULT_RECURSION_LIMIT=1000

# The machine's own entries, as entries of source packages.
write_entries() {
	mkdir -p "$work/apt/entries" "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		to=$work/apt/entries/$(basename "$file")
		case $file in
		*.sources) sed 's/^Types:.*/Types: deb-src/' "$file" >"$to" ;;
		*.list) [ ! -r "$file" ] || sed -n 's/^[[:blank:]]*deb[[:blank:]]/deb-src /p' "$file" >"$to" ;;
		esac
	done
	cat >"$work/apt/configuration" <<-EOF
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$work/apt/entries";
		Dir::State "$work/apt/state";
		Dir::Cache "$work/apt/cache";
	EOF
}

with_apt() {
	APT_CONFIG=$work/apt/configuration "$@"
}

# Takes the newest version whose files exist: a mirror may list one that it lacks.
fetch_source() {
	for version in $(with_apt apt-cache showsrc --only-source "$1" |
		sed -n 's/^Version: //p' | sort -ruV); do
		if with_apt apt-get source -q --download-only "$1=$version"; then
			dpkg-source -x "$1"_*.dsc "../$1"
			echo "$1 $version" >>"$work/out/version"
			return
		fi
	done
	echo "No archive of this machine's apt has the source of $1. Check that \"apt-get update\" works."
	return 1
}

fetch_sources() {
	write_entries
	mkdir "$work/sources" "$work/out"
	cd "$work/sources"
	# Fails if any entry cannot be fetched; that entry may not be needed.
	with_apt apt-get update -q || true
	fetch_source python3.11
	fetch_source zlib
}

make_zlib() {
	cd "$work/zlib"
	for name in adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil; do
		clang-14 $target -O2 -DNDEBUG -DHAVE_STDARG_H -c "$name.c"
	done
	llvm-ar-14 rcs "$work/out/libz.a" ./*.o
}

# PKG_CONFIG would find libraries of this machine.
configure_python() {
	mkdir "$work/build"
	cd "$work/build"
	CONFIG_SITE=../python3.11/Tools/wasm/config.site-wasm32-wasi \
		CC="clang-14 $target" CPP="clang-14 $target -E" AR=llvm-ar-14 RANLIB=llvm-ranlib-14 \
		PKG_CONFIG=/bin/false LIBS="$libraries" OPT="-DNDEBUG -O3 -w $limits" \
		ZLIB_CFLAGS=-I../zlib ZLIB_LIBS="-L../out -lz" \
		../python3.11/configure --host=wasm32-unknown-wasi --build="$(uname -m)-linux-gnu" \
		--with-build-python=/usr/bin/python3.11 --with-pymalloc --disable-test-modules \
		--without-ensurepip --prefix=/usr
}

compile_python() {
	cd "$work/build"
	# The depth of the parser, also as on other systems.
	sed -i 's/define MAXSTACK 4000/define MAXSTACK 6000/' ../python3.11/Parser/parser.c
	make -j"$(nproc)" libpython3.11.a pybuilddir.txt
	cp libpython3.11.a Modules/_decimal/libmpdec/libmpdec.a Modules/expat/libexpat.a "$work/out"
	cp -r ../python3.11/Include "$work/out/include"
	cp pyconfig.h "$work/out/include"
}

# This removes modules that need what the guest lacks (a terminal, a display, C libraries)
# and tools for developers of CPython. The byte code is never compared with the source, since
# nothing can write to the library.
make_library() {
	cp -r "$work/python3.11/Lib" "$work/out/lib"
	cd "$work/out/lib"
	rm -rf ctypes curses distutils ensurepip idlelib lib2to3 msilib pydoc_data site-packages \
		sqlite3 test tkinter turtledemo turtle.py venv
	find . -depth \( -name __pycache__ -o -name tests -o -name test -o -name '*.txt' \) \
		-exec rm -rf {} +
	# Debian's sysconfig expects another name than the build gives.
	cp "$work/build/$(cat "$work/build/pybuilddir.txt")"/_sysconfigdata__wasi_wasm32-wasi.py \
		_sysconfigdata__wasm32-wasi.py
	cat "$source/runtime/guest/asyncio_tail.py" >>asyncio/selector_events.py
	python3.11 -m compileall -q -j "$(nproc)" --invalidation-mode unchecked-hash \
		-s "$work/out/lib" .
}

build_python() {
	[ ! -d "$python" ] || return 0
	step "fetching the sources of CPython and zlib (1 of 6)" fetch_sources
	step "compiling zlib (2 of 6)" make_zlib
	step "configuring CPython (3 of 6, a minute or more)" configure_python
	step "compiling CPython (4 of 6, two minutes or more)" compile_python
	step "preparing the standard library" make_library
	mv "$work/out" "$python"
	rm -rf "$work/build" "$work/python3.11" "$work/sources" "$work/zlib"
}

# ---- the guest ----

# The stack is at the bottom of the memory, where an overflow is an access below
# address 0 and not one to other data.
stack_bytes=4194304
# The options of gcc. Level 1 takes half the time of level 2.
optimize=-O1

compile_guest() {
	mkdir "$work/objects" "$work/result"
	for file in runtime/guest/entry.c runtime/guest/module.c runtime/guest/sleep.c $shared; do
		clang-14 $target -O2 -std=gnu11 -Wall -Wextra -Isrc -Iinclude -Iruntime \
			-isystem "$python/include" -c "$file" -o "$work/objects/$(basename "$file" .c).o"
	done
	clang-14 --target=wasm32-wasi -mbulk-memory -O2 -fno-builtin -c runtime/guest/copy.c \
		-o "$work/objects/copy.o"
	clang-14 --target=wasm32-wasi -mexec-model=reactor -o "$work/guest.wasm" "$work"/objects/*.o \
		"$python"/libpython3.11.a "$python"/libmpdec.a "$python"/libexpat.a "$python"/libz.a \
		$libraries -lm -Wl,-z,stack-size=$stack_bytes -Wl,--stack-first -Wl,--gc-sections \
		-Wl,--strip-all
	cd "$work/result"
	wasm2c -n guest -o guest.c "$work/guest.wasm"
}

# -fstack-clash-protection: no large frame may skip the guard page of the stack.
compile_c() {
	cd "$work/result"
	gcc $optimize -w -fPIE -fstack-clash-protection -I/usr/src/wasm2c -c guest.c -o guest.o
	rm guest.c
}

complete_result() {
	begun=$guest
	cd "$source"
	find_paths
	[ "$guest" = "$begun" ] || {
		echo "The sources have changed during the build. Run it again."
		return 1
	}
	cp /usr/src/wasm2c/wasm-rt* "$work/result"
	cp -r "$python/lib" "$work/result/lib"
	{
		cat "$python/version"
		dpkg-query -W -f '${Package} ${Version}\n' wabt wasi-libc clang-14 gcc
		echo "hash $guest_hash"
	} >"$work/result/version"
}

build_guest() {
	step "compiling the guest (5 of 6)" compile_guest
	step "compiling the C of wasm2c (6 of 6, some minutes and 3 GB of memory)" compile_c
	step "copying the standard library to the result" complete_result
	mv "$work/result" "$guest"
}

# ---- all of it ----

build() {
	begin_work
	# Another build may have finished in the meantime.
	[ ! -d "$guest" ] || return 0
	build_python
	build_guest
}

# This is a function because a shell reads a script while it runs it.
main() {
	script=$(realpath "$0")
	source=$(realpath "$(dirname "$script")/..")
	cd "$source"
	check_machine
	[ "${1:-}" != machine ] || exit 0
	check_packages
	find_paths
	case ${1:-build} in
	check) ;;
	path) echo "$guest" ;;
	build)
		[ -d "$guest" ] || build
		echo "$guest"
		;;
	*) fail "unknown argument \"$1\": it must be path, check or machine." ;;
	esac
}

main "$@"
exit
