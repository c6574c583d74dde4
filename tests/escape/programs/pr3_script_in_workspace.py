# id: PR3
# field: subprocess_execution
# kept-by: seccomp
# expect: a script with a #! line is not executed

for folder in (os.getcwd(), "/tmp", ARG["drop_dir"]):
    path = folder + "/script"
    try:
        with open(path, "w") as f:
            f.write("#!%s -IS\nprint('ESCAPED a script was executed')\n" % (sys.executable or "/usr/bin/python3"))
        os.chmod(path, 0o755)
        sys.stdout.flush()
        os.execve(path, [path], {})
    except OSError as e:
        refused(path, errname(e.errno))
# The writable mounts are noexec, so without the filter the kernel returns
# EACCES as well. A path that does not exist shows which of the two answered.
reach("execve of nothing", "execve", b"/nothing/here", BAD, BAD)
report_outcome()
