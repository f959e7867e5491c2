"""The decorator's promises about the disk cache, and the small kernels against plain NumPy."""

from __future__ import annotations

import ast
import json
import math
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import anabranch
from anabranch import kernels
from anabranch.kernels import kernel
from anabranch.kernels.checks import EMPTY, LARGEST, first_bad, look_up, to_probabilities

INNER = """
from anabranch.kernels import kernel

@kernel
def step(x):
    return x + 1.0
"""
OUTER = """
from anabranch.kernels import kernel
from pack.inner import step

@kernel
def twice(x):
    return step(step(x))
"""
ASK = """
import json
import sys
from pathlib import Path
from anabranch import kernels
{before}
from pack import outer
result = outer.twice(1.0)
folder = kernels.cache_folder(Path(outer.__file__).resolve().parent)
print(json.dumps([result, kernels.compilations(), folder and str(folder)]))
"""


class Package:
    """A package of two modules, one of whose kernels calls a kernel of the other."""

    def __init__(self, root: Path):
        self.root = root
        self.sources = root / "pack"
        self.cache = root / "cache"
        self.sources.mkdir()
        (self.sources / "__init__.py").touch()
        (self.sources / "inner.py").write_text(INNER)
        (self.sources / "outer.py").write_text(OUTER)

    def environment(self, **more):
        unset = ("NUMBA_CACHE_DIR", "ANABRANCH_CACHE", "NUMBA_DISABLE_JIT")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        home = str(Path(anabranch.__file__).resolve().parents[1])
        return {
            **env,
            "PYTHONPATH": os.pathsep.join([str(self.root), home]),
            "ANABRANCH_CACHE": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",  # Python, too, would overlook a change that keeps size and time
            **more,
        }

    def ask(self, before="", **env):
        """Call the kernel in a fresh process: its result, how many kernels were compiled, and the cache folder."""
        done = subprocess.run(
            [sys.executable, "-c", ASK.format(before=before)],
            env=self.environment(**env),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        result, compiled, folder = json.loads(done.stdout)
        return result, compiled, folder and Path(folder)

    def make_unwritable(self):
        """Let no cache lie beside the sources, whoever runs the tests."""
        (self.sources / "__pycache__").write_text("a file where a folder should be")


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


# ---------------------------------------------------------------------------------------------- the disk cache


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lacks the locks: there, kernels are compiled in each")
def test_nothing_is_compiled_twice_by_processes_that_start_together(package):
    with ThreadPoolExecutor(4) as pool:
        answers = [future.result() for future in [pool.submit(package.ask) for _ in range(4)]]
    assert {(result, folder) for result, _, folder in answers} == {(3.0, answers[0][2])}
    assert sum(compiled for _, compiled, _ in answers) == 2


def test_change_of_a_callee_is_noticed(package):
    inner = package.sources / "inner.py"
    outer = (package.sources / "outer.py").stat()
    result, compiled, first = package.ask()
    assert result == 3.0
    assert compiled == 2
    assert first.parent == package.sources.resolve() / "__pycache__"
    assert package.ask() == (3.0, 0, first), "what did not change is compiled again"
    # As many bytes and the same time of change: nothing that numba itself looks at tells them apart.
    before = inner.stat()
    inner.write_text(INNER.replace("1.0", "5.0"))
    os.utime(inner, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert inner.stat().st_size == before.st_size
    result, compiled, second = package.ask()
    assert result == 11.0, "a stale kernel is used"
    assert compiled == 2
    assert second != first
    assert (package.sources / "outer.py").stat().st_mtime_ns == outer.st_mtime_ns
    assert first.is_dir(), "a neighbour may still be using it"
    old = time.time() - 3 * 24 * 3600
    os.utime(first, (old, old))
    assert package.ask() == (11.0, 0, second)
    assert not first.exists(), "old caches pile up"
    assert not package.cache.exists(), "a cache beside the sources needs no other"


def test_sources_in_a_place_that_cannot_be_written(package):
    package.make_unwritable()
    result, compiled, folder = package.ask()
    assert (result, compiled) == (3.0, 2)
    assert folder.parent == package.cache / "kernels"
    assert package.ask() == (3.0, 0, folder)


def test_what_a_read_only_installation_brings_along_is_used(package):
    _, _, beside = package.ask()
    for path in [beside, *beside.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    pretend = (
        "real = kernels._writable\n"
        f"beside = {str(package.sources.resolve())!r}\n"
        "kernels._writable = lambda folder: not str(folder).startswith(beside) and real(folder)"
    )
    result, compiled, folder = package.ask(pretend)
    assert (result, compiled) == (3.0, 0), "what was compiled when the image was built is compiled again"
    assert folder.parent == package.cache / "kernels"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & stat.S_IWUSR, "the copy cannot be written either"
    for path in [beside, *beside.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_numbas_own_setting_overrides(package):
    chosen = package.root / "chosen"
    result, compiled, folder = package.ask(NUMBA_CACHE_DIR=str(chosen))
    assert (result, compiled) == (3.0, 2)
    assert folder.parent == chosen
    assert package.ask(NUMBA_CACHE_DIR=str(chosen)) == (3.0, 0, folder)
    (package.sources / "inner.py").write_text(INNER.replace("1.0", "5.0"))
    assert package.ask(NUMBA_CACHE_DIR=str(chosen))[:2] == (11.0, 2)
    assert not list(package.sources.glob("__pycache__/kernels-*"))
    assert not package.cache.exists()


@pytest.mark.parametrize("numba", [False, True])
def test_no_place_at_all(package, numba):
    package.make_unwritable()
    package.cache.write_text("a file where a folder should be")
    env = {"NUMBA_CACHE_DIR": str(package.cache)} if numba else {}
    assert package.ask(**env) == (3.0, 2, None)


def forget_sources():
    for function in (kernels._text, kernels._imported, kernels._hash):
        function.cache_clear()


def fresh_cache_folder(sources):
    forget_sources()
    return kernels.cache_folder.__wrapped__(sources)


@pytest.fixture
def clean(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "cache"))
    yield tmp_path
    forget_sources()


def test_hash_of_the_sources(clean):
    sources = clean / "sources"
    sources.mkdir()
    seen = {fresh_cache_folder(sources)}
    for name, text in [("a.py", "x"), ("a.py", "y"), ("b.py", ""), ("b.py", "y")]:
        (sources / name).write_text(text)
        seen.add(fresh_cache_folder(sources))
    (sources / "b.py").rename(sources / "c.py")
    seen.add(fresh_cache_folder(sources))
    assert len(seen) == 6
    assert None not in seen
    (sources / "notes.txt").write_text("no source")
    (sources / "folder.py").mkdir()
    if os.name == "posix":
        (sources / ".#a.py").symlink_to("me@here.1234")  # as an editor does with a file in use
    assert fresh_cache_folder(sources) in seen


def test_hash_covers_the_librarys_kernels(clean, monkeypatch):
    ours = clean / "ours"
    theirs = clean / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    monkeypatch.setattr(kernels, "_HERE", ours)
    before = fresh_cache_folder(theirs)
    (ours / "kernel.py").write_text("new")
    assert fresh_cache_folder(theirs) != before
    before = fresh_cache_folder(theirs)
    monkeypatch.setattr("numba.__version__", "0.0")
    assert fresh_cache_folder(theirs) != before


def test_hash_of_the_librarys_kernels_covers_what_they_import(clean, monkeypatch):
    monkeypatch.setattr(kernels, "_HERE", clean)
    imports = {"__init__": "", "a": "b", "b": "c", "c": "", "d": "c"}
    for name, other in imports.items():
        (clean / f"{name}.py").write_text(f"from anabranch.kernels.{other} import x\n" if other else "")
    before = {name: fresh_cache_folder(clean / f"{name}.py") for name in "abcd"}
    assert len(set(before.values())) == 4
    assert before["a"].name.startswith("kernels-a-")
    for changed, seen_by in [("c", "abcd"), ("b", "ab"), ("a", "a"), ("d", "d"), ("__init__", "abcd")]:
        with open(clean / f"{changed}.py", "a") as file:
            file.write("# changed\n")
        after = {name: fresh_cache_folder(clean / f"{name}.py") for name in "abcd"}
        assert {name for name in "abcd" if after[name] != before[name]} == set(seen_by)
        before = after


def test_every_import_among_kernels_is_found():
    folder = Path(kernels.__file__).resolve().parent
    for path in folder.glob("*.py"):
        found = {other.stem for other in kernels._imported(path)}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path.name}: the hash of the cache does not see relative imports"
                if (node.module or "").startswith("anabranch.kernels."):
                    assert node.module.split(".")[2] in found
                elif node.module == "anabranch.kernels":
                    kernel_modules = {other.stem for other in folder.glob("*.py")}
                    assert not kernel_modules & {name.name for name in node.names}, f"{path.name}: name the module"


def test_user_without_a_home(clean, monkeypatch):
    monkeypatch.delenv("ANABRANCH_CACHE")

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    (clean / "sources").mkdir()
    assert fresh_cache_folder(clean / "sources").parent == clean / "sources" / "__pycache__"
    (clean / "more").mkdir()
    (clean / "more" / "__pycache__").write_text("")
    assert fresh_cache_folder(clean / "more") is None


def test_user_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path))
    assert kernels.user_cache() == tmp_path
    monkeypatch.delenv("ANABRANCH_CACHE")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for platform, variables, expected in [
        ("linux", {"XDG_CACHE_HOME": ""}, tmp_path / ".cache" / "anabranch"),
        ("linux", {"XDG_CACHE_HOME": str(tmp_path / "xdg")}, tmp_path / "xdg" / "anabranch"),
        ("darwin", {}, tmp_path / "Library" / "Caches" / "anabranch"),
        ("win32", {"LOCALAPPDATA": str(tmp_path / "local")}, tmp_path / "local" / "anabranch"),
    ]:
        monkeypatch.setattr(sys, "platform", platform)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert kernels.user_cache() == expected


