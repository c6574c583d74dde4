# id: BR5
# field: tool_concurrency
# kept-by: bridge
# judge: status
# status: ok exit error killed timeout
# policy: {"tool_concurrency": 4, "tool_calls": 1000000, "timeout": 4}
# control: no the limit on buffered replies is not a separate mechanism
# expect: a hundred thousand calls whose replies are not read neither fill memory nor block the keeper

sent = 0
os.set_blocking(3, False)
import time
end = time.monotonic() + 2
chunk = b"".join(call_frames(n, "echo", b"{}") for n in range(1, 100001))
try:
    while sent < len(chunk) and time.monotonic() < end:
        try:
            sent += os.write(3, chunk[sent : sent + 65536])
        except BlockingIOError:
            time.sleep(0.001)
except OSError as e:
    refused("channel", errname(e.errno))
contained("%d KiB of calls were accepted" % (sent >> 10))
os._exit(3)
