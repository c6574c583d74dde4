"""README.md on unprepared machines."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from machine import CHECKOUT, ROOT, SOAK, USER, Machine

from conftest import skip_or_fail
from documents import commands, demo_output, shows

sys.path.insert(0, str(ROOT / "python"))
import backend  # noqa: E402

README = ROOT / "README.md"
# Every release and every kind of user. `make soak` tests every pair.
MACHINES = [("bookworm", "root"), ("trixie", USER)]
if SOAK:
    MACHINES += [("bookworm", USER), ("trixie", "root")]


@pytest.fixture(scope="module", params=MACHINES, ids="-".join)
def newcomer(request):
    """A machine with a checkout, and the user who owns it. For an ordinary user, root has run the set-up."""
    release, user = request.param
    if os.geteuid() != 0:
        skip_or_fail("only root can enter another root")
    with Machine(release) as machine:
        machine.add_user(user)
        machine.put_checkout(user)
        if user != "root":
            machine.run("root", f"/home/{user}/remit/tools/setup.sh")
        yield machine, user


def two_commands() -> list[str]:
    """Returns the commands of the first block of the README."""
    return commands(README)[0].text.splitlines()


def test_readme_begins_with_demo_and_test():
    assert two_commands() == ["make demo", "make test"]


def test_readme_demo_prints_the_documented_output(newcomer):
    machine, user = newcomer
    output = machine.run(user, two_commands()[0])
    assert shows(demo_output(README), output), output


def test_readme_install_block_installs(newcomer):
    machine, user = newcomer
    (block,) = [b for b in commands(README) if b.text == "make\nmake install\n"]
    for line in block.text.splitlines():
        machine.run(user if line == "make" else "root", f"cd ~{user}/remit; {line}")
    shown = machine.run(user, "cd; hash -r; command -v remit; remit run -c 'print(6 * 7)'; ls /usr/local/share/man/man1")
    assert shown.split() == ["/usr/local/bin/remit", "42", "remit.1"]
    # The README states that pkg-config gives the flags of an installed Remit.
    shown = machine.run(user, "cc examples/hello.c $(pkg-config --cflags --libs remit) -o ../hello; ../hello")
    assert shown == "ok: hello from process 2\n"


def test_readme_blocks_print_the_documented_output(newcomer):
    """A comment above a block names the packages that it needs in addition to the build's."""
    machine, user = newcomer
    pages = (README, ROOT / "docs" / "tutorial" / "shell.md")
    needed = sorted({package for page in pages for block in commands(page) for package in block.needs})
    machine.run("root", f"apt-get install -y -qq --no-install-recommends {' '.join(needed)} >/dev/null")
    for page in pages:
        machine.run(user, f"PATH=$PWD/build:$PATH python3 tests/documents.py {page.relative_to(ROOT)}")


def test_code_links_a_program_and_finds_libraries(newcomer):
    """The linker script of the C library names files below /lib, which is a link, and nothing else may lead through it."""
    machine, user = newcomer
    loose = "" if user == "root" else "--memory-fallback per_process --cpu-fallback per_process"
    code = (
        "import ctypes.util, subprocess; open('a.c', 'w').write('int main(void) { return 0; }'); "
        "print(subprocess.run(['gcc', 'a.c', '-o', 'a']).returncode, ctypes.util.find_library('c'))"
    )
    shown = machine.run(user, f'build/remit run --python /usr/bin/python3 --subprocess {loose} -c "{code}"')
    assert shown == "0 libc.so.6\n"


def test_compiler_warnings_do_not_fail_the_build(newcomer):
    """Warnings of a newer compiler must not fail a user's build."""
    machine, user = newcomer
    assert machine.run(user, "grep -c -e ' -W' build/build.ninja; grep -o -e -Werror build/build.ninja | wc -l").split()[1] == "0"


