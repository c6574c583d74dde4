# id: RS10
# field: stdout_max_bytes
# kept-by: capture
# policy: {"stdout_max_bytes": "64K", "output_ceiling": 64}
# judge: outside
# stdout-cap: 65536
# expect: exactly the cap is kept, the rest is counted and dropped, and the program never blocks

os.write(2, b"CONTAINED wrote 1 MiB without waiting for a reader\n")
for _ in range(16):
    os.write(1, b"x" * 65536)
