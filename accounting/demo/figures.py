"""Which public measurements does the demo's workload follow? Each constant names its data set.

ServeGen: statistics by client of Alibaba Cloud Model Studio (alibaba/ServeGen, arXiv 2505.09999, Apache-2.0). Mooncake: one
hour of a conversation service (kvcache-ai/Mooncake, FAST25 `conversation_trace`, Apache-2.0). What no public figure gives
stands in `product.py` and is invented.
"""

LARGEST_REQUEST_SHARE = 0.29
"""ServeGen, deepseek-r1: share of all requests that the largest of 73 clients makes."""

LARGEST_OUTPUT_SHARE = 0.49
"""ServeGen, deepseek-r1: share of all output tokens that the same client receives."""

CLIENT_SIGMA = 1.84
"""ServeGen, deepseek-r1: standard deviation of ln(requests of a client); how unequal the other users are."""

PEAK_TO_TROUGH = 2.21
"""ServeGen, m-small over 14 days: mean requests of the busiest hour of the day over those of the quietest."""

BUSIEST_HOUR = 20.5
"""ServeGen, m-small: middle of the busiest two hours of the data set's day."""

INPUT_MEDIAN = 6_909
"""Mooncake: median input tokens; p95 is 39.6k, p99 85.4k."""

INPUT_SIGMA = 1.07
"""Mooncake: ln(p95 / p50) / 1.645 is 1.06 and ln(p99 / p50) / 2.326 is 1.08, so a lognormal fits both tails."""

OUTPUT_MEDIAN = 350
"""Mooncake: median output tokens; p95 is 698, p99 1,118."""

OUTPUT_SIGMA = 0.45
"""Mooncake: between ln(p95 / p50) / 1.645 = 0.42 and ln(p99 / p50) / 2.326 = 0.50."""

HIT_SHARE_FOREVER = 0.374
"""Mooncake: share of input tokens that hit a prefix cache which never forgets."""

HIT_SHARE_5_MINUTES = 0.293
"""Mooncake: the same for a cache that keeps a block for 5 minutes."""
