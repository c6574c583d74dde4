# id: RS10
# field: output_ceiling
# kept-by: capture
# policy: {"stdout_max_bytes": "64K", "stderr_max_bytes": "64K", "output_ceiling": 4}
# judge: status
# status: output_limit
# expect: stderr counts toward the same ceiling as stdout

for _ in range(128):
    os.write(2, b"x" * 65535 + b"\n")
escaped("wrote 8 MiB with a ceiling of 512 KiB")
