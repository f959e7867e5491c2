import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from anabranch import __version__, _expression, datasets
from anabranch.cli import app
from anabranch.tree import HoeffdingTreeClassifier

SHORT = ["SEA(noise=0.1)", "--max-rows", "2500"]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def in_a_process(*arguments, **options):
    settings = {"capture_output": True, "text": True, "encoding": "utf-8", **options}
    return subprocess.run([sys.executable, "-m", "anabranch", *map(str, arguments)], check=False, **settings)


def the_error(result):
    """The message, which is one line on standard error."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "trees.csv"
    lines = ["height,kind,colour"]
    for _ in range(600):
        kind = rng.integers(2)
        lines.append(f"{rng.normal() + 3 * kind:.3f},{['oak', 'fir'][kind]},{['red', 'green'][rng.integers(2)]}")
    path.write_text("\n".join(lines) + "\n")
    return path


# ---------------------------------------------------------------------------------------- help


def test_help_teaches():
    result = invoke("--help")
    assert result.exit_code == 0
    for part in ("run", "list", "warmup", "anabranch run electricity"):
        assert part in result.output
    assert "--max-rows" in invoke("run", "-h").output
    assert invoke("--version").output.strip() == f"anabranch {__version__}"


def test_help_imports_nothing_heavy():
    done = in_a_process("--help", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {
        "numpy",
        "numba",
        "sklearn",
        "scipy",
        "pyarrow",
        "matplotlib",
        "narwhals",
        "pandas",
    }


# ---------------------------------------------------------------------------------------- run


def test_run_on_a_generator():
    result = invoke("run", *SHORT)
    assert result.exit_code == 0, result.output
    assert "HoeffdingTree on SEA(noise=0.1, seed=1)" in result.stdout
    for part in (
        "Accuracy",
        "Kappa",
        "G-mean",
        "AUC",
        "Log loss",
        "All rows",
        "Last 1,000",
        "2,500",
        "Tree",
    ):
        assert part in result.stdout
    assert result.stderr == ""


def test_an_endless_stream_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr("anabranch.cli._ENDLESS_ROWS", 1500)
    result = invoke("run", "SEA", "-m", "accuracy")
    assert "1,500 of an endless stream (--max-rows for more)" in result.stdout
    assert "endless" not in invoke("run", "SEA(n_rows=1200)", "-m", "accuracy").stdout


def test_run_on_a_file_with_bad_rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("a;b;y\n" + "1;2;0\n2;1;1\n" * 200 + "x;1;0\n3\n")
    options = ("--format", "csv", "-m", "accuracy")
    result = invoke("run", path, *options)
    assert result.exit_code == 2
    assert "rows.txt: line 402, column 'a' holds 'x'" in the_error(result)
    result = invoke("run", path, *options, "--on-bad-row", "skip")
    assert "Skipped   2 bad rows, the first: line 402, column 'a' holds 'x'" in result.stdout
    stream = json.loads(invoke("run", path, *options, "--on-bad-row", "skip", "--json", "-").stdout)["stream"]
    assert stream["n_bad_rows"] == 2
    assert [what[:8] for what in stream["bad_rows"]] == ["line 402", "line 403"]
    assert "--on-bad-row" not in result.stdout
    result = invoke("run", path, *options, "--on-bad-row", "drop")
    assert "on_bad_row must be 'raise' or 'skip'" in the_error(result)
    result = invoke("run", path, *options, "--delimiter", ",")
    assert "give delimiter=';'" in the_error(result)


def test_run_on_standard_input_and_on_a_growing_file(csv):
    text = csv.read_text()
    rows = str(text.count("\n") - 1)
    result = in_a_process("run", "-", "--format", "csv", "-m", "accuracy", input=text)
    assert "on standard input" in result.stdout
    assert f"Rows      {rows}" in result.stdout.replace(",", "")
    result = in_a_process("run", csv, "--follow", "--idle-timeout", "0.5", "-m", "accuracy")
    assert f"Rows      {rows}" in result.stdout.replace(",", "")


def test_what_the_command_leaves_for_later():
    code = (
        "import sys\nfrom anabranch._startup import import_later\nimport_later('scipy.stats', 'pandas')\n"
        "import sklearn.base\nprint('scipy.stats._stats_py' in sys.modules, 'pandas.core' in sys.modules)\n"
        "import scipy.stats, pandas.api.types\nfrom pandas import Series\n"
        "print(scipy.stats.norm.cdf(0), Series([1, 2]).sum(), pandas.api.types.is_list_like([]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False False", "0.5 3 True"]


def test_run_on_a_file(csv):
    result = invoke("run", csv, "--target", "kind", "-m", "accuracy", "--json", "-", "--window", 100)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["rows"] == 600
    assert found["metrics"]["accuracy"] > 0.8
    assert found["curve"]["row"] == [100, 200, 300, 400, 500, 600]
    other = json.loads(invoke("run", csv, "--json", "-").stdout)
    assert sorted(other["metrics"]) == ["accuracy", "auc", "gmean", "kappa", "log_loss"]
    assert other["metrics"]["accuracy"] < 0.7  # the last column is noise


def test_outputs(tmp_path):
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "png", "learner")}
    result = invoke(
        *("run", *SHORT, "-m", "kappa", "-m", "acc", "--json", files["json"], "--csv", files["csv"]),
        *("--plot", files["png"], "--save", files["learner"]),
    )
    assert result.exit_code == 0, result.output
    found = json.loads(files["json"].read_text(), parse_constant=pytest.fail)
    assert list(found["metrics"]) == ["kappa", "accuracy"]
    assert files["csv"].read_text().splitlines()[0] == "row,kappa,accuracy"
    assert len(files["csv"].read_text().splitlines()) == 4
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert HoeffdingTreeClassifier.load(files["learner"]).classes_.tolist() == [0, 1]
    assert str(files["learner"]) in result.stdout


def test_quiet_says_nothing(tmp_path):
    result = invoke("run", *SHORT, "-q", "--json", tmp_path / "out.json")
    assert (result.exit_code, result.output) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["rows"] == 2500
    assert invoke("run", *SHORT, "-q", "--csv", "-").stdout.startswith("row,accuracy")


def test_seed_sets_what_the_expressions_leave_open():
    def of(*arguments):
        return json.loads(invoke("run", *arguments, "--max-rows", 1000, "--json", "-").stdout)["stream"]["parameters"]

    assert of("SEA", "--seed", 9)["seed"] == 9
    assert of("SEA(seed=3)", "--seed", 9)["seed"] == 3


def test_chunk_size_changes_nothing():
    def figures(size):
        found = json.loads(invoke("run", *SHORT, "--chunk-size", size, "--json", "-").stdout)
        return found["metrics"], found["curve"]

    assert figures(1) == figures(333) == figures(10_000)


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "STREAM.*anabranch run --help"),
        (["run", "electrcity"], "Did you mean electricity"),
        (["run", "sea"], "Did you mean SEA"),
        (["run", "nowhere/rows.csv"], "no file nowhere/rows.csv"),
        (["run", "SEA(function=9)"], "function must be"),
        (["run", "SEA(functon=1)"], "Did you mean function"),
        (["run", "SEA(function=1"], "never closed"),
        (["run", "SEA", "HoefdingTree"], "Did you mean HoeffdingTree"),
        (["run", "SEA", "HoeffdingTree(grace=1)"], "grace_period"),
        (["run", "SEA", "HoeffdingTree(grace_period=-1)"], "grace_period must be"),
        (["run", "SEA", "-m", "acuracy"], "Did you mean 'accuracy'"),
        (["run", "SEA", "-m", "acc", "-m", "accuracy"], "twice"),
        (["run", "SEA", "--windw", "3"], "--windw"),
        (["run", "SEA", "--window", "0"], "--window"),
        (["run", "SEA", "--max-rows", "many"], "--max-rows"),
        (["run", "SEA", "--target", "x0"], "--target is for files"),
        (["run", "SEA", "--on-bad-row", "skip"], "--on-bad-row is for files: a generator has its own"),
        (["run", "electricity", "--follow"], "--follow is for files: the data set electricity has its own"),
        (["run", "-"], "standard input needs a format: one of arff, arrow, csv"),
        (["run", "electricity", "--target", "x0"], "--target is for files"),
        (["run", "SEA", "--json", "nowhere/out.json"], "--json: there is no folder .*nowhere"),
        (["run", "SEA", "--csv", "."], "is a folder"),
        (["run", "SEA", "--plot", "out.nonsense"], "must end in one of .*\\.png"),
        (["run", "SEA", "--plot", "-"], "name a file"),
        (["run", "SEA", "--json", "a.txt", "--csv", "./a.txt"], "--json and --csv name the same file"),
        (["run", "SEA", "--json", "-", "--csv", "-"], "the same file"),
        (["list", "learner"], "Did you mean learners"),
        (["runn", "SEA"], "runn"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert re.search(message, the_error(result))
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("a,b\n1,x\n2,y\n3,x,4\n")
    result = invoke("run", path)
    assert result.exit_code == 2
    assert "broken.csv" in the_error(result)


def test_unexpected_errors(monkeypatch):
    def fail(*arguments):
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr(_expression, "learner", fail)
    monkeypatch.delenv("ANABRANCH_DEBUG", raising=False)
    result = invoke("run", "SEA")
    assert result.exit_code == 1
    assert "RuntimeError: out of luck" in the_error(result)
    assert "ANABRANCH_DEBUG=1" in result.stderr
    monkeypatch.setenv("ANABRANCH_DEBUG", "1")
    assert "Traceback" in invoke("run", "SEA").stderr


def test_an_interrupted_run_shows_what_it_has(monkeypatch, tmp_path):
    from anabranch.stream import SEA

    chunks = SEA._chunks

    def interrupted(self, size, skip):
        for number, chunk in enumerate(chunks(self, size, skip)):
            if number == 2:
                raise KeyboardInterrupt
            yield chunk

    monkeypatch.setattr(SEA, "_chunks", interrupted)
    result = invoke("run", *SHORT, "--json", tmp_path / "out.json")
    assert result.exit_code == 130
    assert "2,000, interrupted" in result.stdout
    assert result.stderr == "interrupted after 2,000 rows\n"
    assert json.loads((tmp_path / "out.json").read_text())["interrupted"] is True


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c():
    process = subprocess.Popen(
        [sys.executable, "-m", "anabranch", "run", "SEA", "--max-rows", "1000000000000", "-m", "accuracy"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # An interruption while the library is still being imported ends it at once, which is just as well.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.startswith("interrupted")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(tmp_path):
    result = invoke("run", *SHORT, "--json", "/dev/full", "--csv", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert "--json /dev/full: No space left" in the_error(result)
    assert "Accuracy" in result.stdout  # and nothing else is lost
    assert (tmp_path / "out.csv").read_text().startswith("row,")
    with open("/dev/full", "w") as full:
        done = in_a_process("list", "metrics", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 1
    assert "No space left" in the_error(done)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_goes_away():
    reader, writer = os.pipe()
    os.close(reader)
    done = in_a_process("list", "metrics", stdout=writer, stderr=subprocess.PIPE, capture_output=False)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 1


# ---------------------------------------------------------------------------------------- pipes


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_pipes_get_plain_text(encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "20"}
    done = in_a_process("run", *SHORT, env=environment, encoding=encoding)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.isascii()
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    assert re.search(r"^Accuracy +\d+\.\d\d % +\d+\.\d\d %$", done.stdout, re.MULTILINE)


# ---------------------------------------------------------------------------------------- list, warmup


def test_list():
    result = invoke("list")
    assert result.exit_code == 0, result.output
    for part in ("electricity", "45,312", "RandomRBF", "HoeffdingTree", "log_loss"):
        assert part in result.stdout
    assert "SEA" in invoke("list", "generators").stdout
    assert "SEA" not in invoke("list", "learners").stdout


def test_list_as_json():
    everything = json.loads(invoke("list", "--json").stdout)
    assert list(everything) == ["datasets", "generators", "learners", "metrics"]
    for kind, entries in everything.items():
        assert json.loads(invoke("list", kind, "--json").stdout) == entries
        assert all(entry["name"] and entry["summary"] for entry in entries)
    for entry in everything["learners"]:
        assert _expression.learner(entry["name"]) is not None
    for entry in everything["generators"]:
        assert _expression.stream(entry["name"]) is not None


def test_datasets():
    result = invoke("datasets")
    assert result.exit_code == 0, result.output
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert list(lines)[1:] == datasets.names()
    assert lines["Name"].split() == ["Name", "Rows", "Features", "Classes", "Cached", "Licence"]
    assert "327,346" in lines["flights"]
    assert "CC0" in lines["flights"]
    listed = json.loads(invoke("datasets", "--json").stdout)
    assert [entry["name"] for entry in listed] == datasets.names()
    for entry in listed:
        assert entry["cached"] == datasets.is_cached(entry["name"])
        assert lines[entry["name"]].split()[4] == ("yes" if entry["cached"] else "no")
        assert entry["licence"]
        assert entry["package"]


def test_streams_by_expression():
    assert invoke("run", "openml:x", "MajorityClass").exit_code == 2
    result = invoke("run", "DriftStream([SEA(1), SEA(3)], [500], widths=100)", "MajorityClass", "--max-rows", "1000")
    assert result.exit_code == 0, result.output
    assert "1,000" in result.stdout
    assert "endless" in invoke("run", "DriftStream([SEA(1), SEA(3)], every=500)", "MajorityClass").stdout
    assert invoke("run", "LED", "MajorityClass", "--max-rows", "1000").exit_code == 0


def test_warmup_leaves_nothing_to_compile():
    assert invoke("warmup").exit_code == 0
    done = in_a_process("warmup")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nothing left to compile")
    assert "cache: " in done.stdout
    assert "HoeffdingTreeClassifier" in done.stderr
