"""The nineteen streams on which Kirkby's thesis compares learners.

R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, section 3.4. The thesis names neither
the seeds of its streams nor those of its models, so each is drawn anew here; its random trees had 741 nodes (*rts*)
and 127,837 (*rtc*), those of other seeds have other numbers.

>>> STREAMS["genF3"](seed=7)
Agrawal(function=3, perturbation=0.05, balanced=False, seed=7, n_rows=None)
>>> STREAMS["rtsn"](n_rows=1000).name
'RandomTree(n_nominal=10, n_numeric=10, noise=0.1, seed=1)'
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anabranch.stream import LED, Agrawal, Generator, RandomRBF, RandomTree, Waveform

_SIMPLE = {"n_nominal": 10, "n_numeric": 10, "n_values": 5, "max_depth": 5, "first_leaf_level": 3}
_COMPLEX = {"n_nominal": 50, "n_numeric": 50, "n_values": 5, "max_depth": 10, "first_leaf_level": 5}

STREAMS: dict[str, Callable[..., Generator]] = {
    "rts": partial(RandomTree, **_SIMPLE, leaf_fraction=0.15),
    "rtsn": partial(RandomTree, **_SIMPLE, leaf_fraction=0.15, noise=0.1),
    "rtc": partial(RandomTree, **_COMPLEX, leaf_fraction=0.15),
    "rtcn": partial(RandomTree, **_COMPLEX, leaf_fraction=0.15, noise=0.1),
    "rrbfs": partial(RandomRBF, n_centroids=100, n_features=10),
    "rrbfc": partial(RandomRBF, n_centroids=1000, n_features=50),
    "led": partial(LED, noise=0.1),
    "wave21": partial(Waveform, n_features=21),
    "wave40": partial(Waveform, n_features=40),
    **{f"genF{function}": partial(Agrawal, function=function, perturbation=0.05) for function in range(1, 11)},
}
"""What makes each stream, by its name in the thesis: takes ``seed``, ``n_rows`` and, for models, ``model_seed``."""
