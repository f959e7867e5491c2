"""What the command leaves for later, so that it starts sooner."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# What scikit-learn imports, and no run asks for unless it needs it. (narwhals: for data frames.)
SELDOM_USED = (
    "asyncio",
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "numpy.f2py",
    "numpy.testing",
    "pandas",
    "scipy.special",
    "scipy.stats",
)


class _Later(ModuleType):
    """A module that is imported when somebody first asks for something in it."""

    def __getattr__(self, name: str) -> Any:
        # Importing looks at a module's inner names; those two are what others ask for.
        if name.startswith("__") and name not in ("__path__", "__version__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        for below, later in list(sys.modules.items()):
            if isinstance(later, _Later) and below.rpartition(".")[0] == self.__name__:
                setattr(module, below.rpartition(".")[2], later)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def import_later(*names: str) -> None:
    """Let modules be imported at their first use, wherever they are imported from then on.

    Importing scikit-learn takes most of the time of a short run, and most of that goes into ``scipy.stats``, pandas and
    others, which it imports for functions that no run calls. This is for the command, whose process is its own.

    Parameters
    ----------
    names : str
        Modules, a package before what is in it; those that are not installed, or imported already, are left alone.

    Examples
    --------
    >>> import_later("no_such_module", "json")
    """
    for name in names:
        parent, _, child = name.rpartition(".")
        if name in sys.modules or importlib.util.find_spec(name.partition(".")[0]) is None:
            continue
        spec: ModuleSpec | None = ModuleSpec(name, None)
        if not isinstance(sys.modules.get(parent), _Later):  # in which case it is not even looked for
            spec = importlib.util.find_spec(name)  # imports the parent
        if spec is None:
            continue
        module = _Later(name)
        module.__spec__ = spec
        sys.modules[name] = module
        if parent:
            setattr(sys.modules[parent], child, module)
