# id: IN2
# field: env_var_access
# kept-by: empty_environment
# witness: canary
# expect: no copy of the caller's environment exists anywhere in the process

# Without /proc the program has no list of its mappings. It asks the kernel to
# copy each page into a pipe: an unmapped page gives EFAULT, not a fatal fault.
PAGE = 4096
out, into = os.pipe()
# On older kernels a failed write leaves an empty buffer in the pipe, until the
# pipe is full, so each write is followed by a read.
os.set_blocking(out, False)
name = ARG["env_name"].encode()
read_pages = 0
found = 0


def page_at(address):
    if not 0 < address < 1 << 47:
        return None
    ret, _ = syscall("write", into, address, PAGE)
    try:
        return os.read(out, PAGE) if ret else None
    except BlockingIOError:
        return None


def look(data):
    # The program's argument contains the name too, but only the environment has
    # it followed by "=".
    global found
    at = data.find(name)
    while at >= 0 and at + len(name) < len(data):
        if data[at + len(name)] == 61 and found < 3:
            found += 1
            leak("memory", data[at:at + 120])
        at = data.find(name, at + 1)


def scan(label, start, pages):
    global read_pages
    start &= ~(PAGE - 1)
    tail = b""
    for i in range(pages):
        data = page_at(start + i * PAGE)
        if data is None:
            tail = b""
            continue
        read_pages += 1
        look(tail + data)
        tail = data[-256:]


def symbol(name):
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(LIBC, name))
    except ValueError:
        return None


stack_end = symbol("__libc_stack_end")
if stack_end:
    top = ctypes.c_size_t.from_address(stack_end).value
    scan("stack", top - (1 << 20), 1024)
here = ctypes.addressof(ctypes.create_string_buffer(8))
scan("heap", id(ARG) - (16 << 20), 12288)
scan("buffers", here - (16 << 20), 12288)
for name_of in ("environ", "getenv", "Py_GetVersion"):
    where = symbol(name_of)
    if where:
        scan(name_of, where - (8 << 20), 6144)
refused("memory", "%d pages read, nothing planted" % read_pages)
report_outcome()
