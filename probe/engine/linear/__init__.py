"""How are a model's weights held and multiplied? `linear_factory` chooses a backend by dtype and device."""

from probe.engine.linear.base import LinearBackend, LinearError
from probe.engine.linear.factory import WEIGHTS, dense_linear, linear_factory

__all__ = ["WEIGHTS", "LinearBackend", "LinearError", "dense_linear", "linear_factory"]
