"""Installs packages. The keeper's installer runs this program in a separate jail.

    install.py hosts PIP INDEX NAME...
        prints the hosts that serve the files of these packages, one per line
    install.py packages PIP INDEX|- wheels|sources LINKS... -- REQUIREMENT... [-- NAME==VERSION...]
        puts the installed files into the directory `out`, named by numbers, and into `out/about`
        records with their real names (wheel, file, program: key NUL value NUL)

What follows the second "--" is there already: it is neither installed nor replaced.

PIP is the wheel of pip, or empty if the interpreter has pip. Output on stdout is progress for
people, and on stderr the reason of a failure. The keeper trusts neither the output nor the files.
"""

import os
import stat
import sys

SITE, WHEELS, OUT, TEMP = "/workspace/site", "/workspace/wheels", "/workspace/out", "/workspace/tmp"
PRESENT = "/workspace/present"
# The maximum size of an index page; the largest known has a few MiB.
PAGE_MAX = 64 * 1024 * 1024
# Together with `about`, the maximum number of files that a jail may export.
FILES_MAX = 100_000 - 1


class Failed(Exception):
    """Ends the program. Without arguments the reason was already printed."""


def pip(*arguments):
    """Run a pip command in this process, so that no other process is needed."""
    from pip._internal.cli.main import main

    settings = ["--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-color", "--retries=2"]
    code = main([*settings, *arguments])
    if code:
        raise Failed


# ---- finding hosts ----


def page_links(url):
    """Return the URLs on a page of the index, in either format (PEP 503, PEP 691)."""
    import json
    import ssl
    import urllib.parse
    import urllib.request

    from pip._vendor import certifi

    request = urllib.request.Request(
        url, headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1", "User-Agent": "remit"}
    )
    context = ssl.create_default_context(cafile=certifi.where())
    with urllib.request.urlopen(request, timeout=60, context=context) as answer:
        body = answer.read(PAGE_MAX).decode("utf-8", "replace")
        if "json" in answer.headers.get("Content-Type", ""):
            found = [str(file.get("url", "")) for file in json.loads(body).get("files", [])]
        else:
            found = html_links(body)
        return [urllib.parse.urljoin(answer.geturl(), link) for link in found]


def html_links(body):
    from html.parser import HTMLParser

    found = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.extend(value for name, value in attributes if tag == "a" and name == "href" and value)

    Links().feed(body)
    return found


def hosts(index, names):
    import urllib.error
    import urllib.parse

    seen = set()
    for name in names:
        url = f"{index.rstrip('/')}/{name}/"
        try:
            links = page_links(url)
        except urllib.error.HTTPError as e:
            # pip reports a missing package better; any other status is an error of the index.
            if e.code != 404:
                raise
            continue
        for link in links:
            place = urllib.parse.urlsplit(link)
            if place.scheme in ("http", "https") and place.hostname:
                port = place.port or (443 if place.scheme == "https" else 80)
                seen.add((place.hostname, port, "tls" if place.scheme == "https" else "plain"))
    for host, port, kind in sorted(seen):
        print(f"{host}:{port}:{kind}")


# ---- installing ----


def plain(name):
    """The name of a package as an index knows it (PEP 503)."""
    return "-".join(filter(None, name.lower().replace("_", "-").replace(".", "-").split("-")))


def stand_in(name, version):
    """Write a wheel without files for a package that is there already. As a constraint it makes pip choose this
    version without fetching it, whether or not the index has it."""
    import zipfile

    stem = f"{name.replace('-', '_')}-{version.replace('-', '_')}"
    path = f"{PRESENT}/{stem}-py3-none-any.whl"
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: remit\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in info.items():
            wheel.writestr(f"{stem}.dist-info/{inner}", text)
    return f"{name} @ file://{path}"


def constraints(present):
    """Write a file that keeps what is there as it is. Return the arguments for it."""
    if not present:
        return []
    os.mkdir(PRESENT)
    path = f"{PRESENT}/constraints.txt"
    with open(path, "w") as f:
        for one in present:
            name, _, version = one.partition("==")
            f.write(stand_in(name, version) + "\n")
    return ["--constraint", path]


def fetch(index, sources, links, wanted, present):
    """Fetch wheels of the requirements and their dependencies. Return their paths."""
    where = constraints(present)
    where += ["--no-index"] if index == "-" else ["--index-url", index]
    for folder in links:
        where += ["--find-links", folder]
    # Sources are allowed only on request, because `pip wheel` executes their build code.
    verb = ["wheel", "--wheel-dir"] if sources else ["download", "--only-binary", ":all:", "--dest"]
    pip(*verb, WHEELS, "--progress-bar", "off", *where, "--", *wanted)
    have = {plain(one.partition("==")[0]) for one in present}
    return sorted(os.path.join(WHEELS, name) for name in os.listdir(WHEELS) if plain(name.split("-")[0]) not in have)


def fingerprint(path):
    import hashlib

    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def describe(wheel):
    """NAME==VERSION SHA256"""
    name, version = os.path.basename(wheel).split("-")[:2]
    return f"{name.replace('_', '-').lower()}=={version} {fingerprint(wheel)}"


def unpack(wheels):
    pip("install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--no-warn-script-location", "--target", SITE, "--", *wheels)


def compile_all():
    """Compile to byte code that is used without checking its source, which cannot change any more."""
    import compileall
    import py_compile

    print("Compiling")
    compileall.compile_dir(
        SITE, maxlevels=64, quiet=2, ddir="/.remit/packages", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )


def all_files():
    """Yield all paths below SITE, in an order that does not depend on the file system."""
    for folder, folders, names in os.walk(SITE):
        folders.sort()
        for name in sorted(names) + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISREG(mode):
                raise Failed(f"{os.path.relpath(path, SITE)} is a link or special file; packages may contain only regular files")
            yield path, bool(mode & 0o100)



def give(described):
    """Move all files to names that are numbers. Their real names may be hostile, so they are written as data."""
    os.mkdir(OUT)
    about = [("wheel", text) for text in described]
    found = list(all_files())
    if len(found) > FILES_MAX:
        raise Failed(f"too many files: {len(found)} (limit {FILES_MAX})")
    for number, (path, program) in enumerate(found):
        about.append(("program" if program else "file", os.path.relpath(path, SITE)))
        os.rename(path, os.path.join(OUT, str(number)))
    with open(os.path.join(OUT, "about"), "wb") as f:
        for key, value in about:
            f.write(os.fsencode(key) + b"\0" + os.fsencode(value) + b"\0")


def packages(index, kind, rest):
    cut = rest.index("--")
    for folder in (SITE, WHEELS, TEMP):
        os.mkdir(folder)
    # pip moves files from here to SITE, so both must be in one file system.
    os.environ["TMPDIR"] = TEMP
    wanted, _, present = "\0".join(rest[cut + 1 :]).partition("\0--\0")
    wheels = fetch(index, kind == "sources", rest[:cut], wanted.split("\0"), present.split("\0") if present else [])
    described = [describe(wheel) for wheel in wheels]
    print("Installing", *(text.split()[0] for text in described))
    unpack(wheels)
    compile_all()
    give(described)


def main():
    verb, place, index, *rest = sys.argv[1:]
    os.umask(0o022)
    if place:
        sys.path.insert(0, place)
    try:
        if verb == "hosts":
            hosts(index, rest)
        else:
            packages(index, rest[0], rest[1:])
    except Failed as e:
        if e.args:
            print(f"ERROR: {e}", file=sys.stderr)
        sys.exit(1)
    except OSError as e:
        print(f"ERROR: {e}", file=sys.stderr)
        sys.exit(1)


main()
