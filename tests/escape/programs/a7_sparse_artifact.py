# id: A7
# field: artifact_file_bytes
# kept-by: export_cap
# policy: {"artifact_export_paths": ["*"], "artifact_file_bytes": 65536}
# judge: outside
# witness: artifacts
# expect: a file counts with its apparent size, although almost none of it is on disk

with open("sparse", "wb") as f:
    f.truncate(16 * 1024 * 1024)
    f.write(b"x" * 4096)
contained("a sparse file was left in the workspace")
