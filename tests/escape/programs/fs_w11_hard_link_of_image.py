# id: FS-W11
# field: mounts
# kept-by: mount_namespace landlock
# witness: drop
# expect: EXDEV or ENOENT: no second name can be made for a file that the code does not own

for source in (ARG["victim_file"], os.__file__):
    for target in ("linked", "/tmp/linked", ARG["drop_dir"] + "/linked"):
        attempt("%s to %s" % (source, target), os.link, source, target)
report_outcome()