def test_copies_made_at_the_same_time(tmp_path):
    source, target = tmp_path / "source", tmp_path / "deep" / "target"
    (source / "inner").mkdir(parents=True)
    for i in range(50):
        (source / "inner" / str(i)).write_text(str(i) * 1000)
    wrong = []

    def look():
        while not done.is_set():
            if target.exists() and len(list((target / "inner").iterdir())) != 50:
                wrong.append("half a copy")

    done = threading.Event()
    looker = threading.Thread(target=look)
    looker.start()
    threads = [threading.Thread(target=kernels._copy, args=(source, target)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    looker.join()
    assert not wrong
    assert [path.name for path in target.parent.iterdir()] == ["target"]
    assert {path.read_text() for path in (target / "inner").iterdir()} == {str(i) * 1000 for i in range(50)}


def test_copy_that_fails_is_no_matter(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "file").write_text("")
    kernels._copy(tmp_path / "source", tmp_path / "file" / "target")
    kernels._copy(tmp_path / "missing", tmp_path / "target")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "source"]


# ---------------------------------------------------------------------------------------------- the first compile

TALK = "from pack.outer import twice; twice(1.0); twice(1)"


@pytest.mark.skipif(os.name != "posix", reason="no pseudo-terminals")
def test_first_compile_says_so_in_a_terminal(package):
    import pty

    def talk():
        master, slave = pty.openpty()
        try:
            subprocess.run([sys.executable, "-c", TALK], env=package.environment(), stderr=slave, check=True)
            os.write(slave, b"#end\n")
            text = b""
            while not text.endswith(b"#end\r\n"):
                text += os.read(master, 1000)
        finally:
            os.close(slave)
            os.close(master)
        return text.decode().removesuffix("#end\r\n").splitlines()

    [line] = talk()
    assert "compiling for this machine" in line
    assert "anabranch warmup" in line
    assert talk() == []


@pytest.mark.parametrize("stderr", [None, SimpleNamespace(isatty=lambda: False)], ids=["none", "no terminal"])
def test_first_compile_is_silent_elsewhere(stderr, monkeypatch):
    listener = kernels._CompileListener()
    ours = SimpleNamespace(data={"dispatcher": first_bad})
    other = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=ast.parse)})
    monkeypatch.setattr(sys, "stderr", stderr)
    for happening in (ours, other, ours):
        listener.on_start(happening)
        listener.on_end(happening)
    assert listener.count == 2


