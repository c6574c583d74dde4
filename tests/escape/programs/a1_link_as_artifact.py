# id: A1
# field: artifact_export_paths
# kept-by: openat2
# policy: {"artifact_export_paths": ["**"]}
# judge: outside
# witness: canary
# expect: a symbolic link is never exported, whether it leads to a host file, through a directory or to itself

secret = ARG["secret_path"]
os.symlink(secret, "absolute")
os.symlink("../" * 30 + secret[1:], "relative")
os.symlink(ARG["secret_dir"], "folder")
os.symlink("/proc/self/environ", "magic")
os.symlink("circle", "circle")
os.mkdir("below")
os.symlink(secret, "below/absolute")
contained("links were left in the workspace")
