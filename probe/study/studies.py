"""Which ready-made experiments are there, and how is one run?"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from typing import cast

import torch

from probe.study.errors import StudyRefused
from probe.study.frame import measure
from probe.study.lab import Lab
from probe.study.names import NAMES
from probe.study.report import Report, Study
from probe.study.size import SIZES

STUDIES = {name: cast("Study", import_module(f"probe.study.{name.replace('-', '_')}")) for name in NAMES}


def run_study(
    name: str,
    size: str,
    rounds: int,
    *,
    device: str = "cpu",
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """Measures and judges. Raises StudyRefused naming the option."""
    if name not in STUDIES:
        raise StudyRefused("name", name, f"one of {', '.join(NAMES)} is expected")
    if rounds < 2:
        raise StudyRefused("rounds", rounds, "an interval needs two or more")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise StudyRefused("device", device, "is neither cpu nor cuda")
    if device != "cpu" and not torch.cuda.is_available():
        raise StudyRefused("device", device, f"torch {torch.__version__} sees no CUDA device")
    study, lab = STUDIES[name], Lab(SIZES[size], torch.device(device), seed)
    results = measure(study.contrasts(lab), rounds, say)
    setup = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": platform.machine() if device == "cpu" else torch.cuda.get_device_name(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rounds": rounds,
        "seed": seed,
        "size": asdict(lab.size),
    }
    return Report(name, study.QUESTION, results, study.facts(lab), setup)
