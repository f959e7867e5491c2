"""What a change detector is.

A detector takes in values, one by one or in arrays, and says where their distribution has changed. A subclass in Python
writes ``_begin()`` and ``_step(value)``; the library's own have their steps compiled (:mod:`anabranch.kernels.drift`).
This module checks what callers hand over, so that steps see nothing but floats that fit.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anabranch import checkpoint
from anabranch._parameters import Constraint, OneOf, check_parameters
from anabranch.base import Persistent, _unmasked
from anabranch.schema import Floats

__all__ = ["DRIFT", "STABLE", "WARNING", "CompiledDetector", "DriftDetector"]

Levels = NDArray[np.int8]
Positions = NDArray[np.int64]

# What a detector says of a value.
STABLE, WARNING, DRIFT = 0, 1, 2

# Beyond it sums of squares would not stay finite.
_LARGEST = 1e100

_REFUSED = -2


def _refuse(value: float) -> int:
    """Take in no value one by one, neither before the start nor while another thread is at it."""
    return _REFUSED


# Kinds of numbers that go straight to the step; others go through an array.
_PLAIN = frozenset((float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_))

# What is made anew where it is needed: pickles and checkpoints go without.
_PASSING = frozenset(("_learning", "_one", "_settings"))


class DriftDetector(Persistent):
    """Base of all change detectors.

    A subclass writes

    - ``_begin()``: set up the state before the first value; the parameters have been checked;
    - ``_step(value)``: take in a float, and return ``STABLE``, ``WARNING`` or ``DRIFT`` (0, 1, 2). After a drift it
      starts anew by itself.

    Its constructor keeps the parameters under their names and does nothing else, as scikit-learn has it;
    ``nan_policy`` should be among them. ``_constraints`` says what each may be, ``_low``, ``_high`` and ``_whole``
    what values may be. The state should be arrays and numbers: then it can be saved.

    Attributes
    ----------
    n_detections_ : int
        Number of drifts so far.

    Examples
    --------
    >>> from anabranch.drift import DriftDetector
    >>> class Limit(DriftDetector):
    ...     '''Fires when three values in a row are above a limit.'''
    ...     def __init__(self, limit=1.0, nan_policy="raise"):
    ...         self.limit = limit
    ...         self.nan_policy = nan_policy
    ...     def _begin(self):
    ...         self._above = 0
    ...     def _step(self, value):
    ...         self._above = self._above + 1 if value > self.limit else 0
    ...         if self._above < 3:
    ...             return 0
    ...         self._above = 0
    ...         return 2
    >>> Limit().update([0, 2, 3, 0, 2, 2, 2, 0])
    array([6])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"nan_policy": OneOf(("raise", "skip"))}

    # What values may be.
    _low: ClassVar[float] = -_LARGEST
    _high: ClassVar[float] = _LARGEST
    _whole: ClassVar[bool] = False

    # Parameters on which the layout of the state depends.
    _lasting: ClassVar[tuple[str, ...]] = ()

    nan_policy: str = "raise"
    _begun: bool = False

    # What every value touches lies outside the dict, which Python finds sooner: what takes in a plain number; what the
    # detector said at the latest value; number of drifts.
    __slots__ = ("_call", "_level", "_n_detections")
    _call: Callable[[float], int]
    _level: int
    _n_detections: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a detector that has met no value."""
        detector = super().__new__(cls)
        detector._clear()
        return detector

    def _clear(self) -> None:
        self._call, self._level, self._n_detections = _refuse, STABLE, 0

    # ------------------------------------------------------------------------------------ hooks

    def _begin(self) -> None:
        """Set up the state before the first value."""

    def _step(self, value: float) -> int:
        """Take in a value; return STABLE, WARNING or DRIFT."""
        raise NotImplementedError

    def _take(self, values: Floats, levels: Levels) -> None:
        """Take in values that have been checked, and write what each of them made the detector say."""
        level = self._level
        for i, value in enumerate(values.tolist()):
            level = _after_gap(level) if value != value else self._step(value)
            levels[i] = level

    def _bind(self) -> Callable[[float], int]:
        """Return what takes in a plain number, and gives its level, or a negative one if it did nothing."""

        def take(value: float) -> int:
            value = float(value)
            if not self._low <= value <= self._high or (self._whole and value != int(value)):
                return _REFUSED
            return self._step(value)

        return take

    def _still_bound(self, call: Callable[[float], int]) -> Callable[[float], int]:
        """What :meth:`_bind` gave, or would give by now."""
        return call

    # ------------------------------------------------------------------------------------ public

    @overload
    def update(self, value: float) -> bool: ...

    @overload
    def update(self, value: ArrayLike) -> Positions: ...

    def update(self, value: Any) -> Any:
        """Take in a value, or an array of them in their order.

        Parameters
        ----------
        value : float, or array-like of shape (n,)
            What is watched: finite, at most 1e100 in size, and within the range that the detector is made for.

        Returns
        -------
        bool or ndarray of int64
            For a value, whether a drift was detected at it. For an array, the positions of the values at which one
            was: however a stream is cut into arrays, the same values make the detector fire.

        Raises
        ------
        ValueError
            If a value does not fit, or is NaN and ``nan_policy`` is ``"raise"``. Nothing has changed then.
        TypeError
            If what is given is not made of numbers.
        """
        if type(value) is float or type(value) in _PLAIN:
            try:
                level = self._call(value)
            except OverflowError:  # a whole number beyond all floats
                level = _REFUSED
            if level == 0:
                self._level = 0
                return False
            if level > 0:
                self._level = level
                self._n_detections += level == DRIFT
                return level == DRIFT
        before = self._n_detections
        levels = self.trace(value)
        if np.ndim(value) == 0:
            return self._n_detections > before
        return np.flatnonzero(levels == DRIFT) if self._n_detections > before else np.zeros(0, np.int64)

    def trace(self, values: ArrayLike) -> Levels:
        """Take in values as :meth:`update` does, and say of each what the detector said at it.

        Parameters
        ----------
        values : array-like of shape (n,)

        Returns
        -------
        ndarray of int8, shape (n,)
            0: nothing, 1: a warning, 2: a drift.
        """
        return self._update(lambda: self._checked(values))

    def reset(self) -> Self:
        """Forget everything but the parameters.

        Returns
        -------
        self
        """
        parameters = self.get_params(deep=False)
        for name in [name for name in self.__dict__ if name not in parameters]:
            del self.__dict__[name]
        self._clear()
        return self

    @property
    def drift_detected(self) -> bool:
        """Whether the latest value made the detector fire; of an array, the last one."""
        return self._level == DRIFT

    @property
    def warning_detected(self) -> bool:
        """Whether the detector warns of a drift, after the latest value."""
        return self._level == WARNING

    @property
    def n_detections_(self) -> int:
        """Number of drifts since the start or the last :meth:`reset`."""
        return self._n_detections

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a detector that has begun hold from the next value on.

        Raises
        ------
        ValueError, TypeError
            If a parameter is unknown or unfit, or the state depends on it and has begun: :meth:`reset` first. Nothing
            has changed then.
        """
        if not self._begun:
            super().set_params(**params)
            return self
        before = self.get_params(deep=False)
        try:
            super().set_params(**params)
            self._check_parameters()
            for name in self._lasting:
                if getattr(self, name) != before[name]:
                    raise ValueError(f"{name} cannot be changed once values have come in: call reset() first.")
        except (ValueError, TypeError):
            self.__dict__.update(before)
            raise
        self._connect()
        return self

    # ------------------------------------------------------------------------------------ inside

    def _check_parameters(self) -> None:
        """Check the parameters, each by itself; a subclass adds what they must be to each other."""
        check_parameters({**DriftDetector._constraints, **self._constraints}, self.get_params(deep=False))

    def _connect(self) -> None:
        """Make what follows from parameters and state."""
        self._call = self._bind()

    def _update(self, checked: Callable[[], Floats]) -> Levels:
        self._take_turn()
        try:
            if not self._begun:
                self._check_parameters()
            values = checked()
            if not self._begun:
                self._begin()
                self._begun = True
                self._connect()
            levels = np.zeros(len(values), np.int8)
            call, self._call = self._call, _refuse  # values one by one have to wait, too
            try:
                self._take(values, levels)
            finally:
                self._call = self._still_bound(call)
            if len(levels):
                self._level = int(levels[-1])
                self._n_detections += int(np.count_nonzero(levels == DRIFT))
            return levels
        finally:
            self.__dict__.pop("_learning", None)

    def _checked(self, values: Any) -> Floats:
        """The values as floats in an array of their own kind, or an error that says which of them will not do."""
        array = np.asarray(_unmasked(values, "values"))
        if array.dtype.kind == "O" and array.size and all(map(_is_number, array.ravel().tolist())):
            array = np.array([np.nan if v is None else _float(v) for v in array.ravel().tolist()]).reshape(array.shape)
        if array.dtype.kind not in "biuf" and array.size:
            raise TypeError(f"{type(self).__name__} takes numbers, got {_shown(values)}.")
        if array.ndim > 1:
            raise ValueError(f"{type(self).__name__} takes a number or an array of shape (n,), got {array.shape}.")
        from anabranch.kernels import drift as kernels

        array = np.ascontiguousarray(array, np.float64)
        if not array.flags.writeable:  # a type of its own to numba
            array = array.copy()
        skip = self.nan_policy == "skip"
        if kernels.all_fit(array, self._low, self._high, self._whole, skip):
            return array
        fits = (array >= self._low) & (array <= self._high)
        if self._whole:
            fits &= array == np.floor(array)
        if skip:
            fits |= np.isnan(array)
        at = int(np.argmin(fits))
        which = f"values[{at}] is" if np.ndim(values) else "got"
        if np.isnan(array[at]):
            raise ValueError(
                f"{type(self).__name__}: {which} NaN. Leave such values out, or have them passed over with "
                "nan_policy='skip'."
            )
        raise ValueError(f"{type(self).__name__} takes {self._range()}; {which} {array[at]:g}.")

    def _range(self) -> str:
        if self._whole:
            return f"{self._low:g} and {self._high:g} only (1: an error)"
        if self._high == _LARGEST:
            return f"finite numbers of at most {_LARGEST:g} in size"
        return f"numbers from {self._low:g} to {self._high:g} (scale others by their range)"

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in _PASSING}
        return state | {"_level": self._level, "_n_detections": self._n_detections}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._clear()
        for name, value in state.items():
            setattr(self, name, value)
        if self._begun:
            self._check_parameters()
            self._connect()

    __checkpoint__ = __getstate__
    __restore__ = __setstate__

    def __sklearn_is_fitted__(self) -> bool:
        return self._begun


