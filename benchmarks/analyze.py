"""How long `advisor analyze` takes and how much memory, against SQLite's own scan of the same columns.

Each run is a process of its own, the runs of one size take turns, and every figure is a median over the turns. `nsys
stats` runs on the same file where it is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (100_000, 1_000_000)
LARGE_SIZES = (3_000_000, 10_000_000)

TARGET_SIZE = 1_000_000
TARGET_RATIO = 4.0
TARGET_BYTES = 600.0

# Where nothing keeps the compiled modules, every start compiles them anew, which is not what people wait for.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

# One aggregate that needs every column of every row: what reading costs SQLite when nothing is done with the values.
SCAN = """
import sqlite3, sys, time
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                                   "demangledName", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                                   "copyKind", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "correlationId", "nameId"),
    "NVTX_EVENTS": ("start", "end", "globalTid", "eventType", "domainId", "textId", "text"),
}
database = sqlite3.connect(f"{sys.argv[1]}?mode=ro&immutable=1", uri=True)
present = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
begin = time.perf_counter()
for table in COLUMNS.keys() & present:
    database.execute(f"SELECT max({' + '.join(COLUMNS[table])}) FROM {table}").fetchall()
print(time.perf_counter() - begin)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    output: str


@dataclass(frozen=True, slots=True)
class Result:
    """Medians over the runs on one trace; of `ratio` over the pairs of runs that followed one another."""

    kernels: int
    file_bytes: int
    scan_s: float
    analyze_s: float
    ratio: float
    cpu_s: float
    peak_bytes: int
    bytes_per_kernel: float
    ns_per_kernel: float
    nsys_stats_s: float | None


def main(
    large: Annotated[bool, typer.Option("--large", help="Also 3 and 10 million kernels: minutes, and 1.5 GB.")] = False,
    kernels: Annotated[list[int] | None, typer.Option(help="Other sizes; may be given several times.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="How often each command runs on each trace.")] = 5,
    streams: Annotated[int, typer.Option(min=1, help="Kernels go to so many streams in turn.")] = 1,
    nvtx: Annotated[bool, typer.Option("--nvtx", help="With NVTX ranges for steps and layers.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the figures.")] = None,
) -> None:
    """Measure `advisor analyze` on generated traces."""
    sizes = kernels or [*SIZES, *(LARGE_SIZES if large else ())]
    results = []
    with (
        tempfile.TemporaryDirectory(prefix="advisor-benchmark-") as folder,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("", total=len(sizes) * (runs + 1))
        for size in sizes:
            trace = Path(folder) / "trace.sqlite"
            progress.update(task, description=f"writing {size:,} kernels")
            options = ["--kernels", str(size), "--streams", str(streams), *(["--nvtx"] if nvtx else [])]
            # In a process of its own, also because a child's peak memory counts from its parent's.
            run([sys.executable, "-m", "benchmarks.trace_generator", str(trace), *options])
            progress.update(task, advance=1, description=f"measuring {size:,} kernels")
            results.append(measure(trace, size, runs, lambda: progress.advance(task)))
    Console().print(as_table(results))
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n", encoding="utf-8")


def measure(trace: Path, kernels: int, runs: int, advance: Callable[[], None]) -> Result:
    """Run the commands in turn on the file TRACE."""
    nsys = shutil.which("nsys")
    scan = [sys.executable, "-c", SCAN, trace.as_uri()]
    analyze = [sys.executable, "-m", "advisor", "analyze", str(trace), "--json", f"{trace}.json"]
    stats = [nsys or "", "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", str(trace)]
    run(scan)  # from here on the file is in memory for everyone …
    run(analyze)  # … and Python has compiled what it imports
    scans, analyses, nsys_runs = [], [], []
    for _ in range(runs):
        scans.append(float(run(scan).output))
        analyses.append(run(analyze))
        if nsys:
            nsys_runs.append(run(stats).wall_s)
        advance()
    peak = int(median(cost.peak_bytes for cost in analyses))
    wall = median(cost.wall_s for cost in analyses)
    return Result(
        kernels=kernels,
        file_bytes=trace.stat().st_size,
        scan_s=median(scans),
        analyze_s=wall,
        ratio=median(cost.wall_s / scan_s for cost, scan_s in zip(analyses, scans, strict=True)),
        cpu_s=median(cost.cpu_s for cost in analyses),
        peak_bytes=peak,
        bytes_per_kernel=peak / kernels,
        ns_per_kernel=wall * 1e9 / kernels,
        nsys_stats_s=median(nsys_runs) if nsys_runs else None,
    )


def run(command: list[str]) -> Cost:
    """Run COMMAND to its end; when it fails, so does the benchmark, with its last words."""
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        words = output.read()
    if process.returncode:
        sys.exit(f"failed ({process.returncode}): {' '.join(command)}\n{words[-2000:]}")
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, peak, words)


def as_table(results: list[Result]) -> Table:
    """The figures for people, with the targets where they hold."""
    table = Table(
        title="advisor analyze, whole process",
        caption=f"targets at {TARGET_SIZE:,} kernels: ratio to the scan at most {TARGET_RATIO:g}, "
        f"at most {TARGET_BYTES:g} bytes a kernel; ns a kernel the same at every size above",
    )
    for heading in (
        "kernels",
        "file",
        "scan",
        "analyze",
        "ratio",
        "CPU",
        "peak",
        "B/kernel",
        "ns/kernel",
        "nsys stats",
    ):
        table.add_column(heading, justify="right")
    for result in results:
        counts = result.kernels == TARGET_SIZE
        table.add_row(
            f"{result.kernels:,}",
            f"{result.file_bytes / 1e6:,.0f} MB",
            f"{result.scan_s:.2f} s",
            f"{result.analyze_s:.2f} s",
            against(result.ratio, TARGET_RATIO if counts else None, ".1f"),
            f"{result.cpu_s:.2f} s",
            f"{result.peak_bytes / 1e6:,.0f} MB",
            against(result.bytes_per_kernel, TARGET_BYTES if counts else None, ",.0f"),
            f"{result.ns_per_kernel:,.0f}",
            "not installed" if result.nsys_stats_s is None else f"{result.nsys_stats_s:.2f} s",
        )
    return table


def against(value: float, target: float | None, form: str) -> str:
    """A figure, marked where it has a target."""
    mark = "" if target is None else " ✓" if value <= target else " ✗"
    return f"{value:{form}}{mark}"


if __name__ == "__main__":
    typer.run(main)