# ---------------------------------------------------------------------------------------------- imports

HEAVY = ["numba", "llvmlite", "sklearn", "scipy", "pyarrow", "matplotlib", "pandas", "polars", "narwhals", "numpy"]


@pytest.mark.parametrize("statement", ["import anabranch", "import anabranch; dir(anabranch); anabranch.__version__"])
def test_importing_the_package_imports_nothing_heavy(statement):
    code = f"import sys; {statement}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_only_one_folder_imports_numba():
    home = Path(anabranch.__file__).parent
    sources = sorted(home.rglob("*.py"))
    assert len(sources) > 20
    compiled = [path.relative_to(home) for path in sources if {"numba", "llvmlite"} & set(imported(path))]
    assert {path.parts[0] for path in compiled} == {"kernels"}


# ---------------------------------------------------------------------------------------------- the decorator


@kernel
def ratio(a, b):
    return a / b


@kernel(inline=True)
def square(x):
    return x * x


@kernel(inline=False)
def cube(x):
    return x * square(x)


@kernel
def fourth(x):
    return x * cube(x)


def test_decorator():
    assert ratio(1.0, 0.0) == math.inf
    assert math.isnan(ratio(0.0, 0.0))
    assert fourth(3.0) == 81.0
    assert ratio.py_func(1.0, 2.0) == 0.5
    for function in (ratio, square, cube, fourth):
        assert function.targetoptions["nogil"]
        assert "fastmath" not in function.targetoptions, "sums may not be reordered"


