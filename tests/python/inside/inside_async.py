"""The same for asyncio."""

from __future__ import annotations

import asyncio
import time

import pytest
import remit


def test_runs_at_once():
    async def main():
        return await asyncio.gather(*(remit.run_async(f"import time; time.sleep(0.2); print({i})") for i in range(8)))

    assert [r.stdout for r in asyncio.run(main())] == [f"{i}\n" for i in range(8)]


def test_the_loop_goes_on():
    async def main():
        run = asyncio.ensure_future(remit.run_async("import time; time.sleep(0.6)"))
        ticks = 0
        while not run.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert asyncio.run(main()) > 10


def test_cancelling_interrupts_the_program():
    async def main():
        task = asyncio.ensure_future(remit.run_async("while True: pass", timeout=60))
        await asyncio.sleep(0.4)
        task.cancel()
        begun = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - begun

    assert asyncio.run(main()) < 20
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(remit.run_async("while True: pass", timeout=60), 0.4))


def test_errors_are_raised_where_it_is_awaited():
    with pytest.raises(remit.PolicyError, match="too small"):
        asyncio.run(remit.run_async("1", memory="1K"))
    with pytest.raises(TypeError, match="memroy"):
        asyncio.run(remit.run_async("1", memroy="1K"))


def test_a_connection_serves_several_loops():
    with remit.Connection(private=True) as connection:
        for _ in range(2):
            assert asyncio.run(connection.run_async("print(1)")).stdout == "1\n"


def test_output_is_iterated_over():
    async def main():
        seen = []
        async with remit.stream("import time\nfor i in range(3): print(i, flush=True); time.sleep(0.1)") as pieces:
            with pytest.raises(RuntimeError, match="no result before"):
                pieces.result
            async for piece in pieces:
                seen.append((piece.stream, piece.text, time.monotonic()))
            with pytest.raises(RuntimeError, match="only once"):
                async for piece in pieces:
                    pass
        return seen, pieces.result

    seen, result = asyncio.run(main())
    assert "".join(text for _, text, _ in seen) == result.stdout == "0\n1\n2\n"
    assert {stream for stream, _, _ in seen} == {"stdout"} and seen[-1][2] - seen[0][2] > 0.1


def test_leaving_a_stream_early_ends_the_run():
    async def main():
        async with remit.stream("while True: print(1)", timeout=60) as pieces:
            async for _ in pieces:
                break

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 20


def test_a_stream_that_fails_raises():
    async def main():
        async for _ in remit.stream("print(1)", memory="1K"):
            pass

    with pytest.raises(remit.PolicyError, match="too small"):
        asyncio.run(main())