def test_wheel_of_either_release_installs_on_debian_12(newcomer):
    """The newest glibc symbol in these files decides the platform level of a wheel that contains them."""
    machine, user = newcomer
    build = machine.home(user) / CHECKOUT / "build"
    needed = {name: backend.glibc_needed((build / name).read_bytes()) for name in ("python/_core.abi3.so", "runtime/_remit.abi3.so", "remit", "remit-bench")}
    assert max(needed.values()) <= 36, needed


# What `remit --version` prints on each release, and the version that a client negotiates.
TLS = {"bookworm": ("TLS 1.2 by ", "TLSv1.2"), "trixie": ("TLS 1.2 and 1.3 by ", "TLSv1.3")}
TLS_SCRIPT = """
cd; remit=$PWD/remit/build/remit; $remit --version
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2 -out cert.pem -keyout key.pem 2>/dev/null
: >served
$remit serve --listen 127.0.0.1:0 --tls-certificate cert.pem --tls-key key.pem >served 2>&1 &
for i in $(seq 100); do address=$(sed -n 's|.*https://\\([0-9.:]*\\)/.*|\\1|p' served); [ -z "$address" ] || break; sleep 0.1; done
printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -connect "$address" -ign_eof 2>&1
kill $!; wait $!
"""


def test_tls_versions_match_the_library_of_the_release(newcomer):
    machine, user = newcomer
    library, negotiated = TLS[machine.release]
    shown = machine.run(user, TLS_SCRIPT)
    assert library in shown.splitlines()[0] and f"New, {negotiated}, Cipher is" in shown and '"status":"ok"' in shown, shown


def test_run_leaves_no_mount(newcomer):
    machine, user = newcomer
    count = "wc -l </proc/self/mountinfo"
    before, after = machine.run(user, f"{count}; build/remit run -c pass; build/remit run --read examples -c pass; {count}").split()
    assert before == after


@pytest.mark.longer
@pytest.mark.parametrize("compiler", ["gcc", "clang"] if SOAK else ["gcc"])
def test_compiler_has_no_warnings(newcomer, compiler):
    """Compiles the product and the unit tests with the compiler of that release."""
    machine, user = newcomer
    machine.run("root", f"apt-get install -y -qq --no-install-recommends {compiler} libcmocka-dev >/dev/null")
    folder = f"build-{compiler}"
    machine.run(user, f"CC={compiler} meson setup {folder} -Dwerror=true -Dtests=true >/dev/null; ninja -C {folder} --quiet")
    machine.run(user, f"meson test -C {folder} --no-rebuild --suite unit --timeout-multiplier=4; examples/demo.sh {folder}/remit; rm -r {folder}")


if SOAK:

    def test_demo_works_in_a_folder_with_an_odd_name(newcomer):
        machine, user = newcomer
        folder = machine.home(user) / "it's a folder: here, 100%"
        subprocess.run(["cp", "-a", machine.home(user) / CHECKOUT, folder], check=True)
        output = machine.run(user, 'cd ../it*; rm -rf build; make demo; make install DESTDIR="../the root" >/dev/null; ls "../the root/usr/local/bin"')
        assert shows(demo_output(README) + "remit\n", output), output

    def test_pip_installs_a_checkout(newcomer):
        """pip builds a checkout with only the packages of the build installed."""
        machine, user = newcomer
        machine.run("root", "apt-get install -y -qq --no-install-recommends python3-venv >/dev/null")
        shown = machine.run(user, "python3 -m venv ../venv; ../venv/bin/pip install -q --no-index .; ../venv/bin/remit run -c 'print(6 * 7)'")
        assert shown == "42\n"

    def test_readme_test_passes(newcomer):
        machine, user = newcomer
        machine.run("root", f"~{user}/remit/tools/setup.sh test")
        output = machine.run(user, f"REMIT_WITHOUT=newcomer {two_commands()[1]}")
        assert output.splitlines()[-1].endswith(" passed, 0 failed"), output[-4000:]
