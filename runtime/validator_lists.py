"""The default lists of the validator, for lists that the policy does not set.

`strict` has the lists that other code executors publish. `relaxed` reports only what does not work
in a jail, or what a model should not need.
"""

NETWORK = "There is no network here; the policy can allow hosts by network_allow."
PROCESSES = "No process can be started here; use Python itself, or request subprocess_execution."
SOURCE = "Write the code directly, not code that generates code."

# ---- strict ----

STRICT_IMPORTS = frozenset(
    "asyncio base64 collections dataclasses datetime decimal fractions functools hashlib itertools json math os pathlib"
    " random re time typing uuid".split()
)
STRICT_BLOCKED_IMPORTS = frozenset(
    "sys subprocess socket urllib requests http ftplib smtplib telnetlib multiprocessing threading ctypes shutil tempfile"
    " importlib builtins __builtin__".split()
)
STRICT_OS = frozenset(("environ", "path"))
STRICT_BUILTINS = frozenset(
    "abs all any ascii bin bool bytearray bytes callable chr dict divmod enumerate filter float format frozenset hash hex"
    " id int isinstance issubclass iter len list map max memoryview min next oct ord pow print range repr reversed round"
    " set slice sorted str sum tuple type zip".split()
)
STRICT_BLOCKED_BUILTINS = frozenset(
    "eval exec compile __import__ globals locals vars dir open input help breakpoint exit quit copyright credits license"
    " delattr getattr setattr hasattr".split()
)
STRICT_DUNDERS = frozenset(
    "__name__ __doc__ __dict__ __class__ __module__ __file__ __init__ __str__ __repr__ __eq__ __hash__ __len__ __iter__"
    " __next__ __enter__ __exit__ __aenter__ __aexit__".split()
)
# Statements, expressions and their parts. `withitem` is needed for `with`.
STRICT_NODES = frozenset(
    "Module Expr Assign AugAssign AnnAssign For AsyncFor While If With AsyncWith withitem Try ExceptHandler Pass Break"
    " Continue Return Await BoolOp And Or BinOp Add Sub Mult Div FloorDiv Mod Pow LShift RShift BitOr BitXor BitAnd"
    " UnaryOp Invert Not UAdd USub Compare Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Name Load Store Del Attribute"
    " Subscript Slice Constant List Tuple Set Dict Call keyword ListComp SetComp DictComp GeneratorExp comprehension"
    " IfExp JoinedStr FormattedValue Import ImportFrom alias FunctionDef AsyncFunctionDef arguments arg Lambda Match"
    " match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr Starred".split()
)

# ---- relaxed ----

# module: the grant that makes it work, and why it does not work
RELAXED_IMPORTS = {
    **dict.fromkeys(("subprocess", "pty", "multiprocessing"), ("subprocess_execution", PROCESSES)),
    **dict.fromkeys(
        (
            "requests", "httpx", "aiohttp", "urllib3", "urllib.request", "http.client", "http.server", "ftplib", "smtplib",
            "poplib", "imaplib", "telnetlib", "xmlrpc.client", "socketserver", "paramiko",
        ),
        ("network", NETWORK),
    ),
    "ctypes": (None, "Calls into C libraries are not needed here."),
}  # fmt: skip
RELAXED_BUILTINS = {
    **dict.fromkeys(("eval", "exec", "compile", "__import__"), SOURCE),
    "breakpoint": "There is no terminal here; print what you want to see.",
}
RELAXED_OS = frozenset(
    "system popen fork forkpty posix_spawn posix_spawnp startfile execl execle execlp execlpe execv execve execvp execvpe"
    " spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe".split()
)
