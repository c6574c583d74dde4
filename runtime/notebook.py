"""Notebook lines in the cells of a session: !command, %line, %%cell and help?, as Python.

Valid Python is never looked at: this module gets a cell that did not compile. It replaces each
notebook line by a number at the same place, parses the rest as Python, and puts calls into the
tree where the numbers are. A number that is not a statement or the value of an assignment there,
for example because the line was part of a string, means that the cell stays the error it was.
Lines keep their numbers, and the columns of Python after %time and %timeit are right.
"""

import ast
import re

import cell

magics = cell.own_module("magics")

SPACE = " \t\f"
# Targets of an assignment whose value is a notebook line.
ASSIGNMENT = re.compile(r"[^\W\d]\w*(?:\s*,\s*[^\W\d]\w*)*\s*=\s*(?=[!%])")
HELP = re.compile(r"(?P<before>\?\??)\s*(?P<first>%{0,2}[\w.]+)\s*;?$|(?P<second>%{0,2}[\w.]+)(?P<after>\?\??)\s*;?$")
LINE = re.compile(r"%(?P<name>[^\W\d]\w*)[ \t]*(?P<rest>.*)$", re.S)
CELL = re.compile(r"%%(?P<name>[^\W\d]\w*)[ \t]*(?P<rest>.*)$")
# Comments, strings and brackets decide where statements begin.
TOKEN = re.compile(r"#|\"\"\"|'''|[\"'()\[\]{}]")
ENDS = {quote: re.compile(rf"\\.|{quote}") for quote in ('"', "'", '"""', "'''")}
TIMEIT_OPTION = re.compile(r"-(?P<key>[nrp])[ \t]*(?P<number>\d{1,9})(?:[ \t]+|$)|-q(?:[ \t]+|$)")
TIMEIT = "def _timeit(_it, _timer):\n    _t0 = _timer()\n    for _i in _it: pass\n    return _timer() - _t0"
# Commands that models write without the exclamation mark.
COMMANDS = frozenset(("apt", "apt-get", "cd", "conda", "curl", "git", "ls", "npm", "pip", "pip3", "sudo", "uv", "wget"))


