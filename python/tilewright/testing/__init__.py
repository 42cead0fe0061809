"""For tests and measurements of kernels: timing, tables of times and comparison of arrays."""

from __future__ import annotations

from .check import check as check
from .bisection import WrongPass as WrongPass
from .check_results import CheckError as CheckError
from .check_results import CheckResult as CheckResult
from .check_results import Finding as Finding
from .closeness import assert_close as assert_close
from .device_array import DeviceArray as DeviceArray
from .reports import Benchmark as Benchmark
from .reports import Mark as Mark
from .reports import perf_report as perf_report
from .timing import Spread as Spread
from .timing import do_bench as do_bench
from .timing import do_bench_cudagraph as do_bench_cudagraph
from .timing import sample_times as sample_times
from .timing import summarize as summarize
