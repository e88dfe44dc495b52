"""What stands in a result file: what was measured, of which setup, on which device, when, and the curve fitted to it?

Seconds, tokens and bytes throughout; None is unknown or not applicable, never 0. No prices: a curve knows time, not money.
`json_schema` is the published form; a file of another version, or with a field that is not here, is refused by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from probe.curve.errors import CurveRefused, value_at

VERSION = 1
UNKNOWN = "unknown"  # a date that nobody stated

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Some = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Kind = Literal["decode", "prefill", "mixed", "verify", "idle"]
Via = Literal["in_process", "http", "import", "composed"]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all parts of the file."""


class ModelInfo(Record):
    """The model. Attributes:
    model_hash: of the configuration and the weights; None where the weights were not seen.
    architecture: the configuration's fields (num_hidden_layers, hidden_size, ...), as far as known.
    attention: mha, gqa, mqa or mla, and whether layers slide.
    random_weights: drawn from a seed, so nothing can be said of quality.
    """

    name: str
    model_hash: str | None = None
    architecture: dict[str, Any] = {}
    attention: Literal["mha", "gqa", "mqa", "mla"] | None = None
    sliding_window: Some | None = None
    dtype: str | None = None
    quantization: str | None = None
    random_weights: bool | None = None
    parameters: Count | None = None


class EngineInfo(Record):
    """The serving engine and what was set. Attributes:
    options: further settings by the engine's own names.
    token_eviction, prompt_truncation: settings that change answers beside quantisation.
    """

    name: str
    version: str | None = None
    commit: str | None = None
    block_size: Some | None = None
    kv_cache_dtype: str | None = None
    tensor_parallel: Some = 1
    max_num_seqs: Some | None = None
    max_num_batched_tokens: Some | None = None
    prefix_caching: bool | None = None
    speculative: dict[str, Any] | None = None
    token_eviction: bool | None = None
    prompt_truncation: bool | None = None
    options: dict[str, Any] = {}


class DeviceInfo(Record):
    """The device. Attributes:
    memory_bytes: of one. kv_bytes: what the KV cache got, over all of the replica; None: unknown.
    peak_*: nominal, of one device. measured_*: own stream and GEMM test on it.
    """

    gpu: str
    count: Some = 1
    driver: str | None = None
    clock_mhz: Amount | None = None
    power_limit_w: Amount | None = None
    memory_bytes: Count | None = None
    kv_bytes: Count | None = None
    peak_bytes_per_second: Amount | None = None
    peak_flops: Amount | None = None
    measured_bytes_per_second: Amount | None = None
    measured_flops: Amount | None = None


class Sample(Record):
    """One measured step, or one idle turn of the engine's loop.

    Attributes:
        contexts: of each decoding sequence, tokens it attends to, the new one included.
        prefills: [new, cached] tokens of each prompt in the step.
        round: which of the interleaved rounds; -1 is the reference point's own series.
        contaminated: something else used the machine, or it was slower; not in summaries, and the shape was measured again.
        pace: seconds that a fixed piece of work took beside this visit (median of ticks before and after); None: not taken.
        prefix_hits: cached tokens found where none were meant; must be 0.
    """

    kind: Kind
    seconds: Seconds
    contexts: list[Count] = []
    prefills: list[tuple[Count, Count]] = []
    round: int = 0
    reference: bool = False
    contaminated: bool = False
    pace: Seconds | None = None
    prefix_hits: Count = 0
    at: float | None = None


class Point(Record):
    """One shape's samples in short. `seconds` is the median of clean ones; quartiles beside it.

    Attributes:
        batch: decoding sequences. context_sum: tokens they attend to in all. ragged: their lengths differ.
        new, cached: prompt tokens prefilled in the step, and tokens of them that were in the cache. pairs: sum of n*(p + n/2).
        disturbed: every sample is contaminated: `seconds` is the lower quartile of these, and rather too long.
    """

    kind: Kind
    seconds: Seconds
    batch: Count = 0
    context_sum: Count = 0
    ragged: bool = False
    new: Count = 0
    cached: Count = 0
    pairs: Amount = 0.0
    n: Count = 1
    minimum: Amount | None = None
    p25: Amount | None = None
    p75: Amount | None = None
    contaminated: Count = 0
    disturbed: bool = False

    def __post_init__(self) -> None:
        if self.kind == "decode" and not 1 <= self.batch <= self.context_sum:
            raise CurveRefused("point.batch", self.batch, f"a decode step that attends to {self.context_sum} tokens")


class Metric(Record):
    """What a tool calls a figure: TPOT and ITL, TTFT with or without queueing differ between tools.

    Attributes:
        definition: in words. aggregate: mean, median, p99, ... unit: as it stood in the source.
    """

    name: Literal["ttft", "tpot", "itl", "e2e", "output_throughput", "total_throughput", "request_throughput"]
    tool: str
    tool_version: str | None = None
    definition: str = ""
    aggregate: str = ""
    unit: str = ""


