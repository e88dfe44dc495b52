"""What does an image generation body charge for? Text and image input, and output that is image unless the body divides it."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks
from accounting.usage.formats.answer import answer, keys
from accounting.usage.formats.sidecalls import image_tokens, svg
from accounting.usage.wire import Body, Call, Context

NAME = "openai_images"
IDENTITY = (
    "total_tokens = input_tokens + output_tokens; input_tokens_details.text_tokens + .image_tokens = input_tokens; "
    "output_tokens_details.text_tokens + .image_tokens = output_tokens where stated, otherwise all output is image; "
    "svg_usage is a call of its own, of the model it names"
)
KEYS = keys((marks.IMAGES,), "openai", "azure")


def recognises(body: Body) -> bool:
    """A usage whose input is divided into text and image tokens."""
    return marks.shape(body) == marks.IMAGES


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """The call, and `svg` where text was drawn. The endpoint decides what the output is. Raises UsageContradiction."""
    given = answer(body, also=("svg_usage",))
    main = given.call(context, "openai", marks.IMAGES, lambda: image_tokens(given))
    return [main, *svg(given.body, given, context, "openai", "svg")]
