"""Do arrivals follow the rate and the seed, are prompts new, and are answers stamped event by event?"""

from __future__ import annotations

import asyncio
import statistics

import pytest

from probe.http.dialects import DIALECTS
from probe.http.errors import HttpProbeFailed
from probe.http.load import Target, arrival_times, closed_loop
from probe.http.plan import Plan
from probe.http.prompts import Prompts
from probe.http.transport import Client, Reply, events


def test_arrivals_are_poisson() -> None:
    """5 a second for 400 s: 2,000 within four deviations of 44.7; gaps of mean 0.2 and deviation 0.2 (exponential)."""
    times = arrival_times(5, 400, seed=1)
    gaps = [b - a for a, b in zip([0, *times], times, strict=False)]
    assert 1821 <= len(times) <= 2179
    assert statistics.mean(gaps) == pytest.approx(0.2, rel=0.1)
    assert statistics.pstdev(gaps) == pytest.approx(0.2, rel=0.1)
    assert times == arrival_times(5, 400, seed=1) != arrival_times(5, 400, seed=2)
    assert times[-1] < 400


def test_no_two_prompts_begin_alike() -> None:
    few = Prompts(0, 16)  # 12 ids, 1,728 beginnings: drawn blindly, some two dozen of 300 would be alike
    assert len({tuple(few.next(4).ids[:3]) for _ in range(300)}) == 300
    prompts = Prompts(0, 1000)
    made = [prompts.next(8) for _ in range(500)]
    assert len({tuple(one.ids[:3]) for one in made}) == 500
    assert all(100 <= token < 1000 for one in made for token in one.ids)
    assert all(len(one.text.split()) == len(one.ids) == 8 for one in made)


@pytest.mark.parametrize(("asked", "field"), [
    ({"concurrency": (0,)}, "concurrency"),
    ({"input_tokens": ()}, "input_tokens"),
    ({"output_tokens": 3}, "output_tokens"),
    ({"rates": (2.0, float("inf"))}, "rate"),
    ({"rates": (float("nan"),)}, "rate"),
    ({"rates": (2.0, 0.0)}, "rate"),
    ({"duration": float("inf")}, "duration"),
])  # fmt: skip
def test_a_plan_without_steps_is_refused_by_field(asked: dict[str, object], field: str) -> None:
    whole = {"concurrency": (1,), "input_tokens": (8,), "output_tokens": 8, **asked}
    with pytest.raises(HttpProbeFailed, match=f"{field}="):
        Plan(**whole)  # type: ignore[arg-type]


def test_one_user_is_always_measured() -> None:
    assert Plan((8, 4), (16,), 8).cells == [(1, 16), (4, 16), (8, 16)]


def test_an_event_has_the_time_of_its_last_byte() -> None:
    """Two events in three pieces: the first ends in the second piece, the other one in the third; DONE is none."""
    reply = Reply(pieces=[(1.0, b'data: {"a"'), (2.0, b":1}\r\n\r\nda"), (3.0, b"ta: 2\n\ndata: [DONE]\n\n")])
    assert events(reply) == [(2.0, b'{"a":1}'), (3.0, b"2")]


def serve(answer: bytes) -> tuple[str, object]:
    """The result of two users' closed loop against a server that says `answer` to everything."""

    async def run() -> object:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.readline():
                length = 0
                while (line := await reader.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length"):
                        length = int(line.split(b":")[1])
                await reader.readexactly(length)
                writer.write(answer)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(f"http://127.0.0.1:{port}")
        try:
            return (await closed_loop(Target(client, DIALECTS["vllm"], "m"), Prompts(0, 100), 2, 4, 1, 1))[0]
        finally:
            client.close()
            server.close()

    return asyncio.run(run())  # type: ignore[return-value]


def test_a_refusal_is_a_call_with_the_server_s_words() -> None:
    body = b'{"error":"no such model"}'
    calls = serve(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert len(calls) == 4  # type: ignore[arg-type]
    assert all("status=404" in one.error and "no such model" in one.error for one in calls)  # type: ignore[attr-defined]


def test_a_stream_that_breaks_off_is_a_call_with_its_error() -> None:
    calls = serve(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz")
    assert all(one.error and "no HTTP" in one.error for one in calls)  # type: ignore[attr-defined]


def test_connections_that_the_server_closed_are_opened_anew_before_a_load() -> None:
    """Three are opened, the server closes all, three are asked for: six in all."""

    async def run() -> int:
        opened: list[asyncio.StreamWriter] = []

        async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened.append(writer)

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        client = Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            for count in (3, 6):
                await client.warm(3)
                while len(opened) < count:
                    await asyncio.sleep(0)
                for writer in opened:
                    writer.close()
                while not all(wire.closed for wire in client._free):
                    await asyncio.sleep(0)
            return len(opened)
        finally:
            client.close()
            server.close()

    assert asyncio.run(asyncio.wait_for(run(), 20)) == 6


def test_nobody_at_the_other_end_is_said_with_the_address() -> None:
    async def run() -> None:
        await Client("http://127.0.0.1:9").request("GET", "/health")

    with pytest.raises(HttpProbeFailed, match=r"url='127\.0\.0\.1:9'"):
        asyncio.run(run())
    with pytest.raises(HttpProbeFailed, match="url='127"):
        Client("127.0.0.1:80")
