# id: FS-W1
# field: mounts
# kept-by: mount_namespace landlock
# control: no the library belongs to root, so an ordinary user cannot write to it even without a jail
# expect: EROFS or EACCES for modules, their caches and the interpreter

import glob

library = os.path.dirname(os.__file__)
targets = [os.__file__, library + "/site.py", sys.executable]
targets += glob.glob(library + "/__pycache__/os.*.pyc")
targets += glob.glob(library + "/**/RECORD", recursive=True)[:5]
for path in filter(None, targets):
    attempt(path, os.open, path, os.O_WRONLY)
    attempt("chmod " + path, os.chmod, path, 0o666)
    attempt("unlink " + path, os.unlink, path)
for folder in (library, library + "/__pycache__", library + "/site-packages"):
    attempt(folder, os.open, folder + "/planted.pth", os.O_WRONLY | os.O_CREAT, 0o666)
report_outcome()
