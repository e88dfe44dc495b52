"""Is the description of the API true for requests that nobody thought of? Schemathesis calls every route from it, in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import CHECKS
from schemathesis.python.asgi import shutdown_lifespans
from schemathesis.specs.openapi.schemas import OpenApiSchema

from api.app import create_app
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

ROUTES = [(method, path) for path, family in create_app().openapi()["paths"].items() for method in family]
CHECKED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
# A JSON schema can't say all that makes a value right (an end after its start, a body compressed as its header says), and a bad
# row of a batch is told in the answer to the batch.
LEFT_OUT = [CHECKS.get_one("positive_data_acceptance"), CHECKS.get_one("negative_data_rejection")]


@pytest.fixture(scope="module")
def described(database: Database) -> Iterator[OpenApiSchema]:
    """The description as the app itself gives it; its lifespan starts with the first request."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in database.env.items():
            patch.setenv(name, value)
        yield schemathesis.openapi.from_asgi("/openapi.json", create_app())
        shutdown_lifespans()


@pytest.mark.parametrize("examples", [3, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=str)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_answers_as_described(
    described: OpenApiSchema,
    keys: dict[str, str],
    method: str,
    path: str,
    mode: schemathesis.GenerationMode,
    examples: int,
) -> None:
    operation = described[path][method]
    takes_nothing = not list(operation.body) and not list(operation.iter_parameters())
    if takes_nothing and mode.is_negative:
        return

    @settings(CHECKED, max_examples=examples)
    @given(operation.as_strategy(generation_mode=mode))
    def one(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {keys['admin']}"}, excluded_checks=LEFT_OUT)

    one()
