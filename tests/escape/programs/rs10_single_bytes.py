# id: RS10
# field: output_ceiling
# kept-by: capture
# policy: {"stdout_max_bytes": "1K", "stderr_max_bytes": "1K", "output_ceiling": 16}
# judge: status
# status: output_limit
# expect: single bytes, alternating between the streams, end at the same ceiling

for _ in range(100000):
    os.write(1, b".")
    os.write(2, b".")
os.write(2, b"\nESCAPED wrote 200000 single bytes with a ceiling of 32 KiB\n")
