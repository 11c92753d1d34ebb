"""The work that every package is given: training rows, test rows, starting knots and parameters, all in standard units (inputs and target
have mean 0 and standard deviation 1 over the training rows), as .npy files in a folder for each problem."""

import dataclasses
import json
import os
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 20
TEST_ROWS = 10_000
KMEANS_ROWS = 20_000  # more rows are sampled before k-means: it gives starting knots, not results


@dataclasses.dataclass(frozen=True)
class Spec:
    """A problem by name: a data set and a number of knots. Generated sets have `rows` rows and `inputs` inputs; of real ones
    `rows` are for training."""

    name: str
    source: str
    rows: int
    inputs: int
    knots: int


SPECS = {
    spec.name: spec
    for spec in (
        Spec("boston", "boston.csv", 392, 3, 40),
        Spec("airfoil", "airfoil.csv", 751, 5, 80),
        Spec("ccpp", "ccpp.csv", 4784, 4, 80),
        Spec("concrete", "uci/concrete.csv.gz", 927, 8, 200),
        Spec("ccpp-all", "ccpp.csv", 8611, 4, 500),
        Spec("protein", "uci/protein.csv.gz", 10_000, 9, 500),
        Spec("20k-200", "generated", 20_000, 8, 200),
        Spec("20k-512", "generated", 20_000, 8, 512),
        Spec("50k-200", "generated", 50_000, 8, 200),
        Spec("500k-64", "generated", 500_000, 8, 64),
        Spec("500k-512", "generated", 500_000, 8, 512),
    )
}


class Problem:
    """What a package reads: arrays and the starting parameters."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        facts = json.loads((self.folder / "problem.json").read_text())
        self.sigma, self.tau, self.lengthscales = facts["sigma"], facts["tau"], np.array(facts["lengthscales"])
        self.rows, self.inputs, self.knots, self.y_scale = facts["rows"], facts["inputs"], facts["knots"], facts["y_scale"]

    @property
    def train_file(self):
        return self.folder / "train.npy"

    @property
    def test_file(self):
        return self.folder / "test.npy"

    @property
    def knots_file(self):
        return self.folder / "knots.npy"

    def train(self):
        return _inputs_and_target(self.train_file)

    def test(self):
        return _inputs_and_target(self.test_file)

    def z(self):
        return np.load(self.knots_file)


def write(spec, folder, data_folders):
    """Makes the problem's files unless they exist. Returns the reason if that is impossible, else None."""
    if (folder / "problem.json").exists():
        return None
    if spec.source == "generated":
        train, test = _generated(spec)
    else:
        path = next((place / spec.source for place in data_folders if (place / spec.source).exists()), None)
        if path is None:
            return f"{spec.source} is not in " + " or ".join(os.path.relpath(place, ROOT) for place in data_folders)
        train, test = _split(np.loadtxt(path, delimiter=",", skiprows=0 if spec.source.startswith("uci/") else 1), spec.rows)
    centre, scale = train.mean(axis=0), train.std(axis=0, ddof=1)
    train, test = (train - centre) / scale, (test - centre) / scale
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "train.npy", train)
    np.save(folder / "test.npy", test)
    np.save(folder / "knots.npy", _kmeans(train[:, :-1], spec.knots))
    _write_facts(spec, folder, scale[-1])
    return None


def _write_facts(spec, folder, y_scale):
    """The start that oatgp would choose: half of the variance is noise, lengthscales grow with the distances of the inputs."""
    facts = dict(rows=spec.rows, inputs=spec.inputs, knots=spec.knots, y_scale=y_scale, sigma=0.5**0.5, tau=0.5**0.5)
    facts["lengthscales"] = [spec.inputs**0.5] * spec.inputs
    (folder / "problem.json").write_text(json.dumps(facts))


def _inputs_and_target(path):
    table = np.load(path)
    return np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])


def _split(table, rows):
    order = np.random.default_rng(SEED).permutation(len(table))
    return table[order[:rows]], table[order[rows : rows + TEST_ROWS]]


def _generated(spec, features=500, noise=0.3):
    """A draw from a GP with lengthscales from 2 to 16 (random Fourier features), plus noise. Sizes share their first rows."""
    rng = np.random.default_rng(SEED)
    lengthscales = np.geomspace(2, 16, spec.inputs)
    frequency = rng.normal(size=(spec.inputs, features)) / lengthscales[:, None]
    phase = rng.uniform(0, 2 * np.pi, features)
    weight = rng.normal(size=features) * (2 / features) ** 0.5
    test, train = (_draw(rng, rows, (frequency, phase, weight), noise) for rows in (TEST_ROWS, spec.rows))
    return train, test


def _draw(rng, rows, function, noise, block=10_000):
    frequency, phase, weight = function
    parts = []
    for first in range(0, rows, block):
        x = rng.normal(size=(min(block, rows - first), len(frequency)))
        y = np.cos(x @ frequency + phase) @ weight + noise * rng.normal(size=len(x))
        parts.append(np.column_stack((x, y)))
    return np.concatenate(parts)


def _kmeans(x, knots):
    from sklearn.cluster import KMeans

    sample = x[np.random.default_rng(SEED).permutation(len(x))[:KMEANS_ROWS]]
    return KMeans(knots, n_init=1, max_iter=50, random_state=SEED).fit(sample).cluster_centers_
