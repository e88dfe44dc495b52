"""What do the fuzz tests share? One server a module; a client waits 30 seconds at most, so a hang fails."""

from __future__ import annotations

from tests.api.conftest import api

__all__ = ["api"]
