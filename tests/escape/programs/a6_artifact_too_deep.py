# id: A6
# field: artifact_depth
# kept-by: export_cap
# policy: {"artifact_export_paths": ["**"], "artifact_depth": 3}
# judge: outside
# witness: artifacts
# expect: no file below the allowed depth is exported

path = "d/" * 20
os.makedirs(path)
open(path + "f", "w").close()
contained("a file was left at depth 21")
