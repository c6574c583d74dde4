# id: A7
# field: artifact_bytes
# kept-by: export_cap
# policy: {"artifact_export_paths": ["*"], "artifact_bytes": 100000}
# judge: outside
# witness: artifacts
# expect: the exported files together stay within the cap, although each of them alone would fit

for n in range(50):
    with open("f%d" % n, "wb") as f:
        f.write(b"x" * 30000)
contained("50 files were left in the workspace")
