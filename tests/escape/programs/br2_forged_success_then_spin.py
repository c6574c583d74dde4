# id: BR2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout killed
# expect: who claims to have ended and goes on is still killed at the deadline

os.write(3, frame("ENDED", records(kind="ok")))
for _ in lasting(2):
    pass
escaped("outlived the deadline behind a claim")
