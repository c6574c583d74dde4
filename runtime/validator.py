"""Checks the syntax tree before anything runs.

This is advice, never a wall: code can evade it with `getattr`, strings or C extensions, but not the
jail.
"""

import ast
import builtins

import cell
import runner

lists = cell.own_module("validator_lists")
errors = cell.own_module("errors")
clip = errors.clip

FINDINGS = 100
# Limits in bytes: all findings must fit into one frame.
VALUE_MAX = 300
HINT_MAX = 600


class Finding:
    """A rejected part of the code: where it is, which field rejects it, and what to do."""

    module = None  # the missing module

    def __init__(self, node, name, value, rule, hint=""):
        hint = hint or "Do without it, or have the policy allow it."
        self.line = getattr(node, "lineno", None)
        column = getattr(node, "col_offset", None)
        self.column = None if column is None else column + 1
        self.name, self.value, self.rule, self.hint = name, value, rule, hint

    def place(self):
        return self.line or 0, self.column or 0

    def records(self):
        yield "finding_line", str(self.line or "")
        yield "finding_column", str(self.column or "")
        for key in ("name", "value", "rule"):
            yield f"finding_{key}", clip(getattr(self, key), VALUE_MAX)
        yield "finding_hint", clip(self.hint, HINT_MAX)


# ---- analysing the code ----


def imports(tree):
    """Yield (node, module, name or None) of each import, with the full name of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, None
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield node, node.module, alias.name


def bound_names(tree):
    """Return the names that the code defines itself."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            found.add(node.name)
        elif hasattr(ast, "MatchAs") and isinstance(node, (ast.MatchAs, ast.MatchStar)):
            found.add(node.name)
    return found


