"""The tier "unsafe_in_process": this interpreter runs the code. Use it only for debugging, never for unreviewed code."""

from __future__ import annotations

import ast
import contextlib
import io
import traceback
from typing import Any, Dict, List, Optional

from ._translate import skipped, truncated


def imports(code: str) -> List[str]:
    """The modules that the code imports, in order."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    found: Dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((alias.name.split(".")[0], None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module.split(".")[0]] = None
    return list(found)


def run_here(code: str, policy: Any, allowed_imports: Optional[List[str]]) -> Dict[str, Any]:
    """Run the code in a separate namespace and capture its output. Nothing is isolated."""
    wrong = [name for name in imports(code) if name not in allowed_imports] if allowed_imports else []
    if wrong:
        return skipped(f"Unauthorized imports detected: {', '.join(wrong)}")
    stdout, stderr, exit_code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            exec(compile(code, "main.py", "exec"), {"__name__": "__main__"})
        except SystemExit as e:
            exit_code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        except Exception:
            traceback.print_exc(file=stderr)
            exit_code = 1
    return {
        "success": exit_code == 0,
        "stdout": truncated(stdout.getvalue().strip(), policy.stdout_max_bytes),
        "stderr": truncated(stderr.getvalue().strip(), policy.stderr_max_bytes),
        "exit_code": exit_code,
    }
