"""What a constructor parameter may be, said once per parameter and checked in one place."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Constraint(Protocol):
    """Checks one parameter."""

    def check(self, name: str, value: Any) -> None:
        """Raise a TypeError or ValueError that names the parameter if the value will not do."""


@dataclass(frozen=True)
class Number:
    """A number from ``low`` to ``high``; the ends belong to it unless ``open_low`` or ``open_high``."""

    low: float | None = None
    high: float | None = None
    integer: bool = False
    open_low: bool = False
    open_high: bool = False
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Check the value's kind and range."""
        if value is None and self.optional:
            return
        kind: Any = numbers.Integral if self.integer else numbers.Real
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"{name} must be {self}, got {value!r}.")
        if (
            value != value
            or (self.low is not None and (value < self.low or (self.open_low and value == self.low)))
            or (self.high is not None and (value > self.high or (self.open_high and value == self.high)))
        ):
            raise ValueError(f"{name} must be {self}, got {value!r}.")

    def __str__(self) -> str:
        text = "a whole number" if self.integer else "a number"
        if self.low is not None:
            text += f" {'above' if self.open_low else 'of at least'} {self.low:g}"
        if self.high is not None:
            text += " and" if self.low is not None else ""
            text += f" {'below' if self.open_high else 'of at most'} {self.high:g}"
        return text + (" or None" if self.optional else "")


@dataclass(frozen=True)
class OneOf:
    """One of a few texts."""

    values: tuple[str, ...]

    def check(self, name: str, value: Any) -> None:
        """Check that the value is among them; suggest the nearest if not."""
        if isinstance(value, str) and value in self.values:
            return
        near = difflib.get_close_matches(value, self.values, 1) if isinstance(value, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(map(repr, self.values))}, got {value!r}.{hint}")


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, name: str, value: Any) -> None:
        """Check that the value is a truth value."""
        if not isinstance(value, bool) and type(value).__name__ != "bool":
            raise TypeError(f"{name} must be True or False, got {value!r}.")


@dataclass(frozen=True)
class Columns:
    """A sequence of column positions or names, or None."""

    def check(self, name: str, value: Any) -> None:
        """Check that every entry is a position or a name."""
        if value is None:
            return
        once = isinstance(value, Iterator)  # checking it here would use it up
        if isinstance(value, (str, bytes, numbers.Number)) or once or not hasattr(value, "__iter__"):
            raise TypeError(f"{name} must be a list of column positions or names, got {value!r}.")
        if getattr(value, "ndim", 1) != 1:
            raise TypeError(
                f"{name} must be a list of column positions or names, got an array of {value.ndim} dimensions."
            )
        for entry in value:
            if not isinstance(entry, (str, numbers.Integral)) or isinstance(entry, bool):
                raise TypeError(f"{name} must hold column positions or names, got {entry!r} in it.")


def check_parameters(constraints: Mapping[str, Constraint], values: Mapping[str, Any]) -> None:
    """Check each parameter that has a constraint."""
    for name, constraint in constraints.items():
        if name in values:  # a subclass may have fewer
            constraint.check(name, values[name])
