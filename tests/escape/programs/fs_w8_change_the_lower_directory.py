# id: FS-W8
# field: mounts
# kept-by: overlay
# policy: {"mounts": [{"host": "@victim_dir@", "jail": "/data", "mode": "overlay"}]}
# witness: victim
# judge: outside
# expect: writes to a folder whose changes are discarded stay in the overlay, whichever way they are made

victim = "/data/victim"


def tried(f, *args):
    try:
        f(*args)
    except OSError as e:
        print(f.__name__, errname(e.errno))


def reopen():
    fd = os.open(victim, os.O_RDONLY)
    os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"changed")


def overwrite():
    os.pwrite(os.open(victim, os.O_RDWR), b"changed", 0)


def map_shared():
    import mmap

    m = mmap.mmap(os.open(victim, os.O_RDWR), 0)
    m[:3] = b"bad"
    m.flush()


def copy_range():
    source = os.open("/data/source", os.O_RDWR | os.O_CREAT)
    os.write(source, b"changed")
    os.copy_file_range(source, os.open(victim, os.O_WRONLY), 7, 0, 0)


for f in (reopen, overwrite, map_shared, copy_range):
    tried(f)
tried(os.truncate, victim, 1)
tried(os.chmod, victim, 0o4777)
tried(os.link, victim, "/data/second")
tried(os.rename, victim, "/data/moved")
tried(os.unlink, victim)
with open("/data/victim", "w") as f:
    f.write("mine")
contained("whatever was written is in the overlay")
