# id: BR2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout killed
# expect: a program that claims to have ended but continues is still killed at the deadline

os.write(3, frame("ENDED", records(kind="ok")))
for _ in lasting(2):
    pass
escaped("outlived the deadline after a claim")
