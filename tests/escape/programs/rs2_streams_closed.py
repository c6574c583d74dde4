# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: end of file on stdout is not the end of the run, and the deadline still holds

os.close(0)
os.close(1)
for _ in lasting(2):
    time.sleep(0.01)
os.write(2, b"ESCAPED lived for 2 s with stdout closed\n")
