"""Change detectors as published and as MOA has them: one value after the other, plain Python, nothing else.

Each has ``step(value)``, which says 0 (nothing), 1 (warning) or 2 (drift).
"""

from __future__ import annotations

import math

from scipy.stats import ks_2samp


class ADWIN:
    """Buckets as a list of (values, sum, sum of squared differences from the mean), the oldest first."""

    def __init__(self, delta=0.002, clock=32, max_buckets=5, min_window_length=5, grace_period=10, mode="both"):
        self.mode = mode
        self.delta, self.clock, self.most = delta, clock, max_buckets
        self.least, self.grace = min_window_length, grace_period
        self.time = 0
        self.buckets = []
        self.width, self.total, self.variance = 0, 0.0, 0.0

    def step(self, value):
        self.time += 1
        before = self.total / self.width if self.width else math.nan
        self.insert(value)
        drift = False
        if self.time % self.clock == 0 and self.width > self.grace:
            while self.some_cut():
                self.drop()
                drift = True
        mean = self.total / self.width
        return 2 if drift and {"both": True, "up": mean > before, "down": mean < before}[self.mode] else 0

    def insert(self, value):
        self.width += 1
        if self.width > 1:
            mean = self.total / (self.width - 1)
            self.variance += (self.width - 1) * (value - mean) * (value - mean) / self.width
        self.total += value
        self.buckets.append((1, value, 0.0))
        size = 1
        while sum(bucket[0] == size for bucket in self.buckets) > self.most:
            i = next(i for i, bucket in enumerate(self.buckets) if bucket[0] == size)
            (n1, u1, v1), (n2, u2, v2) = self.buckets[i], self.buckets[i + 1]
            between = n1 * n2 * (u1 / n1 - u2 / n2) * (u1 / n1 - u2 / n2) / (n1 + n2)
            self.buckets[i : i + 2] = [(n1 + n2, u1 + u2, v1 + v2 + between)]
            size *= 2

    def drop(self):
        n, total, variance = self.buckets.pop(0)
        self.width -= n
        self.total -= total
        away = total / n - self.total / self.width
        self.variance -= variance + n * self.width * away * away / (n + self.width)

    def some_cut(self):
        n0, n1, u0, u1 = 0, self.width, 0.0, self.total
        for n, total, _ in self.buckets[:-1]:
            n0, n1, u0, u1 = n0 + n, n1 - n, u0 + total, u1 - total
            if n0 > self.least + 1 and n1 > self.least + 1:
                dd = math.log(2 * math.log(self.width) / self.delta)
                m = 1 / (n0 - self.least + 1) + 1 / (n1 - self.least + 1)
                v = max(self.variance, 0.0) / self.width
                if abs(u0 / n0 - u1 / n1) > math.sqrt(2 * m * v * dd) + 2 / 3 * dd * m:
                    return True
        return False


class DDM:
    def __init__(self, min_values=30, warning_level=2.0, drift_level=3.0):
        self.parameters = min_values, warning_level, drift_level
        self.start()

    def start(self):
        self.n, self.p = 1, 1.0
        self.p_min = self.s_min = self.ps_min = math.inf

    def step(self, value):
        min_values, warning, drift = self.parameters
        self.p += (value - self.p) / self.n
        s = math.sqrt(max(self.p * (1 - self.p), 0.0) / self.n)
        self.n += 1
        if self.n < min_values:
            return 0
        if self.p + s <= self.ps_min:
            self.p_min, self.s_min, self.ps_min = self.p, s, self.p + s
        if self.n > min_values and self.p + s > self.p_min + drift * self.s_min:
            self.start()
            return 2
        return 1 if self.p + s > self.p_min + warning * self.s_min else 0


class EDDM:
    def __init__(self, min_errors=30, warning_level=0.95, drift_level=0.9):
        self.parameters = min_errors, warning_level, drift_level
        self.start()

    def start(self):
        self.n = self.errors = self.latest = 0
        self.mean = self.m2 = self.largest = 0.0
        self.level = 0

    def step(self, value):
        min_errors, warning, drift = self.parameters
        self.n += 1
        if value == 1:
            self.level = 0
            self.errors += 1
            distance, self.latest = self.n - self.latest, self.n
            before = self.mean
            self.mean += (distance - self.mean) / self.errors
            self.m2 += (distance - self.mean) * (distance - before)
            reach = self.mean + 2 * math.sqrt(self.m2 / self.errors)
            if reach > self.largest:
                if self.n >= min_errors:
                    self.largest = reach
            elif self.errors > min_errors:
                if reach / self.largest < drift:
                    self.start()
                    return 2
                self.level = int(reach / self.largest < warning)
        return self.level


class DDMOCI:
    def __init__(self, min_examples=30, warning_level=2.0, drift_level=3.0, class_decay=0.99, recall_decay=0.999):
        self.parameters = min_examples, warning_level, drift_level, class_decay, recall_decay
        self.sizes = {}
        self.start()

    def start(self):
        self.hits, self.weights, self.counts, self.best = {}, {}, {}, {}
        self.level = 0

    def step(self, pair):
        label, guess = pair
        min_examples, warning, drift, theta, eta = self.parameters
        self.sizes.setdefault(label, 0.0)
        for known in self.sizes:
            self.sizes[known] = self.sizes[known] * theta + ((1 - theta) if known == label else 0.0)
        rarest = label
        for known in self.sizes:
            if self.sizes[known] < self.sizes[rarest]:
                rarest = known
        self.hits[label] = eta * self.hits.get(label, 0.0) + (label == guess)
        self.weights[label] = eta * self.weights.get(label, 0.0) + 1
        self.counts[label] = self.counts.get(label, 0) + 1
        if label != rarest:
            return self.level
        self.level = 0
        if self.counts[label] < min_examples:
            return 0
        p = self.hits[label] / self.weights[label]
        s = math.sqrt(max(p * (1 - p), 0.0) / self.weights[label])
        p_max, s_max = self.best.get(label, (-math.inf, 0.0))
        if p + s >= p_max + s_max:
            p_max, s_max = self.best[label] = p, s
        if p - s < p_max - drift * s_max:
            self.start()
            return 2
        self.level = int(p - s < p_max - warning * s_max)
        return self.level