def test_compilations_are_counted():
    @kernel
    def total(x):
        return x + x

    before = kernels.compilations()
    assert total(1.5) == 3.0
    assert total("a") == "aa"
    after = kernels.compilations()
    assert 0 <= after - before <= 2  # none if it was found in the cache
    assert total(2.5) == 5.0
    assert kernels.compilations() == after


# ---------------------------------------------------------------------------------------------- small kernels

NUMBERS = st.one_of(
    st.floats(-1e3, 1e3),
    st.sampled_from([math.nan, -math.nan, LARGEST, -LARGEST, 0.0, -0.0, 5e-324]),
)
BAD = st.sampled_from([math.inf, -math.inf, np.nextafter(LARGEST, math.inf), -1.1e100, 1.7e308])


@settings(deadline=None, max_examples=150)
@given(
    data=st.data(),
    shape=hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=40),
    n_bad=st.integers(0, 2),
)
def test_first_bad(data, shape, n_bad):
    X = data.draw(hnp.arrays(float, shape, elements=NUMBERS, fill=NUMBERS))
    if X.size:
        for _ in range(n_bad):
            X.flat[data.draw(st.integers(0, X.size - 1))] = data.draw(BAD)
    before = X.copy()
    bad = np.flatnonzero(np.abs(np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf)) > LARGEST)
    assert first_bad(X) == (bad[0] if bad.size else -1)
    assert np.array_equal(X, before, equal_nan=True)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 512, 1000])
def test_first_bad_in_every_place(n):
    X = np.full((1, n), np.nan)
    assert first_bad(X) == -1
    for i in range(n):
        X[0, i] = -math.inf
        X[0, -1] = math.inf
        assert first_bad(X) == i
        X[0, i] = 1.0


def probabilities(votes, y, known):
    """What :func:`to_probabilities` should do, row by row."""
    result = np.zeros_like(votes)
    for i, row in enumerate(votes):
        classes = max([known, *(y[:i] + 1)]) if len(y) else known
        if row.sum() > 0:
            result[i] = row / row.sum()
        else:
            result[i, :classes] = 1.0 / classes if classes else 0.0
    return result


@settings(deadline=None, max_examples=200)
@given(data=st.data(), n=st.integers(0, 6), k=st.integers(0, 4), labelled=st.booleans())
def test_to_probabilities(data, n, k, labelled):
    votes = data.draw(hnp.arrays(float, (n, k), elements=st.one_of(st.just(0.0), st.floats(0, 1e6), st.just(5e-324))))
    known = data.draw(st.integers(0, k))
    y = EMPTY
    if labelled and k:
        # As in a stream: a label is known already or the next one.
        codes = []
        top = known
        for _ in range(n):
            codes.append(data.draw(st.integers(0, min(top, k - 1))))
            top = max(top, codes[-1] + 1)
        y = np.array(codes, np.int64)
    expected = probabilities(votes, y, known)
    to_probabilities(votes, y, known)
    np.testing.assert_allclose(votes, expected, rtol=1e-12)
    sums = votes.sum(axis=1)
    assert np.all((np.abs(sums - 1.0) < 1e-12) | (sums == 0.0))
    again = votes.copy()
    to_probabilities(again, y, known)
    np.testing.assert_allclose(again, votes, rtol=1e-12)


def test_probabilities_are_left_as_they_are_if_they_sum_to_one():
    votes = np.array([[0.1, 0.2, 0.7], [0.0, 1.0, 0.0]])
    before = votes.copy()
    to_probabilities(votes, EMPTY, 3)
    assert np.array_equal(votes, before)


@settings(deadline=None, max_examples=200)
@given(
    table=hnp.arrays(np.int64, st.integers(0, 6), elements=st.integers(-1, 5)),
    low=st.one_of(st.integers(-5, 5), st.sampled_from([-(2**53), 2**53])),
    values=hnp.arrays(
        np.int64,
        st.integers(0, 8),
        elements=st.one_of(
            st.integers(-6, 12), st.integers(-(2**53) - 2, -(2**53) + 8), st.sampled_from([-(2**63), 2**63 - 1])
        ),
    ),
)
def test_look_up(table, low, values):
    out = np.full(len(values), -7, np.int64)
    expected = out.copy()
    first = -1
    for i, value in enumerate(values.tolist()):
        if not 0 <= value - low < len(table) or table[value - low] < 0:
            first = i
            break
        expected[i] = table[value - low]
    assert look_up(values, low, table, out) == first
    assert out.tolist() == expected.tolist()
