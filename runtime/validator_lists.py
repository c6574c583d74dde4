"""What the validator lets through, unless the policy has lists of its own.

`strict` has the lists that other code executors have made known. `relaxed` says
only what will not work in a jail like this, or what a model should not need.
"""

NETWORK = "There is no network here; the policy's network_allow names hosts."
PROCESSES = "No process can be started here; use Python itself, or ask for subprocess_execution."
SOURCE = "Write the code itself, not code that makes code."

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
# Statements, expressions and their parts. With `withitem`, without which no
# `with` is any use.
STRICT_NODES = frozenset(
    "Module Expr Assign AugAssign AnnAssign For AsyncFor While If With AsyncWith withitem Try ExceptHandler Pass Break"
    " Continue Return Await BoolOp And Or BinOp Add Sub Mult Div FloorDiv Mod Pow LShift RShift BitOr BitXor BitAnd"
    " UnaryOp Invert Not UAdd USub Compare Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Name Load Store Del Attribute"
    " Subscript Slice Constant List Tuple Set Dict Call keyword ListComp SetComp DictComp GeneratorExp comprehension"
    " IfExp JoinedStr FormattedValue Import ImportFrom alias FunctionDef AsyncFunctionDef arguments arg Lambda Match"
    " match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr Starred".split()
)

# ---- relaxed ----

# module: what would let it work, and why it does not
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
    "breakpoint": "Nobody can type here; print what you want to see.",
}
RELAXED_OS = frozenset(
    "system popen fork forkpty posix_spawn posix_spawnp startfile execl execle execlp execlpe execv execve execvp execvpe"
    " spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe".split()
)
