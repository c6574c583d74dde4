"""The build backend (PEP 517): runs Meson and packs wheels and sdists.

Settings, as `pip install . --config-settings NAME=VALUE`:

    build-dir=DIR   build in this folder, so that the next build is incremental
    pure=true       make a wheel without binaries, for systems other than Linux: it can be
                    imported, and raises Unsupported
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "remit"
NAME = "remit"
# The minor version of glibc of the oldest manylinux tag with this form of name.
LEAST_GLIBC = 17
# The libraries that every system of a manylinux level has.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[\w-]*)\.so\.\d")
# These are not needed to build a wheel.
NOT_IN_SDIST = "tests/", ".ci/", "."
EPOCH = 1577836800  # 2020-01-01: a fixed time makes builds reproducible, and zip archives cannot store times before 1980

Settings = "dict[str, str] | None"


def version() -> str:
    return (ROOT / "VERSION").read_text().strip()


METADATA = f"""\
Metadata-Version: 2.1
Name: {NAME}
Version: {version()}
Summary: Runs Python that a language model wrote, strictly within its remit: kept by the kernel or refused
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: C
Classifier: Typing :: Typed
"""
ENTRY_POINTS = f"[console_scripts]\nremit = {NAME}.__main__:main\n"


# ---- building ----


def is_pure(settings: Settings) -> bool:
    return sys.platform != "linux" or (settings or {}).get("pure") == "true"


# Build requirements that no Python index has, with their Debian packages.
PROGRAMS = {"pkg-config": "pkg-config", "strip": "binutils"}
HEADERS = {
    "stdio.h": "libc6-dev",
    "linux/landlock.h": "linux-libc-dev",
    "jansson.h": "libjansson-dev",
    "mbedtls/ssl.h": "libmbedtls-dev",
    "seccomp.h": "libseccomp-dev",
}


def compiler() -> list[str] | None:
    """The compiler that Meson will use."""
    wanted = shlex.split(os.environ.get("CC", ""))
    found = [argv for argv in ([wanted] if wanted else [["cc"], ["gcc"], ["clang"]]) if shutil.which(argv[0])]
    return found[0] if found else None


def has_header(argv: list[str] | None, header: str) -> bool:
    source = f"#include <{header}>\n"
    flags = shlex.split(os.environ.get("CPPFLAGS", "") + " " + os.environ.get("CFLAGS", ""))
    return argv is not None and not subprocess.run([*argv, *flags, "-E", "-xc", "-"], input=source.encode(), capture_output=True).returncode


def packages_missing() -> list[str]:
    cc = compiler()
    missing = [] if cc else ["gcc"]
    missing += [package for name, package in PROGRAMS.items() if not shutil.which(name)]
    missing += [package for header, package in HEADERS.items() if not has_header(cc, header)]
    return missing if pathlib.Path(sysconfig.get_path("include"), "Python.h").exists() else [*missing, "python3-dev"]


def check_machine() -> None:
    """Check the requirements before anything is downloaded or built."""
    checked = subprocess.run(["sh", str(ROOT / "tools" / "setup.sh"), "check"], stderr=subprocess.PIPE, text=True)
    if checked.returncode:
        raise SystemExit(checked.stderr.strip())
    if missing := packages_missing():
        raise SystemExit(
            f"remit: to build here, Remit needs these Debian packages or their equivalents: {' '.join(missing)}. Root can "
            "install them by tools/setup.sh. A wheel of Remit that was built elsewhere (make wheel) needs none of them."
        )


def has_meson() -> bool:
    if not shutil.which("meson"):
        return False
    shown = subprocess.run(["meson", "--version"], env=tools_environment(), capture_output=True, text=True).stdout
    return shown.partition(".")[0].isdecimal() and int(shown.partition(".")[0]) >= 1


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """Require Meson and Ninja from the index only if the system has none, or none that is new enough."""
    if is_pure(settings):
        return []
    check_machine()
    return ([] if has_meson() else ["meson>=1.0"]) + ([] if shutil.which("ninja") else ["ninja"])


get_requires_for_build_sdist = get_requires_for_build_wheel


def tools_environment() -> dict[str, str]:
    """pip isolates builds by a PYTHONPATH that hides the system's modules, and thereby breaks the system's Meson."""
    env = dict(os.environ)
    if subprocess.run(["meson", "--version"], capture_output=True).returncode:
        env.pop("PYTHONPATH", None)
    return env


def build(folder: pathlib.Path, *targets: str) -> None:
    check_machine()
    env = tools_environment()
    command = ["meson", "setup", str(folder), "-Dman=disabled", f"-Dpython={sys.executable}"]
    if (folder / "build.ninja").exists():
        command.append("--reconfigure")
    for argv in (command, ["ninja", "-C", str(folder), *targets]):
        # Frontends such as pip show the output of a backend only if it fails.
        if subprocess.run(argv, cwd=ROOT, env=env, stdout=sys.stderr).returncode:
            raise SystemExit(f"remit: {argv[0]} failed, see above")


class Build:
    """The folder of a build. A temporary one is removed afterwards."""

    def __init__(self, settings: Settings):
        named = (settings or {}).get("build-dir")
        self.temporary = None if named else tempfile.TemporaryDirectory(prefix="remit-build-")
        self.folder = pathlib.Path(self.temporary.name if self.temporary else named).resolve()  # type: ignore[arg-type]

    def __enter__(self) -> pathlib.Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        if self.temporary:
            self.temporary.cleanup()


def stripped(path: pathlib.Path) -> bytes:
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "-o", out.name, str(path)], check=True)
        return pathlib.Path(out.name).read_bytes()


def native_files(folder: pathlib.Path) -> dict[str, bytes]:
    """The compiled files, and the runtime that runs inside the jail."""
    files = {
        f"{NAME}/_core.abi3.so": stripped(folder / "python" / "_core.abi3.so"),
        f"{NAME}/_native/remit": stripped(folder / "remit"),
        f"{NAME}/_native/remit-bench": stripped(folder / "remit-bench"),
        f"{NAME}/_native/runtime/_remit.abi3.so": stripped(folder / "runtime" / "_remit.abi3.so"),
    }
    for path in sorted((folder / "runtime").glob("*.py")):
        files[f"{NAME}/_native/runtime/{path.name}"] = path.read_bytes()
    return files


def pure_files() -> dict[str, bytes]:
    found = sorted(p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".pyi", ".typed") and p.name != "_fields.py")
    return {f"{NAME}/{path.relative_to(PACKAGE)}": path.read_bytes() for path in found}


def made_fields(folder: pathlib.Path) -> bytes:
    if sys.platform == "linux":
        build(folder, "python/_fields.py")
        return (folder / "python" / "_fields.py").read_bytes()
    if not (PACKAGE / "_fields.py").exists():
        raise SystemExit(
            "remit: on systems other than Linux only the sdist can be installed, not a checkout, since one file must be "
            "generated on Linux"
        )
    return (PACKAGE / "_fields.py").read_bytes()


# ---- the level of the system that the binaries need ----


def glibc_needed(binary: bytes) -> int:
    """Returns the minor version of the newest glibc symbol that a binary needs, or 0. Fails if it needs any other library."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(binary)
        f.flush()
        shown = subprocess.run(["readelf", "-W", "-d", "-V", f.name], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", shown):
        if not SYSTEM_LIBRARIES.fullmatch(library):
            raise SystemExit(f"remit: a binary needs {library}, which may be missing on other systems")
    return max((int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)\b", shown)), default=0)


def platform_tag(files: dict[str, bytes]) -> str:
    machine = subprocess.run(["uname", "-m"], check=True, capture_output=True, text=True).stdout.strip()
    needed = [glibc_needed(data) for data in files.values() if data.startswith(b"\x7fELF")]
    return f"manylinux_2_{max(LEAST_GLIBC, *needed)}_{machine}"


# ---- the wheel ----


def dist_info(tag: str, pure: bool) -> dict[str, bytes]:
    """The files of dist-info, except RECORD, which comes last."""
    base = f"{NAME}-{version()}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: remit\nRoot-Is-Purelib: {str(pure).lower()}\nTag: {tag}\n"
    files = {f"{base}/METADATA": METADATA, f"{base}/WHEEL": wheel}
    if not pure:
        files[f"{base}/entry_points.txt"] = ENTRY_POINTS
    return {name: text.encode() for name, text in files.items()}


def prepare_metadata_for_build_wheel(directory: str, settings: Settings = None) -> str:
    """Write the metadata without a build. The tag is only known after a build, so this one is a placeholder."""
    for name, data in dist_info("py3-none-any", is_pure(settings)).items():
        path = pathlib.Path(directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return f"{NAME}-{version()}.dist-info"


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write_wheel(path: pathlib.Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if name.endswith(("/remit", "/remit-bench")) else 0o100644) << 16
            wheel.writestr(info, data)


def build_wheel(directory: str, settings: Settings = None, metadata_directory: str | None = None) -> str:
    pure = is_pure(settings)
    files = pure_files()
    with Build(settings) as folder:
        if not pure:
            build(folder)
            files.update(native_files(folder))
        files[f"{NAME}/_fields.py"] = made_fields(folder)
    tag = "py3-none-any" if pure else f"cp39-abi3-{platform_tag(files)}"
    files.update(dist_info(tag, pure))
    record = f"{NAME}-{version()}.dist-info/RECORD"
    files[record] = ("".join(record_line(*item) for item in files.items()) + f"{record},,\n").encode()
    name = f"{NAME}-{version()}-{tag}.whl"
    write_wheel(pathlib.Path(directory, name), files)
    return name


# ---- the sdist ----


def sources() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and not name.startswith(NOT_IN_SDIST)]


def build_sdist(directory: str, settings: Settings = None) -> str:
    base = f"{NAME}-{version()}"
    files = {str(path.relative_to(ROOT)): path for path in sources() if path.is_file()}
    with Build(settings) as folder:
        fields = made_fields(folder)
    made = {"PKG-INFO": METADATA.encode(), "python/remit/_fields.py": fields}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted({*files, *made}):
            data = made[name] if name in made else files[name].read_bytes()
            info = tarfile.TarInfo(f"{base}/{name}")
            info.size, info.mtime = len(data), EPOCH
            info.mode = 0o755 if name in files and files[name].stat().st_mode & 0o100 else 0o644
            tar.addfile(info, io.BytesIO(data))
    pathlib.Path(directory, f"{base}.tar.gz").write_bytes(gzip.compress(raw.getvalue(), mtime=EPOCH))
    return f"{base}.tar.gz"
