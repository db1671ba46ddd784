"""Libraries that turn SQLite tables into NumPy columns, on the kernels and API calls of a generated trace.

Each reads in a process of its own, on one core and on all, the processes taking turns. Times are the shortest of all
runs, which other programs disturb least; CPU is the processor time of the whole process. Libraries that the product
does not need have to be installed first: `pip install connectorx pyarrow arro3-core`.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.analyze import run

# What every reader starts with: the columns, the queries, and halves of the tables for readers that use two threads.
COMMON = """
import os, sqlite3, sys, time
if sys.argv[2] == "one core":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
begin = time.perf_counter()
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                                   "demangledName", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "correlationId", "nameId"),
}
URI = f"file:{quote(sys.argv[1])}?mode=ro&immutable=1"
def select(table):
    return f"SELECT {', '.join(f'COALESCE({column}, 0) AS {column}' for column in COLUMNS[table])} FROM {table}"
def halves(table):
    with sqlite3.connect(URI, uri=True) as database:
        ((rows,),) = database.execute(f"SELECT max(rowid) FROM {table}")
    return [f"{select(table)} WHERE rowid <= {rows // 2}", f"{select(table)} WHERE rowid > {rows // 2}"]
def imported():
    global begin
    print(time.perf_counter() - begin)
    begin = time.perf_counter()
"""

ADBC = """
import adbc_driver_manager as manager, adbc_driver_sqlite
CONSUMER
def read(query):
    with (adbc_driver_sqlite.connect(URI) as database, manager.AdbcConnection(database) as connection,
          manager.AdbcStatement(connection) as statement):
        statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH)})
        statement.set_sql_query(query)
        return columns(statement.execute_query()[0])
imported()
with ThreadPoolExecutor(2) as pool:
    parts = list(pool.map(read, [query for table in COLUMNS for query in halves(table)]))
result = [np.concatenate(pair) for first in (0, 2) for pair in zip(parts[first], parts[first + 1])]
"""

PYARROW = """
import pyarrow
def columns(stream):
    table = pyarrow.RecordBatchReader.from_stream(stream).read_all()
    return [np.concatenate([np.frombuffer(chunk.buffers()[1], np.int64) for chunk in column.chunks])
            for column in table.columns]
"""

ARRO3 = """
import arro3.core
def columns(stream):
    table = arro3.core.RecordBatchReader.from_stream(stream).read_all()
    return [table.column(place).to_numpy() for place in range(table.num_columns)]
"""

CONNECTORX = """
import connectorx, pyarrow
imported()
result = []
for table in COLUMNS:
    arrow = connectorx.read_sql("sqlite://" + quote(URI, safe=""), QUERIES, return_type="arrow")
    result += [np.concatenate([np.frombuffer(chunk.buffers()[1], np.int64) for chunk in column.chunks])
               for column in arrow.columns]
"""

READERS = {
    "SQLite's own scan": """
imported()
database = sqlite3.connect(URI, uri=True)
for table, columns in COLUMNS.items():
    database.execute(f"SELECT max({' + '.join(columns)}) FROM {table}").fetchall()
""",
    "sqlite3 and NumPy": """
imported()
database = sqlite3.connect(URI, uri=True)
result = []
for table in COLUMNS:
    cursor = database.execute(select(table))
    parts = [np.array(rows, np.int64) for rows in iter(lambda: cursor.fetchmany(50_000), [])]
    result.extend(np.concatenate(parts).T)
""",
    "ADBC, nanoarrow: advisor's Database": """
from pathlib import Path
from advisor.trace.readers.sqlite import Database
imported()
with Database(Path(sys.argv[1])) as database:
    result = database.read_many({table: {column: column for column in columns} for table, columns in COLUMNS.items()})
""",
    "ADBC, pyarrow": ADBC.replace("CONSUMER", PYARROW).replace("BATCH", "65536"),
    "ADBC, arro3": ADBC.replace("CONSUMER", ARRO3).replace("BATCH", "65536"),
    "connectorx, pyarrow": CONNECTORX.replace("QUERIES", "select(table)"),
    "connectorx, pyarrow, halves": CONNECTORX.replace("QUERIES", "halves(table)"),
}
END = """
print(time.perf_counter() - begin)
"""
NEEDS = {
    "sqlite3 and NumPy": (),
    "ADBC, nanoarrow: advisor's Database": ("adbc-driver-manager", "adbc-driver-sqlite", "nanoarrow"),
    "ADBC, pyarrow": ("adbc-driver-manager", "adbc-driver-sqlite", "pyarrow"),
    "ADBC, arro3": ("adbc-driver-manager", "adbc-driver-sqlite", "arro3-core"),
    "connectorx, pyarrow": ("connectorx", "pyarrow"),
    "connectorx, pyarrow, halves": ("connectorx", "pyarrow"),
}


def main(
    kernels: Annotated[int, typer.Option(min=1, help="How many kernels, and about as many API calls.")] = 1_000_000,
    runs: Annotated[int, typer.Option(min=1, help="How often each reader runs.")] = 7,
) -> None:
    """Measure libraries that read SQLite into columns."""
    sizes = {name: installed_bytes(NEEDS.get(name, ())) for name in READERS}
    readers = [name for name, size in sizes.items() if size is not None]
    seconds = defaultdict[tuple[str, str], list[float]](list)
    imports, cpu, peaks = (defaultdict[str, list[float]](list) for _ in range(3))
    with tempfile.TemporaryDirectory(prefix="advisor-benchmark-") as folder, Progress(transient=True) as progress:
        trace = Path(folder) / "trace.sqlite"
        run([sys.executable, "-m", "benchmarks.trace_generator", str(trace), "--kernels", str(kernels)])
        task = progress.add_task("reading", total=2 * len(readers) * (runs + 1))
        for turn in range(runs + 1):
            for name in readers:
                for cores in ("one core", "all cores"):
                    cost = run([sys.executable, "-c", COMMON + READERS[name] + END, str(trace), cores])
                    progress.advance(task)
                    if turn == 0:
                        continue  # Python compiles, the system reads the file
                    import_s, read_s = map(float, cost.output.split())
                    seconds[name, cores].append(read_s)
                    imports[name].append(import_s)
                    cpu[name].append(cost.cpu_s)
                    peaks[name].append(cost.peak_bytes)
    table = Table(title=f"{kernels:,} kernels and API calls, 14 columns")
    for heading in ("reader", "one core", "all cores", "import", "CPU", "peak", "installed"):
        table.add_column(heading, justify="left" if heading == "reader" else "right")
    for name in readers:
        table.add_row(
            name,
            *(f"{min(seconds[name, cores]):.2f} s" for cores in ("one core", "all cores")),
            f"{min(imports[name]):.2f} s",
            f"{min(cpu[name]):.2f} s",
            f"{median(peaks[name]) / 1e6:,.0f} MB",
            f"{(sizes[name] or 0) / 1e6:,.0f} MB",
        )
    Console().print(table)


def installed_bytes(packages: tuple[str, ...]) -> int | None:
    """The size of all files of PACKAGES; None where one is not installed."""
    try:
        files = [file for package in packages for file in importlib.metadata.files(package) or ()]
    except importlib.metadata.PackageNotFoundError:
        return None
    return sum(size for file in files if (size := file.size) is not None)


if __name__ == "__main__":
    typer.run(main)