class HDDMA:
    def __init__(self, drift_confidence=0.001, warning_confidence=0.005, two_sided=True):
        self.drift, self.warning, self.two_sided = drift_confidence, warning_confidence, two_sided
        self.start()

    def start(self):
        self.n, self.total = 0, 0.0
        self.up = self.down = None

    def bound(self, n):
        return math.sqrt(1 / (2 * n) * math.log(1 / self.drift))

    def differs(self, cut, sign, confidence):
        n, total = cut
        if n == self.n:
            return False
        m = (self.n - n) / n * (1 / self.n)
        return sign * (self.total / self.n - total / n) >= math.sqrt(m / 2 * math.log(2 / confidence))

    def step(self, value):
        self.n += 1
        self.total += value
        now, mean = (self.n, self.total), self.total / self.n
        if self.up is None or self.up[1] / self.up[0] + self.bound(self.up[0]) >= mean + self.bound(self.n):
            self.up = now
        if self.down is None or self.down[1] / self.down[0] - self.bound(self.down[0]) <= mean - self.bound(self.n):
            self.down = now
        if self.differs(self.up, 1, self.drift):
            self.start()
            return 2
        level = int(self.differs(self.up, 1, self.warning))
        if self.two_sided and self.differs(self.down, -1, self.drift):
            self.start()
        return level


class HDDMW:
    def __init__(self, drift_confidence=0.001, warning_confidence=0.005, newest_weight=0.05, two_sided=False):
        self.drift, self.warning, self.weight, self.two_sided = (
            drift_confidence, warning_confidence, newest_weight, two_sided,
        )  # fmt: skip
        self.start()

    def start(self):
        self.all = None
        self.sides = {1: [math.inf, None, None], -1: [math.inf, None, None]}  # cut; mean and weights before, after

    def added(self, sample, value):
        if sample is None:
            return value, 1.0
        mean, weights = sample
        rest = 1 - self.weight
        return self.weight * value + rest * mean, self.weight * self.weight + rest * rest * weights

    def differs(self, side, confidence):
        _, before, after = self.sides[side]
        if after is None:
            return False
        return after[0] - before[0] > math.sqrt((before[1] + after[1]) * math.log(1 / confidence) / 2)

    def follow(self, side, value):
        mean = side * self.all[0]
        bound = math.sqrt(self.all[1] * math.log(1 / self.drift) / 2)
        cut, _, after = self.sides[side]
        if mean + bound < cut:
            self.sides[side] = [mean + bound, (mean, self.all[1]), None]
        else:
            self.sides[side][2] = self.added(after, side * value)

    def step(self, value):
        self.all = self.added(self.all, value)
        self.follow(1, value)
        if self.differs(1, self.drift):
            self.start()
            return 2
        level = int(self.differs(1, self.warning))
        if self.two_sided:
            self.follow(-1, value)
            if self.differs(-1, self.drift):
                self.start()
        return level


class PageHinkley:
    def __init__(self, min_values=30, delta=0.005, threshold=50.0, alpha=0.9999, mode="up", rise_from="minimum"):
        self.rise_from = rise_from
        self.parameters = min_values, delta, threshold, alpha
        self.signs = {"up": [1], "down": [-1], "both": [1, -1]}[mode]
        self.start()

    def start(self):
        self.n, self.mean = 1, 0.0
        self.sums, self.least = {1: 0.0, -1: 0.0}, {1: math.inf, -1: math.inf}

    def step(self, value):
        min_values, delta, threshold, alpha = self.parameters
        self.mean += (value - self.mean) / self.n
        self.n += 1
        for sign in self.signs:
            self.sums[sign] = alpha * self.sums[sign] + (sign * (value - self.mean) - delta)
            self.least[sign] = min(self.least[sign], self.sums[sign]) if self.rise_from == "minimum" else 0.0
        if self.n >= min_values and any(self.sums[sign] - self.least[sign] > threshold for sign in self.signs):
            self.start()
            return 2
        return 0


class KSWIN:
    """The test by SciPy; the sample by the detector's own rule, from draws that it is given."""

    def __init__(self, uniform, alpha=0.005, window_size=100, stat_size=30):
        self.uniform, self.alpha, self.size, self.stat = uniform, alpha, window_size, stat_size
        self.window = []
        self.p_value = math.nan

    def step(self, value):
        self.window = [*self.window, value][-self.size :]
        self.p_value = math.nan
        if len(self.window) < self.size:
            return 0
        latest = self.window[-self.stat :]
        sample = []
        older = sorted(self.window[: -self.stat])
        for k, other in enumerate(older):
            wanted = self.stat - len(sample)
            if wanted and self.uniform() * (len(older) - k) < wanted:
                sample.append(other)
        distance, self.p_value = ks_2samp(sample, latest, method="exact")[:2]
        if self.p_value <= self.alpha and distance > 0.1:
            self.window = latest
            return 2
        return 0
