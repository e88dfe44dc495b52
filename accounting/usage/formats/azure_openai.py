"""What does an Azure OpenAI body charge for? What OpenAI's does, under the name of the model behind a deployment."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.usage.formats import marks, openai_embeddings
from accounting.usage.formats.answer import keys
from accounting.usage.formats.chat import chat_answer, chat_tokens, stated_cached
from accounting.usage.formats.fields import text
from accounting.usage.formats.responses import responses_answer, responses_tokens
from accounting.usage.formats.sidecalls import beside_response
from accounting.usage.wire import Body, Call, Context

NAME = "azure_openai"
IDENTITY = "as openai_chat, openai_responses and openai_embeddings, by the shape of the body"
KEYS = keys((marks.CHAT, marks.RESPONSES, marks.EMBEDDINGS), "azure", "azure.ai.openai", "az.ai.openai", "azure_openai")


def recognises(body: Body) -> bool:
    """A body of OpenAI's shape with the content filter results that only Azure adds."""
    return marks.shape(body) in (marks.CHAT, marks.RESPONSES) and marks.vendor(body) == NAME


def read(body: Body | Sequence[Body], context: Context) -> list[Call]:
    """One call. Chat bodies name the model served; response objects repeat the deployment's name, so there the context names the model.

    Raises UsageContradiction where the identity of the shape does not hold.
    """
    kind = marks.shape_of(body)
    if kind == marks.EMBEDDINGS:
        return openai_embeddings.read_as(body, context, "azure")
    if kind == marks.RESPONSES:
        response = responses_answer(body)
        deployment = text(response.body, "model", response.evidence)
        named = (deployment or context.model, context.model if deployment else None)
        main = response.call(context, "azure", kind, lambda: responses_tokens(response), named=named)
        return [main, *beside_response(response, context, "azure")]
    chat = chat_answer(body)
    return [chat.call(context, "azure", marks.CHAT, lambda: chat_tokens(chat, stated_cached(chat)))]
