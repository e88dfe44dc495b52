"""The curve of the worked hour (tests/golden/worked_hour)."""

from __future__ import annotations

from accounting.selfhosted.curve import Domain, Header, StepCurve

CURVE = StepCurve(
    Header("worked", "by hand", "by hand", "none", "bf16", "2026-10-01"),
    Domain((1, 8), (1, 4_096)),
    t_0=0.010,
    a=0.0001,
    c=0.0000001,
    d=0.00002,
    f=0.000000002,
    r=0.0000002,
)
