# id: S2
# field: timeout
# kept-by: timer
# judge: status
# status: killed
# signal: SIGSEGV
# control: no the program ends only itself
# expect: a crash of the interpreter is reported as the program's, leaves no core file and starts no core handler of the host

import resource

assert resource.getrlimit(resource.RLIMIT_CORE)[1] in (0, 1), "a core handler could start"
ctypes.string_at(BAD, 1)
escaped("survived a fault")
