# id: RS10
# field: stderr_max_bytes
# kept-by: capture
# policy: {"stderr_max_bytes": "64K", "output_ceiling": 64}
# judge: outside
# stderr-cap: 65536
# expect: exactly the cap of stderr is kept, the rest is counted and dropped

for _ in range(16):
    os.write(2, b"x" * 65536)
contained("wrote 1 MiB to stderr")
