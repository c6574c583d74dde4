"""remit.run_async() and remit.stream()."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
import remit
from waiting import EVENT_TIMEOUT_S, SPINS


def test_concurrent_runs_work():
    async def main():
        return await asyncio.gather(*(remit.run_async(f"import time; time.sleep(0.2); print({i})") for i in range(8)))

    assert [r.stdout for r in asyncio.run(main())] == [f"{i}\n" for i in range(8)]


def test_event_loop_stays_responsive():
    """The program waits for input that comes only after the loop has run."""

    async def main():
        read, write = os.pipe()
        with open(read) as stdin:
            run = asyncio.ensure_future(remit.run_async("print(input())", stdin=stdin, timeout=EVENT_TIMEOUT_S))
            for _ in range(10):
                await asyncio.sleep(0.01)  # lets the loop run
            os.write(write, b"worked\n")
            os.close(write)
            return (await run).stdout

    assert asyncio.run(main()) == "worked\n"


def test_cancellation_interrupts_the_program():
    async def main():
        begun, loop = asyncio.Event(), asyncio.get_running_loop()
        on_output = lambda *_: loop.call_soon_threadsafe(begun.set)  # noqa: E731
        task = asyncio.ensure_future(remit.run_async(SPINS, timeout=600, on_output=on_output))
        await asyncio.wait_for(begun.wait(), EVENT_TIMEOUT_S)
        task.cancel()
        since = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - since

    assert asyncio.run(main()) < EVENT_TIMEOUT_S
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(remit.run_async("while True: pass", timeout=600), 0.4))


def test_errors_are_raised_at_the_await():
    with pytest.raises(remit.PolicyError, match="too small"):
        asyncio.run(remit.run_async("1", memory="1K"))
    with pytest.raises(TypeError, match="memroy"):
        asyncio.run(remit.run_async("1", memroy="1K"))


def test_connection_serves_several_event_loops():
    with remit.Connection(private=True) as connection:
        for _ in range(2):
            assert asyncio.run(connection.run_async("print(1)")).stdout == "1\n"


def test_output_can_be_iterated():
    """The program waits for input that comes only after its output has arrived."""

    async def main():
        seen = []
        read, write = os.pipe()
        with open(read) as stdin:
            async with remit.stream("for i in range(3): print(i, flush=True); input()", stdin=stdin) as pieces:
                with pytest.raises(RuntimeError, match="only available after"):
                    pieces.result
                async for piece in pieces:
                    seen.append((piece.stream, piece.text))
                    os.write(write, b"\n" * piece.text.count("\n"))
                with pytest.raises(RuntimeError, match="only be iterated over once"):
                    async for piece in pieces:
                        pass
        os.close(write)
        return seen, pieces.result

    seen, result = asyncio.run(main())
    assert "".join(text for _, text in seen) == result.stdout == "0\n1\n2\n"
    assert {stream for stream, _ in seen} == {"stdout"}


def test_stream_left_early_ends_the_run():
    async def main():
        async with remit.stream("while True: print(1)", timeout=600) as pieces:
            async for _ in pieces:
                break

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < EVENT_TIMEOUT_S


def test_failed_stream_raises():
    async def main():
        async for _ in remit.stream("print(1)", memory="1K"):
            pass

    with pytest.raises(remit.PolicyError, match="too small"):
        asyncio.run(main())
