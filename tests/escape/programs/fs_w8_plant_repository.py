# id: FS-W8
# field: commit_names
# kept-by: commit
# policy: {"mounts": [{"host": "@drop_dir@", "jail": "/data", "mode": "rw"}]}
# judge: outside
# witness: drop
# expect: a git repository under plain names, whose config git would obey anywhere below it, never reaches the folder

CONFIG = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch pwned; false"\n'


def plant(folder):
    os.makedirs(folder + "/objects")
    os.makedirs(folder + "/refs/heads")
    for name, text in (("HEAD", "ref: refs/heads/master\n"), ("config", CONFIG), ("objects/keep", ""), ("refs/heads/keep", "")):
        with open(folder + "/" + name, "w") as f:
            f.write(text)


os.chdir("/data")
plant(".")
plant("below")
# These two files make it a linked worktree: its objects and refs are elsewhere.
os.mkdir("linked")
for name, text in (("HEAD", "ref: refs/heads/master\n"), ("commondir", "../below\n")):
    with open("linked/" + name, "w") as f:
        f.write(text)
contained("whatever was written is in the overlay")
