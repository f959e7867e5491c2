"""How fast files of each format are read, and whether memory stays flat as they grow.

Files of a random RBF stream (ten features, two classes) are written once per length, and each is read to its end in a
process of its own, whose peak resident memory is what counts. It must not grow with the file.

One format takes minutes: ``--formats csv --rows 500000 5000000``.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import _harness as harness

_GROWTH = 1.15  # the longest file's peak, at most, in terms of the shortest one's
_PART = 100_000  # rows that are made and written at a time

_READ = """
import json, resource, sys, time
from anabranch.stream import FileStream
stream = FileStream(sys.argv[1])
stream.take(1)  # loads or compiles what is needed
start, rows, total = time.perf_counter(), 0, 0.0
for X, y in stream.chunks(1000):
    rows += len(y)
    total += float(y.sum())
print(json.dumps({
    "rows": rows,
    "ones": total,
    "seconds": time.perf_counter() - start,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
}))
"""


def _tables(n_rows: int) -> Any:
    """The stream as PyArrow tables, part by part."""
    import pyarrow as pa

    from anabranch.stream import RandomRBF

    for X, y in RandomRBF(seed=1, n_rows=n_rows).chunks(_PART):
        yield pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})


def write(folder: Path, n_rows: int, formats: list[str]) -> dict[str, Path]:
    """Write the stream in every format; returns the files."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.ipc
    import pyarrow.parquet

    paths = {name: folder / f"rows-{n_rows}.{name}" for name in formats}
    schema = next(_tables(1)).schema
    plain = pyarrow.csv.WriteOptions(include_header=False)
    opened: dict[str, Any] = {}
    for name, path in paths.items():
        if name == "parquet":
            opened[name] = pyarrow.parquet.ParquetWriter(path, schema)
        elif name in ("arrow", "arrows"):
            opened[name] = (pyarrow.ipc.new_file if name == "arrow" else pyarrow.ipc.new_stream)(str(path), schema)
        else:
            packed = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
            opened[name] = pa.output_stream(str(path), compression=packed)
    for name, file in opened.items():
        if name.startswith("csv"):
            file.write(",".join(schema.names).encode() + b"\n")
        elif name == "tsv":
            file.write("\t".join(schema.names).encode() + b"\n")
        elif name == "arff":
            numeric = "".join(f"@attribute {column} numeric\n" for column in schema.names[:-1])
            file.write(f"@relation rbf\n{numeric}@attribute y {{0,1}}\n@data\n".encode())
    for table in _tables(n_rows):
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, sink, plain)
        text = sink.getvalue().to_pybytes()
        by_line = "jsonl" in opened or "svm" in opened
        lines = text.decode().splitlines() if by_line else []
        for name, file in opened.items():
            if name in ("parquet", "arrow", "arrows"):
                file.write_table(table) if name == "parquet" else file.write_table(table, max_chunksize=20_000)
            elif name == "jsonl":
                head = [f'"{column}":' for column in schema.names]
                rows = ("{" + ",".join(map("".join, zip(head, line.split(","), strict=True))) + "}\n" for line in lines)
                file.write("".join(rows).encode())
            elif name == "svm":
                rows = (
                    cells[-1] + "".join(f" {j}:{cell}" for j, cell in enumerate(cells[:-1], 1)) + "\n"
                    for cells in (line.split(",") for line in lines)
                )
                file.write("".join(rows).encode())
            else:
                file.write(text.replace(b",", b"\t") if name == "tsv" else text)
    for file in opened.values():
        file.close()
    return paths


def read(path: Path) -> dict[str, Any]:
    """Read a file to its end in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    parser = harness.options(__doc__)
    formats = ["csv", "tsv", "csv.gz", "csv.zst", "jsonl", "parquet", "arrow", "arrows", "arff", "svm"]
    parser.add_argument("--formats", nargs="*", choices=formats, default=formats, help="which (default: all)")
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[500_000, 1_000_000, 5_000_000], help="lengths of the files"
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="times each is read (default: 1)")
    parser.add_argument(
        "--folder", help="where the files are written (default: a temporary folder); up to 1 GB a format"
    )
    settings = parser.parse_args()
    report = harness.Report("readers", settings)
    measured: dict[str, dict[int, list[dict[str, Any]]]] = {name: {} for name in settings.formats}
    lengths = sorted(settings.rows)
    for n_rows in lengths:
        # One format after the other, so that the disk holds one file at a time.
        for name in settings.formats:
            with tempfile.TemporaryDirectory(dir=settings.folder) as folder, harness.console.status("") as status:
                status.update(f"writing {n_rows:,} rows, {name}")
                path = write(Path(folder), n_rows, [name])[name]
                size = os.path.getsize(path)
                status.update(f"reading {n_rows:,} rows, {name}")
                runs = [read(path) for _ in range(settings.repeat)]
            if any(run["rows"] != n_rows for run in runs):
                raise AssertionError(f"{name}: {runs[0]['rows']} rows were read of {n_rows}")
            measured[name][n_rows] = [{**run, "file": size} for run in runs]
    for n_rows in lengths:
        ones = {name: by_length[n_rows][0]["ones"] for name, by_length in measured.items()}
        if len(set(ones.values())) != 1:
            raise AssertionError(f"the formats do not hold the same labels: {ones}")
    rows = []
    for name, by_length in measured.items():
        best = max(run["rows"] / run["seconds"] for runs in by_length.values() for run in runs)
        peaks = [statistics.median(run["peak"] for run in by_length[n]) for n in lengths]
        size = by_length[lengths[-1]][0]["file"]
        rows.append([name, harness.human_bytes(size), f"{best:,.0f}", *map(harness.human_bytes, peaks)])
        if len(lengths) > 1:
            report.at_most(f"{name}: peak memory, longest file / shortest", peaks[-1] / peaks[0], _GROWTH)
    report.table(
        "Reading files",
        ["", f"size at {lengths[-1]:,} rows", "rows/s (best)", *[f"peak at {n:,}" for n in lengths]],
        rows,
    )
    report.keep("formats", measured)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
