"""Image endpoints: output is image unless the body divides it."""

from __future__ import annotations

from typing import Any

from accounting.usage.formats import openai_images
from accounting.usage.wire import Context
from tests.accounting.usage.formats.family import NOBODY, contradiction, counts, only


def _images(text: int, image: int, output: int, **usage: Any) -> dict[str, Any]:
    given = {
        "input_tokens": text + image,
        "input_tokens_details": {"text_tokens": text, "image_tokens": image},
        "output_tokens": output,
        "total_tokens": text + image + output,
    }
    return {"created": 1_781_676_000, "data": [{"b64_json": "canary"}], "usage": given | usage}


def test_output_without_a_split_is_image() -> None:
    call = only(openai_images, _images(22, 10, 1_372), Context(model="gpt-image-2"))
    assert counts(call) == {
        "input_tokens": 32,
        "image_input_tokens": 10,
        "output_tokens": 1_372,
        "image_output_tokens": 1_372,
    }
    assert (call.model, call.surface, call.provider) == ("gpt-image-2", "images", "openai")


def test_output_with_a_split_is_what_it_says() -> None:
    body = _images(22, 0, 1_372, output_tokens_details={"text_tokens": 72, "image_tokens": 1_300})
    assert counts(only(openai_images, body))["image_output_tokens"] == 1_300


def test_a_drawing_in_text_is_a_call_of_its_own_model() -> None:
    drawn = {"input_tokens": 5, "output_tokens": 70, "reasoning_tokens": 60, "total_tokens": 75, "model": "gpt-5.6-sol"}
    _, svg = openai_images.read(_images(22, 0, 10) | {"svg_usage": drawn}, NOBODY)
    assert (svg.part, svg.model, counts(svg)["output_tokens"]) == ("svg", "gpt-5.6-sol", 70)


def test_text_and_image_input_make_up_the_input() -> None:
    body = _images(22, 10, 5, input_tokens_details={"text_tokens": 22, "image_tokens": 9})
    assert contradiction(openai_images, body) == (
        "tokens_do_not_add_up",
        "input_tokens 32 <> input_tokens_details.text_tokens 22 + input_tokens_details.image_tokens 9 = 31",
    )
    body = _images(22, 10, 5, output_tokens_details={"text_tokens": 0, "image_tokens": 4})
    assert contradiction(openai_images, body)[0] == "tokens_do_not_add_up"
