"""The clock that minibatches, requests and turns are timed with."""

import time

now_ns = time.perf_counter_ns
