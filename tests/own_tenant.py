"""Which tenant is a test's own, on a database that its module shares?"""

from __future__ import annotations

from hashlib import blake2b


def own_tenant(test: str) -> str:
    """A slug for the name of a test: the same in every run, unlike `hash`, which Python salts a process."""
    return f"t{blake2b(test.encode(), digest_size=10).hexdigest()}"
