"""MOA at its best: its own loop in Java, over instances that lie in memory.

CapyMOA brings MOA along and starts the Java machine inside this process, with the heap it chooses
(``CAPYMOA_JVM_ARGS`` changes its options). Nothing crosses from Python to Java while the clock runs but the
one call that starts the loop.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from _contestants import Rows
from _harness import Contestant, passes_for

# Learners whose size is measured together.
_WEIGHED = 5


@cache
def _java() -> Any:
    """Start the Java machine."""
    try:
        import capymoa  # noqa: F401
    except ImportError as error:
        raise SystemExit(
            f"MOA cannot be measured ({error}): it takes Java 17 and pip install '.[bench]'. Leave it out with --peers."
        ) from error
    import jpype

    return jpype


def java_class(name: str) -> Any:
    """Return a Java class by its full name."""
    return _java().JClass(name)


def version() -> str:
    """Return the version of Java."""
    return str(java_class("java.lang.System").getProperty("java.version"))


def instances(rows: Rows) -> Any:
    """Return the rows as MOA's instances, all numeric, the class last."""
    array_list = java_class("java.util.ArrayList")
    attribute = java_class("com.yahoo.labs.samoa.instances.Attribute")
    dense = java_class("com.yahoo.labs.samoa.instances.DenseInstance")
    labels = array_list()
    for label in range(rows.n_classes):
        labels.add(str(label))
    attributes = array_list()
    for j in range(rows.X.shape[1]):
        attributes.add(attribute(f"x{j}"))
    attributes.add(attribute("class", labels))
    made = java_class("com.yahoo.labs.samoa.instances.Instances")(rows.name, attributes, len(rows))
    made.setClassIndex(rows.X.shape[1])
    # The whole matrix goes over at once, as double[][].
    for values in _java().JArray.of(np.column_stack([rows.X, rows.y])):
        made.add(dense(1.0, values))
        made.instance(made.numInstances() - 1).setDataset(made)
    return made


class Moa(Contestant):
    """A classifier of MOA's.

    Parameters
    ----------
    name : str
    command : str
        A class under ``moa.classifiers`` with its options, as on MOA's command line.
    rows : Rows
    """

    def __init__(self, name: str, command: str, rows: Rows, **options: Any) -> None:
        options.setdefault("passes", passes_for(len(rows), 300_000))
        options.setdefault("warm_up", 5)  # Java compiles what turns out to be used much
        super().__init__(name, len(rows), **options)
        self.command = command
        self.instances = instances(rows)

    def prepare(self) -> None:
        """Make a fresh learner."""
        self.learner = None
        self.learner = self._fresh()
        self.stream = self._stream()
        self.evaluator = _evaluator()
        self.loop = java_class("moa.evaluation.EfficientEvaluationLoops").PrequentialEvaluation
        _collect()

    def _stream(self) -> Any:
        return java_class("moa.streams.CachedInstancesStream")(self.instances)

    def _fresh(self) -> Any:
        classifier = java_class("moa.classifiers.Classifier")
        learner = java_class("moa.options.ClassOption").cliStringToObject(self.command, classifier, None)
        learner.setModelContext(self._stream().getHeader())
        learner.prepareForUse()
        return learner

    def run(self) -> float:
        """Return the accuracy in percent."""
        self.loop(self.stream, self.learner, self.evaluator, _window_evaluator(), -1, 10_000, False, False)
        return float(self.evaluator.getPerformanceMeasurements()[1].getValue())

    def nbytes(self) -> int | None:
        """Return how much the heap shrinks when a learner goes: the mean of a few, as other things stir there."""
        self.learner = self.evaluator = self.stream = None
        learners = [self._fresh() for _ in range(_WEIGHED)]
        for learner in learners:
            self.loop(self._stream(), learner, _evaluator(), _window_evaluator(), -1, 10_000, False, False)
        del learner
        with_learners = _heap()
        learners.clear()
        return (with_learners - _heap()) // _WEIGHED


def _evaluator() -> Any:
    evaluator = java_class("moa.evaluation.BasicClassificationPerformanceEvaluator")()
    evaluator.prepareForUse()
    return evaluator


def _collect() -> None:
    java_class("java.lang.System").gc()


def _heap() -> int:
    """Bytes that live in Java's heap."""
    for _ in range(3):
        _collect()
    runtime = java_class("java.lang.Runtime").getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def _window_evaluator() -> Any:
    evaluator = java_class("moa.evaluation.WindowClassificationPerformanceEvaluator")()
    evaluator.widthOption.setValue(10_000)
    evaluator.prepareForUse()
    return evaluator
