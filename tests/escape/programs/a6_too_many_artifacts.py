# id: A6
# field: artifact_files
# kept-by: export_cap
# policy: {"artifact_export_paths": ["**"], "artifact_files": 5}
# judge: outside
# witness: artifacts
# expect: no more files are exported than the policy allows, in one directory or in many

for n in range(100):
    os.makedirs("d%d" % (n % 10), exist_ok=True)
    open("d%d/f%d" % (n % 10, n), "w").close()
contained("100 files were left in the workspace")