def pairs(target, value):
    """Yield (name, node) of an assignment, also of tuples."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for one, other in zip(target.elts, value.elts):
            yield from pairs(one, other)


def assignments(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from pairs(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value:
            yield from pairs(node.target, node.value)


def names_of_os(tree):
    """Return all names of the module os: imports, and plain assignments of them."""
    found = {alias.asname or "os" for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
             if alias.name == "os" or (alias.name.startswith("os.") and not alias.asname)}  # fmt: skip
    more = [(name, node.id) for name, node in assignments(tree) if isinstance(node, ast.Name)]
    while True:
        new = {name for name, value in more if value in found} - found
        if not new:
            return found
        found |= new


def is_standard(name):
    """Whether a name is a builtin of Python, not one that the runner added."""
    there = getattr(builtins, name, None)
    return there is not None and getattr(there, "__module__", None) in ("builtins", "_sitebuiltins", None)


def uses_of_os(tree):
    """Yield (node, attribute) of each use of an attribute of os."""
    names = names_of_os(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield node, node.attr
    for node, module, name in imports(tree):
        if module == "os" and name:
            yield node, name
        elif module.startswith("os."):
            yield node, module.split(".")[1]


# ---- rules: each yields findings ----


class Rules:
    """The lists of the policy; where the policy sets none, those of its mode."""

    def __init__(self, task):
        self.mode = task.one.get("validator")
        self.grants = set(task.many["grant"])
        self.given = {name: frozenset(task.many[name]) for name in runner.RULES}
        self.is_strict = self.mode == "strict"

    def chosen(self, name, strict):
        """Return the list of the policy, else that of `strict`, else None."""
        return self.given[name] or (strict if self.is_strict else None)

    def check(self, tree):
        for rule in (self.of_imports, self.of_builtins, self.of_os, self.of_nodes, self.of_dunders):
            yield from rule(tree)

    def of_imports(self, tree):
        allowed = self.chosen("allowed_imports", lists.STRICT_IMPORTS)
        blocked = self.chosen("blocked_imports", lists.STRICT_BLOCKED_IMPORTS) or ()
        reported = set()
        for node, module, name in imports(tree):
            top = module.partition(".")[0]
            if top in blocked:
                found = f"import of {top!r} is blocked by blocked_imports", "blocked_imports", self.hint_of_import(top, module)
            elif allowed is not None and top not in allowed:
                hint = "Allowed: " + ", ".join(sorted(allowed))
                found = f"import of {top!r} is not in allowed_imports", "allowed_imports", hint
            elif allowed is None and self.mode:
                hint = self.hint_of_import(module, f"{module}.{name}", top)
                found = hint and (f"import of {module!r} will not work here", "validator", hint)
            else:
                found = None
            if found and (node, found) not in reported:
                reported.add((node, found))
                value, rule, hint = found
                yield Finding(node, "ImportError", value, rule, hint)

    def hint_of_import(self, *names):
        for name in names:
            grant, hint = lists.RELAXED_IMPORTS.get(name, (None, ""))
            if hint and grant not in self.grants:
                return hint
        return ""

    def of_builtins(self, tree):
        allowed = self.chosen("allowed_builtins", lists.STRICT_BUILTINS)
        blocked = self.chosen("blocked_builtins", lists.STRICT_BLOCKED_BUILTINS)
        relaxed = lists.RELAXED_BUILTINS if self.mode == "relaxed" else {}
        own = bound_names(tree)
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name) or node.id in own:
                continue
            if blocked and node.id in blocked:
                hint = lists.RELAXED_BUILTINS.get(node.id, "")
                yield Finding(node, "NameError", f"{node.id!r} is blocked by blocked_builtins", "blocked_builtins", hint)
            elif allowed and id(node) in called and is_standard(node.id) and node.id not in allowed:
                hint = "Allowed: " + ", ".join(sorted(allowed))
                yield Finding(node, "NameError", f"a call of {node.id!r} is not in allowed_builtins", "allowed_builtins", hint)
            elif not blocked and node.id in relaxed:
                yield Finding(node, "NameError", f"{node.id!r} should not be used here", "validator", relaxed[node.id])

    def of_os(self, tree):
        allowed = self.chosen("allowed_os_attrs", lists.STRICT_OS)
        for node, name in uses_of_os(tree):
            if allowed is not None and name not in allowed:
                hint = "Allowed: " + ", ".join(sorted(allowed))
                yield Finding(node, "AttributeError", f"os.{name} is not in allowed_os_attrs", "allowed_os_attrs", hint)
            elif allowed is None and self.mode and name in lists.RELAXED_OS and "subprocess_execution" not in self.grants:
                yield Finding(node, "AttributeError", f"os.{name} will not work here", "validator", lists.PROCESSES)

    def of_nodes(self, tree):
        allowed = self.chosen("allowed_nodes", lists.STRICT_NODES)
        if allowed is None:
            return
        place = tree
        for node in ast.walk(tree):
            place = node if hasattr(node, "lineno") else place
            name = type(node).__name__
            if name not in allowed:
                hint = "Write the code without it; validator=relaxed allows every kind of statement."
                yield Finding(place, "SyntaxError", f"{name} is not in allowed_nodes", "allowed_nodes", hint)

    def of_dunders(self, tree):
        if not self.is_strict:
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr.endswith("__"):
                if node.attr not in lists.STRICT_DUNDERS:
                    hint = "Use the function or operator that it stands for."
                    yield Finding(node, "AttributeError", f"the attribute {node.attr!r} is not allowed", "validator", hint)


# ---- findings ----


def missing_modules(tree):
    for node, module, _name in imports(tree):
        top = module.partition(".")[0]
        if not errors.can_be_imported(top):
            hint = "It is not installed in this interpreter; do without it, or have it installed."
            found = Finding(node, "ModuleNotFoundError", f"No module named {top!r}", "tier", hint)
            found.module = top
            yield found


def find(task, job, program):
    """Return all findings."""
    if isinstance(program, BaseException):
        if task.one["tier"] != "static":
            return []  # an ordinary error of the program
        found = Finding(None, type(program).__name__, str(program), "tier", "Correct this first: the rest was not checked.")
        found.line, found.column = getattr(program, "lineno", None), getattr(program, "offset", None)
        return [found]
    try:
        tree = compile(job.code, job.name, "exec", cell.ONLY_AST | cell.TOP_LEVEL_AWAIT, True)
        found = list(Rules(task).check(tree))
        if task.one["tier"] == "static":
            found += missing_modules(tree)
    except (MemoryError, RecursionError):
        return [Finding(None, "MemoryError", "the code is too large to be checked", "validator", "Make it smaller.")]
    return unique(sorted(found, key=Finding.place))



def unique(found):
    """Remove findings with the same place and text."""
    seen = {}
    for one in found:
        seen.setdefault((one.place(), one.value), one)
    return list(seen.values())


def check(task, job, program):
    """Return None, or the records of a rejection: the first finding, then all of them."""
    found = find(task, job, program)
    if not found:
        return None
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    head = [
        ("name", first.name),
        ("value", clip(first.value, VALUE_MAX) + more),
        ("line", str(first.line or "")),
        ("column", str(first.column or "")),
        *errors.missing_record(first.module),
    ]
    return head + [record for one in found[:FINDINGS] for record in one.records()]
