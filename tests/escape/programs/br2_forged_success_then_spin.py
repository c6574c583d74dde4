# id: BR2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout killed
# within: 6
# expect: who claims to have ended and goes on is still killed at the deadline

import time

os.write(3, frame("ENDED", records(kind="ok")))
end = time.monotonic() + 2
while time.monotonic() < end:
    pass
escaped("outlived the deadline behind a claim")
