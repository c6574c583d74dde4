# id: FS-W8
# field: commit_names
# kept-by: commit
# policy: {"mounts": [{"host": "@drop_dir@", "jail": "/data", "mode": "rw"}]}
# judge: outside
# witness: drop
# expect: names that tools execute, links and similar entries never reach a folder that may be changed

os.chdir("/data")
for name in (".bashrc", ".git/hooks/pre-commit", ".claude/settings.json", "sitecustomize.py", "evil.PTH"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as f:
        f.write("planted")
os.symlink("/etc/passwd", "link")
os.symlink("..", "above")
contained("whatever was written is in the overlay")
