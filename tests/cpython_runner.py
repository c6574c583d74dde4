"""Runs one module of CPython's tests and writes one line for each test. Started by tests/cpython.py, outside and in a jail.

    cpython_runner.py [--child] MODULE <REQUEST

REQUEST is a JSON object with `only`, a list of tests or null, and `skip`, a list of tests. With --child a second interpreter,
started as a program starts one, runs the tests.

It uses nothing but the standard library and the package `test`.
"""

import collections
import json
import linecache
import os
import subprocess
import sys
import tempfile
import unittest

MARK = "\x1e"
WHY_LENGTH = 1500


class Report(unittest.TestResult):
    """Writes a line when a test begins and when it ends, so that a hang or a crash has a name."""

    def __init__(self, fd, names):
        super().__init__()
        self.fd = fd
        self.names = names
        self.pid = os.getpid()
        self.forget()

    def forget(self):
        self.passed = False
        self.failed = False
        self.why = ""

    def write(self, **line):
        if os.getpid() == self.pid:  # a forked child that leaves its test must not report
            text = f"{MARK}{json.dumps(line)}\n".encode()
            while text:
                text = text[os.write(self.fd, text):]

    def startTest(self, test):
        super().startTest(test)
        self.forget()
        self.write(start=self.names[id(test)])

    def stopTest(self, test):
        super().stopTest(test)
        outcome = "fail" if self.failed else "ok" if self.passed else "skip"
        self.write(end=self.names[id(test)], outcome=outcome, why=self.why)

    def addSuccess(self, test):
        self.passed = True

    def addSkip(self, test, reason):
        self.why = self.why or reason
        if id(test) not in self.names and not isinstance(test, unittest.case._SubTest):
            self.write(end=test.id(), outcome="skip", why=reason)  # a whole class

    def addError(self, test, err):
        self.failed = True
        self.why = self._exc_info_to_string(err, test)[-WHY_LENGTH:]
        if id(test) not in self.names:
            self.write(end=test.id(), outcome="fail", why=self.why)  # setUpClass, setUpModule

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.failed = True
            self.why = self._exc_info_to_string(err, test)[-WHY_LENGTH:]

    def addExpectedFailure(self, test, err):
        self.passed = True

    def addUnexpectedSuccess(self, test):
        self.failed = True
        self.why = "unexpected success"


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def named(tests):
    """Gives each test a name that no other has, the same in every run."""
    seen = collections.Counter()
    for test in tests:
        seen[test.id()] += 1
        count = seen[test.id()]
        yield test, test.id() if count == 1 else f"{test.id()} ({count})"


def run(module, request):
    from test import support

    support.use_resources = []  # as `python -m test` without -u
    # Marks have a separate descriptor, and what tests print goes elsewhere.
    fd = os.dup(1)
    os.dup2(2, 1)
    tests = list(named(flat(unittest.defaultTestLoader.loadTestsFromName(f"test.{module}"))))
    only, skip = request["only"], set(request["skip"])
    wanted = [(test, name) for test, name in tests if name not in skip and (only is None or name in only)]
    report = Report(fd, {id(test): name for test, name in wanted})
    unittest.TestSuite(test for test, _ in wanted).run(report)
    report.write(done=True)


def run_child(arguments):
    """A program arrives in a jail as text, so its file is written first."""
    path = os.path.join(tempfile.mkdtemp(), "main.py")
    with open(path, "w") as file:
        file.writelines(linecache.getlines(__file__, globals()))
    return subprocess.run([sys.executable, path, *arguments]).returncode


def main():
    if sys.argv[1] == "--child":
        sys.exit(run_child(sys.argv[2:]))
    module = sys.argv.pop()
    request = json.load(sys.stdin)
    run(module, request)


if __name__ == "__main__":
    main()
