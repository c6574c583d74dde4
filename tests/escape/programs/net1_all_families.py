# id: NET1
# field: network_access
# kept-by: seccomp
# expect: none of 64 families × 8 types gives a socket, nor does IPv4 with any of 4 protocols

KINDS = (1, 2, 3, 4, 5, 6, 10, 1 | 0o4000)
# Not all combinations: after many refusals the program waits for each answer.
tries = [(family, kind, 0) for family in [*range(64), -1, 1 << 32 | 2, 255] for kind in KINDS]
tries += [(2, kind, protocol) for kind in KINDS for protocol in (1, 16, 255)]
made = 0
for family, kind, protocol in tries:
    ret, err = syscall("socket", family, kind, protocol)
    if ret >= 0:
        os.close(ret)
        made += 1
        if len(got) < 20:
            went_through("family %d type %d protocol %d" % (family, kind, protocol))
refused("sockets", "%d made" % made)
report_outcome()