def is_continued(line):
    """Whether the line ends in a backslash that is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


# ---- where statements begin ----


class Scanner:
    """Follows strings, brackets and continued lines."""

    def __init__(self):
        self.quote = ""
        self.depth = 0
        self.is_joined = False

    def at_statement(self):
        return not (self.quote or self.depth or self.is_joined)

    def pass_line(self, line):
        at = 0
        self.is_joined = False
        while at < len(line):
            found = (ENDS[self.quote] if self.quote else TOKEN).search(line, at)
            if found is None:
                break
            at = found.end()
            token = found[0]
            if token == "#":
                return
            if self.quote:
                if token == self.quote:
                    self.quote = ""
            elif token[0] in "\"'":
                self.quote = token
            else:
                self.depth = max(0, self.depth + (1 if token in "([{" else -1))
        if len(self.quote) == 1 and not is_continued(line):
            self.quote = ""  # such a string ends with its line; it is not valid Python
        self.is_joined = not self.quote and line.endswith("\\")


# ---- notebook lines ----


class Place:
    """Of a notebook line: its number, its column in bytes, and what the cell has there."""

    def __init__(self, name, lines, index, column):
        self.name = name
        self.text = lines[index]
        self.number = index + 1
        self.column = len(self.text[:column].encode("utf-8", "replace"))
        self.end = len(self.text.encode("utf-8", "replace"))

    def error(self, message):
        return SyntaxError(message, (self.name, self.number, self.column + 1, self.text))

    def set_on(self, tree):
        """Give all nodes the place of the whole line."""
        for node in ast.walk(tree):
            if "lineno" in node._attributes:
                node.lineno = node.end_lineno = self.number
                node.col_offset, node.end_col_offset = self.column, self.end
        return tree

    def call(self, function, *arguments):
        """A call of the shell, which gets texts, numbers and trees."""
        shell = f"get_ipython().{function}()"
        tree = self.set_on(ast.parse(shell, mode="eval").body)
        tree.args = [a if isinstance(a, ast.AST) else self.set_on(ast.Constant(a)) for a in arguments]
        return tree

    def statements(self, rest):
        """The Python with which the line ends, at its place."""
        try:
            tree = compile(rest, self.name, "exec", cell.ONLY_AST | cell.TOP_LEVEL_AWAIT, True)
        except SyntaxError as exc:
            raise self.error(f"{exc.msg} (in the Python of this line)") from None
        if not tree.body:
            raise self.error("a Python statement is missing; write it after the word")
        before = len(self.text.rstrip().encode("utf-8", "replace")) - len(rest.encode("utf-8", "replace"))
        before = max(before, self.column)  # of a line that goes on in the next one
        for node in ast.walk(tree):
            if "lineno" in node._attributes:
                node.lineno = node.end_lineno = self.number
                node.col_offset += before
                node.end_col_offset += before
        return tree.body


def as_statement(statement, value):
    statement.value = value
    return [statement]


def shell_line(place, statement, text):
    if text.startswith("!!"):
        return as_statement(statement, place.call("getoutput", text[2:].strip()))
    function = "system" if isinstance(statement, ast.Expr) else "getoutput"
    return as_statement(statement, place.call(function, text[1:].strip()))


def time_line(place, statement, rest):
    body = place.statements(rest)
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        return as_statement(statement, place.call("timed", place.call("clocks"), body[0].value))
    if not isinstance(statement, ast.Expr):
        raise place.error("only an expression has a value; write %time with the whole assignment after it")
    block = place.set_on(ast.With(items=[ast.withitem(place.call("timing"))], body=[]))
    block.body = body
    return [block]


def timeit_options(place, rest):
    options, at = {}, 0
    while found := TIMEIT_OPTION.match(rest, at):
        options[found["key"] or "q"] = int(found["number"] or 1)
        at = found.end()
    rest = rest[at:]
    if rest.startswith("-") and rest[1:2].isalpha() and not rest[2:3].strip():
        raise place.error(f"%timeit does not know {rest[:2]}; it takes -n, -r, -p and -q")
    return tuple(options.get(key, 0) for key in "nrpq"), rest


def timeit_function(place, body, setup=()):
    """A function that runs the body in a loop: names it assigns are its own."""
    function = place.set_on(ast.parse(TIMEIT)).body[0]
    function.body[1].body = body
    function.body[:0] = setup
    return function


def timeit_calls(place, options):
    name = ast.Name("_timeit", ast.Load())
    call = place.call("timeit", place.set_on(name), *options)
    delete = ast.Delete([ast.Name("_timeit", ast.Del())])
    return [place.set_on(ast.Expr(call)), place.set_on(delete)]


def timeit_line(place, statement, rest):
    if not isinstance(statement, ast.Expr):
        raise place.error("%timeit has no value; import timeit and write timeit.timeit(...)")
    options, rest = timeit_options(place, rest)
    return [timeit_function(place, place.statements(rest)), *timeit_calls(place, options)]


PYTHON_LINES = {"time": time_line, "timeit": timeit_line}


def unknown(place, name, table, mark):
    instead = magics.INSTEAD.get(name)
    if instead is None:
        known = ", ".join(mark + word for word in sorted(table))
        instead = f"write it in Python (known are {known})"
    return place.error(f"{mark}{name} is not known here: {instead}")


def named_line(place, statement, text):
    found = LINE.match(text)
    if text.startswith("%%"):
        raise place.error(f"{text.split()[0]} concerns a whole cell: write it in the first line of a cell")
    if found is None:
        raise place.error("a name must follow %: write for example %time f()")
    name, rest = found["name"], found["rest"].rstrip()
    if name in PYTHON_LINES:
        return PYTHON_LINES[name](place, statement, rest)
    if name not in magics.LINES:
        raise unknown(place, name, {*magics.LINES, *PYTHON_LINES}, "%")
    return as_statement(statement, place.call("line", name, rest))


def help_line(place, statement, text):
    found = HELP.match(text)
    marks = found["before"] or found["after"]
    return as_statement(statement, place.call("describe", found["first"] or found["second"], len(marks)))


def replacement(place, statement, text):
    """The statements for one notebook line."""
    if HELP.match(text):
        return help_line(place, statement, text)
    return (shell_line if text.startswith("!") else named_line)(place, statement, text)


def column_of_line(line):
    """The column at which a notebook line begins in a line of the cell; None if the line is Python."""
    body = line.lstrip(SPACE)
    indent = len(line) - len(body)
    if body[:1] in ("!", "%") or HELP.match(body.rstrip()):
        return indent
    found = ASSIGNMENT.match(body)
    return indent + found.end() if found else None


# ---- from lines to a tree ----


def joined(parts):
    """One text of the parts of a continued line: the shell joins those of a command itself."""
    if parts[0].startswith("!"):
        return "\n".join(parts).rstrip()
    return " ".join([*(part[:-1].strip() for part in parts[:-1]), parts[-1].strip()])


def find_lines(lines, name):
    """The lines with numbers in place of notebook lines, and these by place."""
    python, found = list(lines), {}
    scanner = Scanner()
    index = 0
    while index < len(lines):
        line = lines[index]
        column = column_of_line(line) if scanner.at_statement() else None
        if column is None:
            scanner.pass_line(line)
            index += 1
            continue
        place = Place(name, lines, index, column)
        parts = [line[column:]]
        python[index] = line[:column] + "0"
        index += 1
        while is_continued(parts[-1]) and index < len(lines):
            parts.append(lines[index])
            python[index] = ""
            index += 1
        found[place.number, place.column] = place, joined(parts)
    return python, found


def replaced(statement, found):
    """The statements that replace one."""
    if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Constant) and type(statement.value.value) is int:
        place, text = found.pop((statement.value.lineno, statement.value.col_offset), (None, ""))
        if place is not None:
            return replacement(place, statement, text)
    return [statement]


def parse(python, lines, name, mode="exec"):
    try:
        return compile("\n".join(python) + "\n", name, mode, cell.ONLY_AST | cell.TOP_LEVEL_AWAIT, True)
    except SyntaxError as exc:
        if type(exc.lineno) is int and 0 < exc.lineno <= len(lines):
            exc.text = lines[exc.lineno - 1]
        raise


def tree_of(lines, name):
    """The syntax tree and the number of notebook lines; no tree if one of them is not a statement."""
    python, found = find_lines(lines, name)
    count = len(found)
    tree = parse(python, lines, name)
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if type(statements) is list:
                setattr(node, part, [new for old in statements for new in replaced(old, found)])
    return (None if found else tree), count


# ---- whole cells ----


class Around:
    """A part of a program that runs others within a context of the shell."""

    def __init__(self, context, parts, has_value):
        self.context, self.parts, self.has_value = context, parts, has_value

    def __call__(self, namespace):
        with self.context(namespace):
            value = cell.evaluate(self.parts, namespace)
        return value if self.has_value else None


def cell_of_python(context, has_value):
    def program(place, rest, tree):
        return [Around(context(place, rest), cell.parts_of(tree, place.name, cell.TOP_LEVEL_AWAIT), has_value)]

    return program


def time_cell(place, rest):
    if rest:
        raise place.error("the code begins in the line after %%time")
    return lambda _namespace: magics.shell.timing()


def capture_cell(place, rest):
    words = rest.split()
    names = [word for word in words if not word.startswith("--")]
    strange = [word for word in words if word.startswith("--") and word not in magics.CAPTURES]
    if strange or len(names) > 1 or not all(map(str.isidentifier, names)):
        raise place.error("%%capture takes one name, and " + ", ".join(magics.CAPTURES))
    return lambda namespace: magics.Capture(namespace, names, words)


def timeit_cell(place, rest, tree):
    options, setup = timeit_options(place, rest)
    function = timeit_function(place, tree.body or [place.set_on(ast.Pass())], place.statements(setup) if setup else ())
    tree.body = [function, *timeit_calls(place, options)]
    return cell.parts_of(tree, place.name, cell.TOP_LEVEL_AWAIT)


PYTHON_CELLS = {
    "time": cell_of_python(time_cell, True),
    "capture": cell_of_python(capture_cell, False),
    "timeit": timeit_cell,
}


def cell_program(lines, first, name):
    """The program of a cell that begins with %%, or None."""
    place = Place(name, lines, first, 0)
    found = CELL.match(lines[first])
    if found is None:
        raise place.error("a name must follow %%: write for example %%time")
    word, rest = found["name"], found["rest"].strip()
    if word in PYTHON_CELLS:
        tree, _ = tree_of([""] * (first + 1) + lines[first + 1 :], name)
        return tree and PYTHON_CELLS[word](place, rest, tree)
    if word not in magics.CELLS:
        raise unknown(place, word, {*magics.CELLS, *PYTHON_CELLS}, "%%")
    call = place.call("cell", word, rest, "\n".join(lines[first + 1 :]))
    return [compile(ast.Expression(call), name, "eval", 0, True)]


# ---- cells ----


def lines_of(code):
    return code.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def first_line(lines):
    return next((index for index, line in enumerate(lines) if line.strip()), 0)


def is_cell_magic(lines):
    return lines[first_line(lines)].startswith("%%") and not HELP.match(lines[first_line(lines)].rstrip())


def hint(problem, lines, name):
    """The problem, or a better one where the line is for a shell or has a notebook line in it."""
    index, column = (problem.lineno or 0) - 1, (problem.offset or 1) - 1
    if not 0 <= index < len(lines) or type(problem) is not SyntaxError:
        return problem
    line = lines[index]
    words = line.split()
    if len(words) > 1 and words[0] in COMMANDS:
        mark = "%" if words[0] in ("pip", "pip3") else "!"
        return Place(name, lines, index, line.index(words[0])).error(f"{problem.msg}: write {mark}{' '.join(words)[:100]}")
    if line[column : column + 1] in ("!", "?") and line.lstrip(SPACE)[:1] not in ("!", "%"):
        return Place(name, lines, index, column).error(f"{problem.msg}: write !command and help? in a line by itself")
    return problem


def attempt(job, problem, make):
    """What `make` makes of the lines, or what is wrong with them."""
    try:
        lines = lines_of(job.code)
    except UnicodeDecodeError:
        return problem
    try:
        return make(lines) or hint(problem, lines, job.name)
    except SyntaxError as exc:
        return hint(exc, lines, job.name)
    except (ValueError, MemoryError, RecursionError):
        return problem


def compiled(job, problem):
    """The program of a cell that is not plain Python, or what is wrong with it."""

    def make(lines):
        if is_cell_magic(lines):
            return cell_program(lines, first_line(lines), job.name)
        if not find_lines(lines, job.name)[1]:
            return None
        tree, _ = tree_of(lines, job.name)
        return tree and cell.parts_of(tree, job.name, cell.TOP_LEVEL_AWAIT)

    return attempt(job, problem, make)


MORE = object()


def typed(job, problem, compiler):
    """As `compiled`, for lines that are typed: None if more are to come."""

    def make(lines):
        if is_cell_magic(lines):
            return cell_program(lines, first_line(lines), job.name) if lines[-1] == "" else MORE
        if compiler("\n".join(find_lines(lines, job.name)[0]), job.name, "single") is None:
            return MORE
        tree, count = tree_of(lines, job.name)
        return count and tree and [compile(ast.Interactive(tree.body), job.name, "single", cell.TOP_LEVEL_AWAIT, True)]

    program = attempt(job, problem, make)
    return None if program is MORE else program
