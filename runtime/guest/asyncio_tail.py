

# Added by tools/wasm.sh to asyncio/selector_events.py. A loop wakes itself by a pair of
# sockets when another thread or a signal handler calls it. The guest has neither.


def _no_self_pipe(self):
    pass


BaseSelectorEventLoop._make_self_pipe = _no_self_pipe
BaseSelectorEventLoop._close_self_pipe = _no_self_pipe
BaseSelectorEventLoop._ssock = BaseSelectorEventLoop._csock = None
