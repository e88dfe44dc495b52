"""A server in vLLM's dialect that answers as it is told: well at first, then badly. One token a millisecond."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

MODELS = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 64}]}
Answer = Callable[[int], tuple[int, int]]


@contextmanager
def moody(answer: Answer) -> Iterator[str]:
    """Its URL. `answer` gives (status, tokens that come) for the number of a completion, from 0; after
    status 0 it hangs up on everybody."""
    numbers, dead = count(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if dead.is_set():
                self.close_connection = True
                return
            found: dict[str, Any] = {"/v1/models": MODELS, "/version": {"version": "1"}, "/health": {}}
            self._whole(200 if self.path in found else 404, found.get(self.path, {}))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, tokens = answer(next(numbers))
            if not status:
                dead.set()
                self.close_connection = True
            elif status != 200:
                self._whole(status, {"error": {"message": "the engine has failed"}})
            else:
                self._stream(tokens)

        def _whole(self, status: int, body: dict[str, Any]) -> None:
            said = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def _stream(self, tokens: int) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number in range(1, tokens + 1):
                time.sleep(0.001)
                usage = {"prompt_tokens": 8, "completion_tokens": number}
                said = f"data: {json.dumps({'choices': [{'token_ids': [5]}], 'usage': usage})}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(said), said))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
