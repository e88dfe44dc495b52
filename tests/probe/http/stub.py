"""A server that answers fixed bodies by path: for what other servers say of themselves, after their documented shapes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from probe.http.transport import Client

T = TypeVar("T")


def asked(bodies: dict[str, Any], ask: Callable[[Client], Awaitable[T]]) -> T:
    """What `ask` finds out; a path that is not in `bodies` is 404. Texts are sent as they are, the rest as JSON."""

    async def run() -> T:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                path = line.split()[1].decode()
                while await reader.readline() not in (b"\r\n", b""):
                    pass
                found = bodies.get(path)
                body = (found if isinstance(found, str) else json.dumps(found)).encode()
                status = "404 Not Found" if found is None else "200 OK"
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        client = Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            return await ask(client)
        finally:
            client.close()
            server.close()

    return asyncio.run(run())
