# id: RS10
# field: output_ceiling
# kept-by: capture
# policy: {"stdout_max_bytes": "64K", "stderr_max_bytes": "64K", "output_ceiling": 4}
# judge: status
# status: output_limit
# expect: killed at the ceiling; the kept output is within its cap

for _ in range(128):
    os.write(1, b"x" * 65536)
os.write(2, b"ESCAPED wrote 8 MiB with a ceiling of 512 KiB\n")
