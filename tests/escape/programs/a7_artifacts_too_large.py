# id: A7
# field: artifact_bytes
# kept-by: export_cap
# policy: {"artifact_export_paths": ["*"], "artifact_bytes": 100000}
# judge: outside
# witness: artifacts
# expect: all files together are no more than the policy says, though each of them may leave

for n in range(50):
    with open("f%d" % n, "wb") as f:
        f.write(b"x" * 30000)
contained("50 files were left behind")