class Served(Record):
    """One served run: what a client saw under a load. `tpot` and `itl` are never put in each other's place.

    Attributes:
        concurrency: requests kept in flight (closed loop), or measured in flight; None: unknown.
        request_rate: offered requests a second (open loop); None: closed loop.
        cached_tokens: mean a request, as the server reported it; None: it said nothing.
        client_busy: share of a core the client used. event_loop_lag: p99 seconds.
    """

    input_tokens: Amount
    output_tokens: Amount
    concurrency: Amount | None = None
    request_rate: Amount | None = None
    requests: Count | None = None
    failed: Count | None = None
    duration: Amount | None = None
    ttft_median: Amount | None = None
    ttft_mean: Amount | None = None
    ttft_p99: Amount | None = None
    tpot_median: Amount | None = None
    tpot_mean: Amount | None = None
    tpot_p99: Amount | None = None
    itl_median: Amount | None = None
    itl_mean: Amount | None = None
    itl_p99: Amount | None = None
    e2e_median: Amount | None = None
    output_tokens_per_second: Amount | None = None
    total_tokens_per_second: Amount | None = None
    requests_per_second: Amount | None = None
    cached_tokens: Amount | None = None
    cache_hit_share: Share | None = None
    power_w: Amount | None = None
    utilisation: Amount | None = None
    client_busy: Amount | None = None
    event_loop_lag: Amount | None = None
    label: str = ""


class Quality(Record):
    """How far answers moved from the unquantised model, on a fixed token set; all None on random weights."""

    token_set: str | None = None
    tokens: Count | None = None
    kl_mean: float | None = None
    kl_p99: float | None = None
    top1_flips: Share | None = None
    perplexity_ratio: Amount | None = None


class Error(Record):
    """Predicted against measured, relative to measured. `bias` is signed: it becomes dollars."""

    mape: Amount
    bias: float
    p95: Amount
    max: Amount
    n: Count


class Fit(Record):
    """How the curve was fitted. Attributes:
    errors: by fold: in_sample, leave_one_batch, leave_one_context, ragged, prefill, ...
    chosen: parametric, or parametric with the residual; the simpler one unless held-out error says otherwise.
    identified, not_identified: parameters the points can and cannot tell apart, with the reason.
    contaminated: folds of `errors` during whose measurement the machine was disturbed or off its pace: they hold no bar.
    notes: what a reader must know: a floor, a gap at saturation, dropped points.
    """

    chosen: str
    errors: dict[str, Error]
    identified: list[str] = []
    not_identified: dict[str, str] = {}
    contaminated: list[str] = []
    notes: list[str] = []


class Run(Record):
    """How it was measured. Attributes:
    measured_at: ISO 8601, UTC; "unknown" where nobody stated it. source: file or address an import came from, and its licence.
    drift: how much slower the reference point became, as a share. pace: seconds of the fixed piece of work beside clean samples: the
    machine's own pace when this was measured. None: not known. pace_work: which work that was; another's seconds can't be compared.
    """

    measured_at: str
    via: Via
    seed: int | None = None
    rounds: Count | None = None
    warm_up: Count | None = None
    source: str | None = None
    drift: float | None = None
    pace: Seconds | None = None
    pace_work: str | None = None


class ResultFile(Record):
    """The whole file. `curve` is the curve file that accounting reads (accounting/selfhosted/README.md, "The file")."""

    version: int
    result_id: Annotated[str, msgspec.Meta(min_length=1)]
    run: Run
    model: ModelInfo
    engine: EngineInfo
    device: DeviceInfo
    samples: list[Sample] = []
    points: list[Point] = []
    served: list[Served] = []
    metrics: list[Metric] = []
    quality: Quality | None = None
    fit: Fit | None = None
    curve: dict[str, Any] | None = None


def undated(result: ResultFile) -> bool:
    """Whether nobody stated when it was measured."""
    return result.run.measured_at == UNKNOWN


def load_result(text: str | bytes) -> ResultFile:
    """The record of a file. Raises CurveRefused naming the field."""
    try:
        found = msgspec.json.decode(text, type=ResultFile)
    except msgspec.ValidationError as error:
        document = msgspec.json.decode(text)
        if isinstance(document, dict) and document.get("version") not in (None, VERSION):
            raise CurveRefused("result.version", document["version"], f"this reads version {VERSION}") from None
        why, _, at = str(error).partition(" - at `$")
        raise CurveRefused(f"result{at.rstrip('`')}", value_at(document, at), why) from None
    except msgspec.DecodeError as error:
        raise CurveRefused("result", text[:60], str(error)) from None
    if found.version != VERSION:
        raise CurveRefused("result.version", found.version, f"this reads version {VERSION}")
    return found


def read_result(path: Path) -> ResultFile:
    """The record of the file at `path`, which an error names too."""
    try:
        return load_result(path.read_bytes())
    except CurveRefused as refused:
        raise CurveRefused(refused.field, refused.value, f"{refused.why} ({path})") from None


def dump_result(result: ResultFile) -> bytes:
    """JSON, indented; `load_result` gives an equal record back."""
    return msgspec.json.format(msgspec.json.encode(result), indent=1)


def json_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of the file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(ResultFile)}