class CompiledDetector(DriftDetector):
    """Base of the detectors whose step is compiled: two arrays, of settings and of state."""

    _kind: ClassVar[int]
    _state: Floats
    _settings: Floats
    _one: Any

    # ------------------------------------------------------------------------------------ hooks

    def _size(self) -> int:
        """Length of the state at the start."""
        raise NotImplementedError

    def _own_settings(self) -> list[float]:
        """The settings of this kind of detector, in the kernel's order."""
        raise NotImplementedError

    def _grow(self) -> None:
        """Make room in the state."""
        raise NotImplementedError

    def _fits_together(self) -> bool:
        """Whether the state is one that the kernel can go on with, apart from its kind and length."""
        return True

    # ------------------------------------------------------------------------------------ inside

    def _begin(self) -> None:
        from anabranch.kernels import drift as kernels

        self._state = np.empty(self._size())
        kernels.restart(self._kind, self._state)

    def _connect(self) -> None:
        if not self._state.flags.writeable:  # mapped from a file
            self._state = self._state.copy()
        self._settings = np.array([self._low, self._high, self._whole, *self._own_settings()], np.float64)
        super()._connect()

    def _bind(self) -> Callable[[float], int]:
        from anabranch.kernels import drift as kernels

        self._one = kernels.One(self._kind, self._settings, self._state)  # it must outlive its call
        call: Callable[[float], int] = self._one.call
        return call

    def _still_bound(self, call: Callable[[float], int]) -> Callable[[float], int]:
        return call if self._one.state is self._state else self._bind()

    def _take(self, values: Floats, levels: Levels) -> None:
        from anabranch.kernels import drift as kernels

        level, start = self._level, 0
        while True:
            start = kernels.run(self._kind, self._settings, self._state, values, levels, start, level)
            if start == len(values):
                return
            self._grow()
            level = int(levels[start - 1]) if start else level

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless it is none: the kernels trust it."""
        if state.get("_begun"):
            array = state.get("_state")
            if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 1:
                raise checkpoint.CheckpointError("The checkpoint's detector has no state.")
        super().__restore__(state)
        if self._begun and not (len(self._state) >= self._size() and self._fits_together()):
            raise checkpoint.CheckpointError("The checkpoint's detector does not fit together.")


def _after_gap(level: int) -> int:
    """What a detector says at a value that is passed over: a drift is over then, a warning goes on."""
    return WARNING if level == WARNING else STABLE


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, numbers.Real)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _shown(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 40 else text[:37] + "..."
