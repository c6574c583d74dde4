# id: IN1
# field: env_var_access
# kept-by: empty_environment
# witness: canary
# expect: os.environ, getenv and the memory block that they read contain nothing of the caller

name = ARG["env_name"]
if name in os.environ:
    leak("os.environ", os.environ[name])
else:
    refused("os.environ", "%d variables: %s" % (len(os.environ), sorted(os.environ)))
LIBC.getenv.restype = ctypes.c_char_p
value = LIBC.getenv(name.encode())
if value is not None:
    leak("getenv", value)
else:
    refused("getenv", "null")
block = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ")
i = 0
while block and block[i] is not None:
    if block[i].startswith(name.encode()):
        leak("environ", block[i])
    i += 1
refused("environ", "%d entries" % i)
report_outcome()
