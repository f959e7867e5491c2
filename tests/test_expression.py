import subprocess
import sys

import numpy as np
import pytest

from anabranch import _expression
from anabranch._expression import Call, ExpressionError, parse
from anabranch.stream import SEA, RandomRBF
from anabranch.tree import HoeffdingTreeClassifier


class Bag:
    def __init__(self, estimator=None, n_estimators=10, *, members=(), random_state=None):
        self.estimator, self.n_estimators, self.members = estimator, n_estimators, members
        self.random_state = random_state


class Leaf:
    def __init__(self, size, random_state=None):
        self.size, self.random_state = size, random_state


CLASSES = {"Bag": Bag, "Leaf": Leaf}


def build(text, **defaults):
    return parse(text).build(CLASSES, "thing", defaults)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-1.5e-3", -0.0015), ("+2", 2), ("'it''s'", "its"), ('"a"', "a"), ("True", True),
        ("None", None),
        ("[1, 'a', [2]]", [1, "a", [2]]), ("(1, 2)", (1, 2)),
        ("{'a': 1, 2: None}", {"a": 1, 2: None}), ("()", ()),
    ],
)  # fmt: skip
def test_literals(text, value):
    assert build(f"Bag(members={text})").members == value
    assert build(f" Bag( {text} ) ").estimator == value


def test_calls_within_calls():
    bag = build("Bag(Bag(estimator=Leaf(3)), n_estimators=2, members=[Leaf(size=1), {'b': Bag}])")
    assert bag.n_estimators == 2
    assert bag.estimator.estimator.size == 3
    assert bag.members[0].size == 1
    assert isinstance(bag.members[1]["b"], Bag)


def test_defaults_reach_only_what_the_expression_leaves_open():
    bag = build("Bag(estimator=Leaf(1))", random_state=7, seed=7)
    assert bag.random_state == 7
    assert bag.estimator.random_state is None
    assert build("Bag(random_state=1)", random_state=7).random_state == 1


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "Bag(n_estimators=1 + 1)", "Bag.mro()", "Bag(*[1])",
        "Bag(**{'a': 1})",
        "Bag(lambda: 0)", "Bag([x for x in (1, 2)])", "Bag(f'{1}')", "Bag(b'a')", "Bag(...)",
        "Bag(1j)", "Bag({1})",
        "Bag(-True)", "Bag(-'a')", "Bag({None: 1})", "Bag({**{}})", "Bag(members=Leaf.size)",
        "Bag(x := 1)", "Bag()()",
        "Bag(", "Bag)", "Bag Bag", "Bag(a=1, a=2)", "1", "'Bag'", "", "   ", "Bag; Bag", "Bag\nBag",
        "Bag(\x00)",
        "import os", "(" * 300 + ")" * 300, "Bag(" * 3000, "-" * 9000 + "1",
        "Bag(" + "[" * 150 + "]" * 150 + ")()",
        "x" * 20_000, "Bag(" + "9" * 9000 + ")", "Bag('\\d')()", "Bag(1)(2)",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_everything_else_is_refused(text):
    with pytest.raises(ExpressionError) as caught:
        build(text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Bog", "Did you mean Bag"),
        ("bag()", "Did you mean Bag"),
        ("Bag(n_estimator=3)", "Did you mean n_estimators.*It has: estimator, n_estimators, members"),
        ("Bag(1, 2, 3)", "at most 2"),
        ("Bag(1, estimator=2)", "estimator twice"),
        ("Bag(estimator=Laef(1))", "unknown thing 'Laef'. Did you mean Leaf"),
        ("Bag(estimator=text)", "quotes, 'text'"),
        ("Bag(estimator=true)", "write True"),
        ("Leaf", "needs a value for size"),
        ("Leaf()", "needs a value for size"),
    ],
)
def test_what_messages_say(text, message):
    with pytest.raises(ExpressionError, match=message):
        build(text)


def test_learners():
    assert HoeffdingTreeClassifier in _expression.learners()
    for text in ("HoeffdingTree", "HoeffdingTreeClassifier()", " HoeffdingTree ( ) "):
        assert isinstance(_expression.learner(text), HoeffdingTreeClassifier)
    assert _expression.learner("HoeffdingTree(grace_period=7, leaf_prediction='mc')").grace_period == 7
    names = _expression.learner_names()
    assert all(names[cls.__name__] is cls for cls in _expression.learners())
    assert {name: _expression._Learners()[name] for name in names} == names == dict(_expression._Learners())


def test_learners_are_imported_when_asked_for():
    code = (
        "import sys\nfrom anabranch import _expression\n"
        "print(_expression.learner('GaussianNB(var_smoothing=0)'))\n"
        "print([name for name in ('naive_bayes', 'tree', 'linear_model') if f'anabranch.{name}' in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["GaussianNB(var_smoothing=0)", "['naive_bayes']"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HoefdingTree", "Did you mean HoeffdingTree"),
        ("hoeffdingtreeclassifier", "Did you mean HoeffdingTree\\?"),
        ("HoeffdingTree(grace_periode=1)", "Did you mean grace_period"),
        ("HoeffdingTree(grace_period=-1)", "grace_period must be"),
        ("HoeffdingTree(leaf_prediction='mv')", "leaf_prediction must be one of"),
        ("HoeffdingTree(grace_period='a')", "grace_period must be a number"),
        ("HoeffdingTree(100)", "by name, as in HoeffdingTree\\(grace_period=...\\)"),
        ("SEA", "unknown learner 'SEA'"),
    ],
)
def test_learners_are_checked_at_once(text, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _expression.learner(text)


def test_streams():
    stream = _expression.stream("RandomRBF(n_centroids=5, n_classes=3)", {"seed": 9})
    assert isinstance(stream, RandomRBF)
    assert (stream.n_centroids, stream.seed) == (5, 9)
    assert _expression.stream("SEA(seed=3)", {"seed": 9}).seed == 3
    again = _expression.stream(repr(SEA(function=2, noise=0.25, seed=4, n_rows=10)))
    for one, other in zip(again.take(10), SEA(function=2, noise=0.25, seed=4).take(10), strict=True):
        assert np.array_equal(one, other)
    with pytest.raises(ValueError, match="Did you mean RandomRBF"):
        _expression.stream("RandomRFB()")


def test_a_bare_name_is_a_call_without_arguments():
    assert parse("Bag") == Call("Bag", (), {}, bare=True)
