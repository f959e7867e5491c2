"""Change detectors: where has the distribution of a stream of values changed."""

from anabranch.drift.adwin import ADWIN
from anabranch.drift.base import DriftDetector
from anabranch.drift.ddm import DDM
from anabranch.drift.ddm_oci import DDMOCI
from anabranch.drift.eddm import EDDM
from anabranch.drift.hddm_a import HDDMA
from anabranch.drift.hddm_w import HDDMW
from anabranch.drift.kswin import KSWIN
from anabranch.drift.page_hinkley import PageHinkley

__all__ = ["ADWIN", "DDM", "DDMOCI", "EDDM", "HDDMA", "HDDMW", "KSWIN", "DriftDetector", "PageHinkley"]
