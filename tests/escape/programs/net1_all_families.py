# id: NET1
# field: network_access
# kept-by: seccomp
# expect: not one of 64 families × 8 types × 4 protocols gives a socket

made = 0
for family in list(range(64)) + [-1, 1 << 32 | 2, 255]:
    for kind in (1, 2, 3, 4, 5, 6, 10, 1 | 0o4000):
        for protocol in (0, 1, 16, 255):
            ret, err = syscall("socket", family, kind, protocol)
            if ret >= 0:
                os.close(ret)
                made += 1
                if len(got) < 20:
                    went_through("family %d type %d protocol %d" % (family, kind, protocol))
refused("sockets", "%d made" % made)
verdict()
