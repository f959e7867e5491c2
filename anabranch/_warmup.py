"""Running learners and generators through everything that compiles."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor

__all__ = ["exercise", "exercise_detectors", "exercise_metrics", "exercise_streams", "read_files"]


def exercise(cls: Any) -> None:
    """Run learners of a class on a few rows of every kind, so that all their kernels are compiled.

    Arrays, also read-only ones; named columns with text, gaps and new values; sparse rows, where they are taken;
    classes that turn up later, or numbers; rows one by one; weights; a restored checkpoint; a limit on memory, where
    there is one.

    Parameters
    ----------
    cls : type
        A learner that can be made without arguments.
    """
    regressor = is_regressor(cls())
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X[:, 0] > 0.5).astype(np.int64)
    X[::7, 1] = np.nan
    X.setflags(write=False)
    parameters = inspect.signature(cls).parameters
    quick = {name: 50 for name in ("grace_period", "chunk_size") if name in parameters}
    variants: list[dict[str, Any]] = [quick]
    if "max_bytes" in parameters:
        limited = {"n_estimators": 2} if "n_estimators" in parameters else {}
        variants.append({**quick, **limited, "max_bytes": 100_000})
    for variant in variants:
        learner = cls(**variant)
        learner.partial_fit(X[:100], y[:100])
        learner.test_then_train(X[100:300], y[100:300], sample_weight=rng.random(200))
        learner.test_then_train(np.array(X[300:]), y[300:] + (X[300:, 2] > 0.5))
        learner.predict(X)
        again = cls.from_bytes(learner.to_bytes())
        again.test_then_train(X, y)
        if learner._takes_sparse:
            from scipy.sparse import csr_array

            sparse = csr_array(np.nan_to_num(X))
            cls(**variant).test_then_train(sparse, y)
            learner.partial_fit(sparse, y).predict(sparse)

        learner = cls(**variant)
        for i in range(60):
            row = {"size": float(X[i, 0]), "colour": "red" if y[i] else "blue", "late": None}
            if i % 5 == 0:
                row["colour"] = None
            if i > 40:
                row["colour"] = f"colour {i}"
            label = y[i] + i // 30
            learner.predict_one(row)
            learner.learn_one(row, float(label) if regressor else f"class {label}")
        rows = [{"size": float(x), "colour": "red", "late": "text"} for x in X[:100, 0]]
        learner.test_then_train(rows, y[:100] if regressor else [f"class {label}" for label in y[:100]])
        learner.predict(rows)


def exercise_detectors() -> None:
    """Give a change detector values in an array and one by one: all share the same kernels."""
    from anabranch.drift import DDM

    detector = DDM()
    detector.update([0.0, 1.0])
    detector.update(0.0)


def exercise_metrics() -> None:
    """Run every metric, over all rows, over a window and fading, so that all their kernels are compiled."""
    from anabranch import metrics

    rng = np.random.default_rng(0)
    for name, cls in metrics.METRICS.items():
        rows = (rng.integers(0, 2, 50), rng.random((50, 2))) if cls.task == "classification" else rng.random((2, 50))
        for metric in (cls(), metrics.Window(name, 20), metrics.Fading(name, 0.9)):
            metric.update(*rows)
            for i in range(3):
                metric.update(rows[0][i : i + 1], rows[1][i : i + 1])
                _ = metric.value


def read_files() -> None:
    """Read a file of each kind that kernels read."""
    from anabranch.stream import FileStream

    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("rows.csv", "a,b,y\n1,u,0\n2,v,1\n"), ("rows.svm", "1 1:0.5\n0 2:1\n")):
            path = Path(folder, name)
            path.write_text(text)
            FileStream(path).take(2)


def exercise_streams() -> None:
    """Draw a row of every generator, so that all their kernels are compiled."""
    from anabranch.stream import GENERATORS, SEA, DriftStream, RandomRBF

    generators: list[Any] = list(GENERATORS.values())
    for generator in generators:
        generator().take(1)
    RandomRBF(drift_speed=0.001).take(1)
    DriftStream([SEA(1), SEA(3)], [10], widths=10).take(1)
