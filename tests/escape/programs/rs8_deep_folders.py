# id: RS8
# field: files
# kept-by: tmpfs_inodes
# policy: {"files": 200}
# expect: directories count as files do, at any depth; the end of the run removes them

depth = 0
try:
    while depth < 3000:
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
        depth += 1
except OSError as e:
    refused("folders", "%s at depth %d" % (errname(e.errno), depth))
if depth > 300:
    went_through("folders", "%d deep with a limit of 200" % depth)
report_outcome()
