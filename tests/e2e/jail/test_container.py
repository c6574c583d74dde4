"""In a real container with the engine's default profile: namespaces are forbidden, and the tier `landlock` works if
it is named."""

import os
import shutil
import subprocess

import pytest
from conftest import skip_or_fail

LINKS = ("bin", "lib", "lib64", "sbin")


@pytest.fixture(scope="module")
def container(stage):
    """A root file system with this machine's /usr and the command, and a function that runs the command in it."""
    if not shutil.which("podman") or os.geteuid() != 0:
        skip_or_fail("podman is not installed, or the tests are not run by root")
    root = stage / "container"
    for name in ("usr", "etc", "tmp", "dev", "proc", "sys", "run", "data"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    for name in LINKS:
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
    (root / "etc" / "secret").write_text("not for you")
    shutil.copytree(stage / "bin", root / "remit")

    def run(*argv, user="0"):
        places = ("--root", stage / "podman", "--runroot", stage / "podman-run", "--runtime", "runc", "--cgroup-manager", "cgroupfs")
        # On a machine without CAP_SYS_RESOURCE, podman fails to raise the limits that it raises by default.
        options = ("--rm", "--network", "none", "--user", user, "--env", f"XDG_CACHE_HOME=/tmp/cache-{user}", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "-v", "/usr:/usr:ro")
        return subprocess.run(["podman", *places, "run", *options, "--rootfs", root, "/remit/remit", *argv], text=True, capture_output=True, timeout=300)

    yield run
    subprocess.run(["podman", "--root", stage / "podman", "--runroot", stage / "podman-run", "system", "reset", "--force"], capture_output=True)


@pytest.mark.parametrize("user", ["0", "1000"])
def test_doctor_reports_what_works_in_container(container, user):
    done = container("doctor", user=user)
    assert 'The tier "local" does not work here.' in done.stdout, done
    assert 'The tier "landlock", a weaker wall, works here if you choose it: --preset landlock.' in done.stdout


@pytest.mark.parametrize("user", ["0", "1000"])
def test_landlock_tier_must_be_named_and_contains(container, user):
    done = container("run", "-c", "print('ran')", user=user)
    assert done.returncode == 125 and done.stdout == "" and "--preset landlock" in done.stderr, done
    code = (
        "import os, socket, subprocess\n"
        "def attempt(f, *a):\n    try: f(*a)\n    except OSError as e: return e.strerror\n    return 'done'\n"
        "print(attempt(open, '/etc/secret'), attempt(socket.socket), attempt(subprocess.run, ['/bin/true']), attempt(open, '/data/x', 'w'))\n"
        "open('mine', 'w').write('x'); print(os.listdir())"
    )
    done = container("run", "--preset", "landlock", "-c", code, user=user)
    refused, own = done.stdout.splitlines()
    assert "done" not in refused and own == "['mine']" and done.returncode == 0, done
