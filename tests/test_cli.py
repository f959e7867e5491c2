import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

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
    monkeypatch.setattr("anabranch.cli.run._ENDLESS_ROWS", 1500)
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
        "import sys\nfrom anabranch._startup import SELDOM_USED, import_later\nimport_later(*SELDOM_USED)\n"
        "import sklearn.base\n"
        "print([n for n in SELDOM_USED if any(loaded.startswith(n + '._') for loaded in sys.modules)])\n"
        "import asyncio.queues, numpy, scipy.stats, scipy.special, pandas.api.types, narwhals.stable.v2, narwhals\n"
        "from pandas import Series\nfrom sklearn.utils.validation import nw\n"
        "print(scipy.stats.norm.cdf(0), scipy.special.expit(0), numpy.testing.assert_equal(1, 1))\n"
        "print(Series([1, 2]).sum(), pandas.api.types.is_list_like([]))\n"
        "from_native = narwhals.stable.v2.from_native\n"
        "print(from_native(Series([1, 2]), series_only=True).sum(), nw.from_native is from_native)\n"
        "print(asyncio.run(asyncio.sleep(0, 'slept')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "0.5 0.5 None", "3 True", "3 True", "slept"]


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
    assert done.returncode == -signal.SIGPIPE  # as cat and grep end


@pytest.mark.skipif(sys.platform == "win32", reason="shells")
def test_help_into_head():
    command = f"{sys.executable} -m anabranch --help | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")  # 0 if the whole help was in the pipe before head went


