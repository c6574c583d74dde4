"""Installs packages, as a program in a jail of its own; the keeper's installer gives it to a run.

    install.py hosts PIP INDEX NAME...
        where the files of these packages are: a line for each host
    install.py packages PIP INDEX|- wheels|sources LINKS... -- REQUIREMENT...
        leaves what is to be kept in the folder `out`: files named by their number, and in `about`
        records that say what each is called (wheel, file, program: key NUL value NUL)

PIP is the wheel of pip, or empty if the interpreter has one. What this prints is progress for people,
and on stderr the reason of a failure; nobody trusts a word or a file of it.
"""

import os
import stat
import sys

SITE, WHEELS, OUT, TEMP = "/workspace/site", "/workspace/wheels", "/workspace/out", "/workspace/tmp"
# Of an index page; the largest known has a few MiB.
PAGE_MAX = 64 * 1024 * 1024
# With `about` as many as leave a jail.
FILES_MAX = 100_000 - 1


class Failed(Exception):
    """What to say about it is said."""


def pip(*arguments):
    """pip, as its command would run it, in this process: it need not start another."""
    from pip._internal.cli.main import main

    settings = ["--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-color", "--retries=2"]
    code = main([*settings, *arguments])
    if code:
        raise Failed


# ---- where the files are ----


def page_links(url):
    """The addresses on a page of the index, in either of its forms (PEP 503, PEP 691)."""
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
            # What is not there pip will say better; all else is the index's fault.
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


def fetch(index, sources, links, wanted):
    """Wheels of all that is wanted and of what that needs."""
    where = ["--no-index"] if index == "-" else ["--index-url", index]
    for folder in links:
        where += ["--find-links", folder]
    # The second word would start programs of the packages.
    verb = ["wheel", "--wheel-dir"] if sources else ["download", "--only-binary", ":all:", "--dest"]
    pip(*verb, WHEELS, "--progress-bar", "off", *where, "--", *wanted)
    return sorted(os.path.join(WHEELS, name) for name in os.listdir(WHEELS))


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
    """Byte code that is believed without a look at its source: nobody changes that any more."""
    import compileall
    import py_compile

    print("Compiling")
    compileall.compile_dir(
        SITE, maxlevels=64, quiet=2, ddir="/.remit/packages", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )


def all_files():
    """Paths below the site, in an order that does not depend on the file system."""
    for folder, folders, names in os.walk(SITE):
        folders.sort()
        for name in sorted(names) + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISREG(mode):
                raise Failed(f"{os.path.relpath(path, SITE)} is a link or special, and packages have only files and folders")
            yield path, bool(mode & 0o100)


def give(described):
    """Files by number: their names, whatever they are, are data."""
    os.mkdir(OUT)
    about = [("wheel", text) for text in described]
    found = list(all_files())
    if len(found) > FILES_MAX:
        raise Failed(f"{len(found)} are too many files: {FILES_MAX} are the most")
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
    # In the same file system as what is moved from there.
    os.environ["TMPDIR"] = TEMP
    wheels = fetch(index, kind == "sources", rest[:cut], rest[cut + 1 :])
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
