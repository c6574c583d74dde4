"""The OpenAPI document compared with its server, by schemathesis.

Nothing is excluded: code is random text, so programs end by themselves or at the server's timeout, and so do streams.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from conftest import ROOT, make_remit, users
from served import serve

sys.path.insert(0, str(ROOT / "tests" / "python"))
import venvs  # noqa: E402

SECONDS = 10
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance",
    "negative_data_rejection", "unsupported_method", "allow_header_conformance", "ignored_auth", "use_after_free",
)  # fmt: skip


def test_server_conforms_to_its_openapi_document(stage, tmp_path):
    command = venvs.framework("openapi").parent / "schemathesis"
    with serve(make_remit(users()[-1], stage), "--timeout", "1s", "--cpu", "1s") as served:
        wanted = sum(map(len, served.json("GET", "/v1/openapi.json")["paths"].values()))

        def run_phases(*how: str) -> str:
            done = subprocess.run(
                [command, "run", f"http://127.0.0.1:{served.port}/v1/openapi.json", "-H", f"Authorization: Bearer {served.token}", "--checks", ",".join(CHECKS),
                 *how, "--seed", "1", "--request-timeout", "60", "--continue-on-failure", "--warnings", "off", "--no-color"],
                cwd=tmp_path, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert done.returncode == 0, (done.stdout[-12000:], done.stderr[-2000:])
            return done.stdout

        each = run_phases("--phases", "coverage")
        more = run_phases("--phases", "fuzzing,stateful", "--max-examples", "5", "--max-time", str(SECONDS))
        ran = sum(float(n) for n in re.findall(r"^remit_programs_total\{.*\} (\S+)$", served.request("GET", "/metrics")[2].decode(), re.M))
    # All operations except the one for the document itself, which has been read by then
    assert f"Tested: {wanted - 1}" in each, each
    # The requests reached programs, and were not all refused earlier.
    assert ran > 5, (each, more)
