"""Learners and streams from the text that a user types, such as ``HoeffdingTree(grace_period=100)``.

The text is parsed, never evaluated: names of learners and streams, calls of them, and literal values are all
there is. Everything else is refused with a message that says what is wrong.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

__all__ = [
    "Call",
    "ExpressionError",
    "is_call",
    "learner",
    "learners",
    "parse",
    "short_name",
    "stream",
    "suggestion",
]

_LONGEST = 10_000  # characters; nothing sensible is longer
_SUFFIXES = ("Classifier", "Regressor")


class ExpressionError(ValueError):
    """The text is not an expression, or names what there is not."""


@dataclass(frozen=True)
class Call:
    """A name with arguments, each a literal, another call, or a list, tuple or dict of these.

    Attributes
    ----------
    name : str
        What is called.
    positional : tuple
        Arguments without a name.
    named : dict
        Arguments with one.
    bare : bool
        Whether the name stood there without parentheses.
    """

    name: str
    positional: tuple[Any, ...]
    named: dict[str, Any]
    bare: bool = False

    def build(self, classes: Mapping[str, type], kind: str, defaults: Mapping[str, Any] | None = None) -> Any:
        """Make the object.

        Parameters
        ----------
        classes : mapping of str to type
            The names that are known, and what they stand for.
        kind : str
            What they are, for messages: ``"learner"`` or ``"stream"``.
        defaults : mapping of str to value, optional
            Parameters to set where the class has them and the expression does not give them; not handed on to
            objects within.

        Raises
        ------
        ExpressionError
            If a name or a parameter is not known.
        ValueError, TypeError
            If the class does not like a value.
        """
        cls = classes.get(self.name)
        if cls is None:
            shorter = sorted({short_name(c) for c in classes.values()})
            raise ExpressionError(
                f"unknown {kind} {self.name!r}.{suggestion(_without_suffix(self.name), shorter)} "
                f"Known: {', '.join(shorter)}"
            )
        parameters = inspect.signature(cls).parameters
        places = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(self.positional) > len(places):
            if not places:
                example = next(iter(parameters), "name")
                raise ExpressionError(
                    f"{self.name} takes its parameters by name, as in {self.name}({example}=...). "
                    f"It has: {', '.join(parameters)}"
                )
            raise ExpressionError(
                f"{self.name} takes at most {len(places)} values without a name, got {len(self.positional)}"
            )
        given = dict(zip(places, self.positional, strict=False))
        for name, value in self.named.items():
            if name not in parameters:
                has = f"It has: {', '.join(parameters)}" if parameters else "It has none"
                raise ExpressionError(f"{self.name} has no parameter {name!r}.{suggestion(name, parameters)} {has}")
            if name in given:
                raise ExpressionError(f"{self.name} is given {name} twice")
            given[name] = value
        missing = [
            name
            for name, p in parameters.items()
            if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and name not in given
        ]
        if missing:
            raise ExpressionError(f"{self.name} needs a value for {', '.join(missing)}")
        arguments = {name: _resolved(value, classes, kind, f"{self.name}: {name}") for name, value in given.items()}
        for name, value in (defaults or {}).items():
            if name in parameters and name not in arguments:
                arguments[name] = value
        made = cls(**arguments)
        constraints = getattr(cls, "_constraints", None)
        if constraints is not None:  # learners look at their parameters when they first learn: too late here
            from anabranch._parameters import check_parameters

            check_parameters(constraints, made.get_params(deep=False))
        return made


def _resolved(value: Any, classes: Mapping[str, type], kind: str, where: str) -> Any:
    if isinstance(value, Call):
        if value.bare and value.name not in classes:
            constants = {"true": "True", "false": "False", "none": "None", "null": "None"}
            if value.name.lower() in constants:
                raise ExpressionError(f"{where}={value.name} is not known: write {constants[value.name.lower()]}")
            near = suggestion(value.name, classes)
            raise ExpressionError(f"{where}={value.name} is not known: text needs quotes, {value.name!r}.{near}")
        return value.build(classes, kind)
    if isinstance(value, list):
        return [_resolved(part, classes, kind, where) for part in value]
    if isinstance(value, tuple):
        return tuple(_resolved(part, classes, kind, where) for part in value)
    if isinstance(value, dict):
        return {key: _resolved(part, classes, kind, where) for key, part in value.items()}
    return value


def parse(text: str) -> Call:
    """Read an expression.

    Parameters
    ----------
    text : str
        A name, or a name with arguments in parentheses.

    Raises
    ------
    ExpressionError
        If it is anything else.

    Examples
    --------
    >>> parse("HoeffdingTree(grace_period=100, leaf_prediction='mc')").named
    {'grace_period': 100, 'leaf_prediction': 'mc'}
    >>> parse("OzaBagging(estimator=HoeffdingTree(), n_estimators=10)").named["estimator"].name
    'HoeffdingTree'
    >>> parse("HoeffdingTree(grace_period=10 + 10)")
    Traceback (most recent call last):
        ...
    anabranch._expression.ExpressionError: cannot read '10 + 10': only names, calls, numbers, texts in ...
    """
    text = text.strip()
    if not text:
        raise ExpressionError("the expression is empty: give a name, such as HoeffdingTree")
    if len(text) > _LONGEST:
        raise ExpressionError(f"the expression has {len(text):,} characters, more than {_LONGEST:,}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's text, such as an unknown escape
            tree = ast.parse(text, mode="eval").body
        found = _read(tree, text)
    except SyntaxError as error:
        raise ExpressionError(
            f"cannot read {_shortened(text)!r}: {error.msg or 'it is no expression'} "
            "(a name with named values is expected, as in HoeffdingTree(grace_period=100))"
        ) from None
    except (RecursionError, MemoryError):
        raise ExpressionError(f"cannot read {_shortened(text)!r}: it is nested too deeply") from None
    except ExpressionError:
        raise
    except ValueError as error:  # a NUL byte, or a number of thousands of digits
        raise ExpressionError(f"cannot read {_shortened(text)!r}: {error}") from None
    if not isinstance(found, Call):
        raise ExpressionError(f"cannot read {_shortened(text)!r}: a name is expected, such as HoeffdingTree")
    return found


def _read(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Name):
        return Call(node.id, (), {}, bare=True)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise _refusal(node, text)
            named[keyword.arg] = _read(keyword.value, text)
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise _refusal(node, text)
        return Call(node.func.id, tuple(_read(argument, text) for argument in node.args), named)
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _read(node.operand, text)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.List):
        return [_read(part, text) for part in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_read(part, text) for part in node.elts)
    if isinstance(node, ast.Dict):
        keys = [None if key is None else _read(key, text) for key in node.keys]
        if all(key is not None and isinstance(key, (int, float, str)) for key in keys):
            return {key: _read(part, text) for key, part in zip(keys, node.values, strict=True)}
    raise _refusal(node, text)


def _refusal(node: ast.expr, text: str) -> ExpressionError:
    part = ast.get_source_segment(text, node) or text
    return ExpressionError(
        f"cannot read {_shortened(part)!r}: only names, calls, numbers, texts in quotes, True, False, None, "
        "lists, tuples and dicts are allowed"
    )


def _shortened(text: str, width: int = 80) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def is_call(text: str) -> bool:
    """Whether a text looks like a call, rather than a name or a path.

    >>> is_call("SEA(seed=1)"), is_call("SEA"), is_call("data (1).csv")
    (True, False, False)
    """
    return re.match(r"\s*[A-Za-z_]\w*\(", text) is not None


def suggestion(name: str, known: Iterable[str], n: int = 2) -> str:
    """Return a sentence with the names nearest to a misspelt one, or nothing.

    >>> suggestion("hoefdingtree", ["HoeffdingTree", "SEA"])
    ' Did you mean HoeffdingTree?'
    """
    lower: dict[str, str] = {}
    for candidate in known:
        lower.setdefault(candidate.lower(), candidate)
    if name.lower() in lower:
        near = [lower[name.lower()]]
    else:
        near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=n, cutoff=0.6)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


# ---------------------------------------------------------------------------------------- what there is


def short_name(cls: type) -> str:
    """Name of a class without the suffix Classifier or Regressor."""
    return _without_suffix(cls.__name__)


def _without_suffix(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix.lower()) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def learners() -> list[type]:
    """All learners of the library, sorted by name."""
    from anabranch.testing import all_learners

    return list(all_learners())


def learner_names() -> dict[str, type]:
    """Return the learners by name, with and without suffix; where a short name fits two, the classifier."""
    classes = learners()
    names: dict[str, type] = {}
    for suffix in ("Classifier", "Regressor", ""):
        for cls in classes:
            if cls.__name__.endswith(suffix):
                names.setdefault(short_name(cls), cls)
    return names | {cls.__name__: cls for cls in classes}


class _Learners(Mapping[str, type]):
    """What `learner_names` returns; as long as only names are asked for that there are, the others are not imported."""

    @cached_property
    def _all(self) -> dict[str, type]:
        return learner_names()

    def __getitem__(self, name: str) -> type:
        from anabranch.testing import find_learner

        found = (find_learner(name + suffix) for suffix in ("", *_SUFFIXES))
        return next((cls for cls in found if cls is not None), None) or self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def learner(text: str, defaults: Mapping[str, Any] | None = None) -> Any:
    """Make the learner that an expression describes, its parameters checked.

    Parameters
    ----------
    text : str
        Such as ``HoeffdingTree(grace_period=100)``; the suffix ``Classifier`` may be left out.
    defaults : mapping of str to value, optional
        Parameters to set where the learner has them and the text does not give them.

    Raises
    ------
    ValueError, TypeError
        If the text cannot be read, or a name or value in it will not do.

    Examples
    --------
    >>> learner("HoeffdingTree(grace_period=100)")
    HoeffdingTreeClassifier(grace_period=100)
    >>> learner("HoeffdingTree(grace_periode=100)")
    Traceback (most recent call last):
        ...
    anabranch._expression.ExpressionError: HoeffdingTree has no parameter 'grace_periode'. Did you mean ...
    """
    return parse(text).build(_Learners(), "learner", defaults)


def stream(text: str, defaults: Mapping[str, Any] | None = None) -> Any:
    """Make the generator, or the `DriftStream` of generators, that an expression describes.

    Parameters
    ----------
    text : str
        Such as ``RandomRBF(n_centroids=50, seed=1)``.
    defaults : mapping of str to value, optional
        Parameters to set where the generator has them and the text does not give them.

    Raises
    ------
    ValueError, TypeError
        If the text cannot be read, or a name or value in it will not do.

    Examples
    --------
    >>> stream("SEA(function=3)", {"seed": 7})
    SEA(function=3, threshold=None, noise=0.0, minority_share=None, chunk_rows=1000, seed=7, n_rows=None)
    >>> stream("DriftStream([SEA(1), SEA(3)], [5000], widths=1000)").name
    'SEA(seed=1) + SEA(function=3, seed=1)'
    """
    from anabranch.stream import GENERATORS, DriftStream, Imbalance

    joined = {"DriftStream": DriftStream, "Imbalance": Imbalance}
    return parse(text).build({**GENERATORS, **joined}, "stream", defaults)