@pytest.mark.skipif(sys.platform == "win32", reason="shells")
def test_standard_streams_that_are_closed(tmp_path):
    def shell(command):
        anabranch = f"{sys.executable} -m anabranch"
        done = subprocess.run(
            ["bash", "-c", command.replace("anabranch", anabranch, 1)], capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    for command in ("list metrics", "--help", "run SEA --max-rows 1000 -q --json -"):
        assert shell(f"anabranch {command} >&-") == (1, "", "Error: standard output: it is closed\n")
        assert shell(f"anabranch {command} >&- 2>&-") == (1, "", "")
    out = tmp_path / "out.json"
    assert shell(f"anabranch run SEA --max-rows 1000 -q --json {out} <&- >&- 2>&-") == (0, "", "")
    assert json.loads(out.read_text())["rows"] == 1000
    code, _, errors = shell(f"anabranch run SEA --max-rows 1000 -q --json >(cat > {tmp_path}/piped.json)")
    assert (code, errors) == (0, "")
    for _ in range(100):
        if (tmp_path / "piped.json").exists() and (tmp_path / "piped.json").stat().st_size == out.stat().st_size:
            break
        time.sleep(0.05)
    assert json.loads((tmp_path / "piped.json").read_text())["rows"] == 1000


def test_outputs_are_checked_before_the_run(tmp_path, monkeypatch):
    from anabranch.stream import SEA

    monkeypatch.setattr(SEA, "_chunks", lambda *arguments: pytest.fail("the run has begun"))
    for option in ("--json", "--csv", "--save", "--checkpoint"):
        for name in ("r" * 300, *(["/proc/nothing"] * os.path.exists("/proc"))):
            result = invoke("run", "SEA", option, name)
            assert result.exit_code == 2
            assert re.search(f"{option}: {name} cannot be written", the_error(result))
    for option in ("--save", "--checkpoint"):
        if os.path.exists("/dev/full"):
            assert "Not a regular file" in the_error(invoke("run", "SEA", option, "/dev/full"))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------- checkpoints


def test_a_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    from anabranch.stream import SEA

    path, chunks = tmp_path / "run.ck", SEA._chunks

    def figures(*arguments):
        found = json.loads(invoke("run", *SHORT, "-q", *arguments, "--json", "-").stdout)
        return [found[name] for name in ("rows", "metrics", "last_window", "curve", "peak_nbytes")], found["starts"]

    def interrupted(self, size, skip):
        for number, chunk in enumerate(chunks(self, size, skip)):
            if number == 2:
                raise KeyboardInterrupt
            yield chunk

    whole, _ = figures()
    with monkeypatch.context() as patch:
        patch.setattr(SEA, "_chunks", interrupted)
        result = invoke("run", *SHORT, "--checkpoint", path, "--chunk-size", 700)
    assert result.exit_code == 130
    assert result.stderr == f"interrupted after 1,400 rows; the same command goes on from there ({path})\n"
    assert figures("--checkpoint", path) == (whole, 2)
    result = invoke("run", *SHORT, "--checkpoint", path)
    assert result.stderr == f"going on from {path}\n"
    assert re.search(r"^Time .* in 3 starts$", result.stdout, re.MULTILINE)
    result = invoke("run", *SHORT, "--checkpoint", path, "--window", 7)
    assert result.exit_code == 2
    assert f"{path} is the checkpoint of another run: window: 1000 then, 7 now" in result.stderr.splitlines()[-1]
    assert invoke("run", *SHORT, "--checkpoint", path, "--window", 7, "--restart").exit_code == 0
    for option in (["--restart"], ["--checkpoint-every", 5]):
        assert f"{option[0]} needs --checkpoint FILE" in the_error(invoke("run", *SHORT, *option))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_kill_and_start_again(tmp_path):
    path, out = tmp_path / "run.ck", tmp_path / "out.json"
    command = ["run", "RandomRBF(n_classes=3)", "--max-rows", "300000", "-q", "-m", "accuracy", "-m", "log_loss"]
    more = ["--checkpoint", str(path), "--checkpoint-every", "5000", "--json", str(out)]
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-m", "anabranch", *command, *more]) as process:
            before = path.stat().st_mtime_ns if path.exists() else 0
            while process.poll() is None and (path.stat().st_mtime_ns if path.exists() else 0) == before:
                time.sleep(0.01)
            process.kill()
    assert in_a_process(*command, *more).returncode == 0
    found = json.loads(out.read_text())
    expected = json.loads(invoke(*command, "--json", "-").stdout)
    assert found["starts"] == 4
    assert [found[key] for key in ("rows", "metrics", "curve")] == [
        expected[key] for key in ("rows", "metrics", "curve")
    ]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.json", "run.ck"]


# ---------------------------------------------------------------------------------------- generate


def test_generate(tmp_path):
    from anabranch.stream import FileStream, RandomRBF

    path = tmp_path / "rows.parquet"
    result = invoke("generate", "RandomRBF(n_classes=3)", "-n", 2500, "--seed", 5, "-o", path)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(rf"2,500 rows of RandomRBF\(n_classes=3, seed=5\) written to {path} \(.*KiB\)\n", result.stdout)
    X, y = FileStream(path).take(2500)
    expected, labels = RandomRBF(n_classes=3, seed=5).take(2500)
    assert (expected == X).all()
    assert (y == labels).all()
    assert invoke("generate", path, "-q", "-o", tmp_path / "rows.csv").output == ""
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert (len(lines), lines[0][:6], lines[0][-6:]) == (2501, "x0,x1,", ",class")
    done = in_a_process("generate", tmp_path / "rows.csv", "-n", 3)
    assert (done.stdout, done.stderr) == ("\n".join(lines[:4]) + "\n", "")
    assert in_a_process("generate", "SEA(n_rows=3)").stdout.count("\n") == 4


def test_generate_puts_the_target_last(csv, tmp_path):
    assert invoke("generate", csv, "--target", "kind", "-o", tmp_path / "moved.csv").exit_code == 0
    assert (tmp_path / "moved.csv").read_text().splitlines()[0] == "height,colour,kind"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SEA", "-o", "out.csv"], r"SEA\(seed=1\) is endless: say how many rows with -n"),
        (["SEA", "-n", "5", "-o", "out.xls"], "its suffix says in which format"),
        (["SEA", "-n", "5", "-o", "nowhere/out.csv"], "no folder"),
        (["SEA", "-n", "0"], "-n"),
        (["Sea", "-n", "5"], "Did you mean SEA"),
        (["SEA", "-n", "5", "-o", "."], "suffix"),
    ],
)
def test_generate_refuses(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("generate", *arguments)
    assert result.exit_code == 2
    assert re.search(message, the_error(result))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------- predict


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A file of numbers, a learner that was trained on it, and its predictions."""
    from anabranch.stream import FileStream

    folder = tmp_path_factory.mktemp("numbers")
    assert invoke("generate", "RandomRBF(n_classes=3)", "-n", 3000, "-o", folder / "rows.csv").exit_code == 0
    saved = ["--save", folder / "learner", "--checkpoint", folder / "run.ck"]
    assert invoke("run", folder / "rows.csv", "-q", *saved).exit_code == 0
    return folder, probabilities(folder / "learner", FileStream(folder / "rows.csv").take(3000)[0])


def probabilities(path, X):
    """Those of a saved learner, in the order of the labels."""
    learner = HoeffdingTreeClassifier.load(path)
    return learner.predict_proba(X)[:, np.argsort(learner.classes_)]


def read(path):
    import pyarrow.csv

    table = pyarrow.csv.read_csv(path)
    assert sorted(table.column_names) == ["prediction", "probability_0", "probability_1", "probability_2"]
    columns = [table[name].to_numpy() for name in sorted(table.column_names)]
    return columns[0], np.stack(columns[1:], axis=1)


@pytest.mark.parametrize("model", ["learner", "run.ck"])
@pytest.mark.parametrize("change", ["as it was", "without target", "other order and more", "target empty", "piped"])
def test_predict_matches_columns_by_name(model, change, numbers, tmp_path):
    import pyarrow as pa
    import pyarrow.csv

    folder, proba = numbers
    table = pyarrow.csv.read_csv(folder / "rows.csv")
    if change == "without target":
        table = table.drop_columns("class")
    elif change == "other order and more":
        table = table.select(table.column_names[::-1]).append_column("note", pa.array(["new"] * 3000))
    elif change == "target empty":
        table = table.set_column(10, "class", pa.array([1, None] * 1500, pa.int64()))
    pyarrow.csv.write_csv(table, tmp_path / "new.csv")
    if change == "piped":
        content = (tmp_path / "new.csv").read_text()
        done = in_a_process("predict", "--model", folder / model, "-", input=content)
        assert done.stderr == ""
        (tmp_path / "out.csv").write_text(done.stdout)
    else:
        result = invoke("predict", "--model", folder / model, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        assert "3,000 rows" in result.stdout
    said, found = read(tmp_path / "out.csv")
    assert (found == proba).all()
    assert (said == proba.argmax(axis=1)).all()


def test_predict_with_columns_missing(numbers, tmp_path):
    import pyarrow.csv

    folder, _ = numbers
    table = pyarrow.csv.read_csv(folder / "rows.csv")
    pyarrow.csv.write_csv(table.drop_columns(["x3", "class"]), tmp_path / "new.csv")
    result = invoke("predict", "-m", folder / "learner", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert result.stderr == "new does not have x3: missing in every row\n"
    X = np.stack([column.to_numpy() for column in table.columns[:10]], axis=1)
    X[:, 3] = np.nan
    assert (read(tmp_path / "out.csv")[1] == probabilities(folder / "learner", X)).all()


def test_predict_text(csv, tmp_path):
    from anabranch.stream import FileStream

    model = tmp_path / "learner"
    assert invoke("run", csv, "--target", "kind", "-q", "--save", model).exit_code == 0
    X, _ = FileStream(csv, "kind").take(600)
    learner = HoeffdingTreeClassifier.load(model)
    for suffix in ("csv", "jsonl.gz", "parquet", "tsv"):
        out = tmp_path / f"out.{suffix}"
        assert invoke("predict", "-m", model, csv, "-q", "-o", out).output == ""
        found, _ = FileStream(out, unlabelled=True).take(600)
        assert found["prediction"].to_pylist() == learner.predict(X).tolist()
        assert found[f"probability_{learner.classes_[0]}"].to_pylist() == learner.predict_proba(X)[:, 0].tolist()
    # A column of text that happens to hold numbers stays what it was when the learner learned.
    (tmp_path / "new.csv").write_text("colour,height\n1,2.5\n2,0.5\n")
    assert invoke("predict", "-m", model, tmp_path / "new.csv", "-q", "-o", tmp_path / "o.csv").exit_code == 0
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 3


def test_predict_numbers_with_a_regressor(tmp_path, monkeypatch):
    from anabranch.base import StreamRegressor
    from anabranch.stream import ArrayStream, write

    class Mean(StreamRegressor):
        def _begin(self):
            self._sums = np.zeros(2)

        def _learn(self, X, y, w):
            self._sums += [(w * y).sum(), w.sum()]

        def _predict(self, X):
            return np.full(len(X), self._sums[0] / self._sums[1] if self._sums[1] else 0.0)

    write(ArrayStream([[1.0, 2.0], [3.0, 4.0]], [0.5, 1.0]), tmp_path / "rows.csv")
    monkeypatch.setattr(_expression, "learner", lambda *arguments: Mean())
    result = invoke("run", tmp_path / "rows.csv", "--save", tmp_path / "learner")
    assert result.exit_code == 0, result.output
    assert re.search("^MAE .*\nRMSE .*\nR2 ", result.stdout, re.MULTILINE)
    assert "a regression: take mae, rmse, r2" in the_error(invoke("run", tmp_path / "rows.csv", "-m", "accuracy"))
    done = invoke("predict", "-m", tmp_path / "learner", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.csv").read_text() == "prediction\n0.75\n0.75\n"


def test_predict_refuses(numbers, tmp_path, monkeypatch):
    folder, _ = numbers
    monkeypatch.chdir(tmp_path)
    rows = folder / "rows.csv"
    HoeffdingTreeClassifier().save(tmp_path / "fresh")
    HoeffdingTreeClassifier().partial_fit([[1.0, 2.0]], [1]).save(tmp_path / "nameless")
    (tmp_path / "text").write_text("nothing")
    (tmp_path / "other.csv").write_text("a,b,c\n1,2,3\n")
    (tmp_path / "wrong.csv").write_text("x0,x1\n1,2\n3,high\n")
    for arguments, message in [
        ([rows], "--model"),
        (["-m", "nowhere", rows], "nowhere: No such file"),
        (["-m", "text", rows], "not a checkpoint"),
        (["-m", "fresh", rows], "has not learned anything yet"),
        (["-m", "nameless", "other.csv"], "other has 3 columns, the learner has met 2 and does not know their names"),
        (["-m", folder / "learner", "other.csv"], "other has none of the learner's columns .x0, x1"),
        (["-m", folder / "learner", "wrong.csv", "-q"], "line 3, column 'x1' holds 'high'"),
        (["-m", folder / "learner", "nowhere.csv"], "no file nowhere.csv"),
        (["-m", folder / "learner", rows, "-o", "out.xls"], "its suffix says in which format"),
        (["-m", folder / "learner", rows, "-o", "out.svm"], "svmlight"),
    ]:
        result = invoke("predict", *arguments, *(["-o", "out.csv"] if "-o" not in arguments else []))
        assert result.exit_code == 2, result.output
        assert re.search(message, the_error(result))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fresh", "nameless", "other.csv", "text", "wrong.csv"]


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
    assert list(everything) == ["datasets", "detectors", "generators", "learners", "metrics"]
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
