"""Optimisation of functions that take long to evaluate: ask for the next point, tell its value.

The function is modelled by the exact GP of the evaluations so far, over inputs in the unit cube and standardised values; the next point has the
largest expected improvement. Its logarithm is climbed from several starts at once, with the library's derivatives of predictions. Further
points of a batch are found as if the points before them had their expected values.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._data import Data, Table
from ._library import Interrupted, OatgpWarning, check_names, warn, whole_number
from ._model import Model, fit
from ._settings import NAMES

if TYPE_CHECKING:
    from ._library import Array

    Bounds = Union[Sequence[Any], Mapping[str, Any]]

#: Points that are looked at before some of them are climbed from, and how many these are.
_CANDIDATES, _STARTS = 512, 8
#: Lengthscales that fits start from, times the root of the number of inputs.
_LENGTHSCALES = (0.2, 0.6)
#: The model of the function, and its noise: estimated, or little, which only smooths what lengthscales cannot follow. Averages would take several
#: times as long.
_MODEL = {
    "approx": "full",
    "kernel": "matern52-ard",
    "mean": "fit",
    "scale": False,
    "select": "fixed",
    "sigma": 1.0,
    "obj_tol": 1e-3,
    "average": 0,
    "threads": 1,
}
_NOISY = {"tau": 0.1, "range": "tau=0.001:2,lengthscale=0.05:5"}
_EXACT = {"tau": 0.01, "range": "tau=0.0001:0.1,lengthscale=0.05:5"}
#: How an input's bounds are given.
_SIDE = "a pair of numbers (lowest, highest), a range of whole numbers or a list of texts"
#: Values whose skewness is above this have a long tail.
_SKEWED = 1.0
#: Two points that are nearer than this in the unit cube count as the same.
_SAME = 1e-6


# ---- the space --------------------------------------------------------------------------------------------------------


class _Space:
    """Converts points of the user to rows of the unit cube, where whole numbers lie on a grid, and back; a category becomes codes."""

    def __init__(self, bounds: Bounds) -> None:
        if isinstance(bounds, str) or not isinstance(bounds, (Iterable, np.ndarray)):
            raise ValueError(f"bounds are {bounds!r}, and must be a list, or a mapping from names, with {_SIDE} for each input")
        self.names = list(bounds) if isinstance(bounds, Mapping) else None
        sides = list(bounds.values()) if isinstance(bounds, Mapping) else list(bounds)
        if not sides:
            raise ValueError(f"bounds are empty: give {_SIDE} for each input")
        self.d = len(sides)
        self.labels = [str(name) for name in self.names] if self.names else [f"x{j + 1}" for j in range(self.d)]
        self.levels: Dict[int, List[str]] = {}
        self.grids: Dict[int, range] = {}
        self.low, self.high = np.zeros(self.d), np.ones(self.d)
        for j, side in enumerate(sides):
            self._take(j, side)
        self.is_number = np.array([j not in self.levels for j in range(self.d)])

    def _name(self, j: int) -> str:
        return f"'{self.names[j]}'" if self.names is not None else str(j + 1)

    def _take(self, j: int, side: Any) -> None:
        if isinstance(side, range) and len(side) > 1:
            self.grids[j] = side if side.step > 0 else side[::-1]
            side = self.grids[j][0], self.grids[j][-1]
        values = list(side) if isinstance(side, Iterable) and not isinstance(side, str) else [side]
        if values and all(isinstance(value, str) for value in values):
            if len(set(values)) < max(len(values), 2):
                raise ValueError(f"input {self._name(j)}: a category needs at least two texts, all different, not {', '.join(values)}")
            self.levels[j] = values
            return
        try:
            if any(isinstance(value, (bool, np.bool_)) for value in values):
                raise TypeError
            low, high = (float(value) for value in values)
        except (TypeError, ValueError):
            raise ValueError(f"input {self._name(j)}: bounds are {_SIDE}, not {side!r}") from None
        if not (math.isfinite(high - low) and low < high):
            raise ValueError(f"input {self._name(j)}: the bounds are {low} and {high}, and must be finite numbers, the lower one first")
        self.low[j], self.high[j] = low, high

    def to_cube(self, point: Any) -> Array:
        values = self._values_of(point)
        if len(values) != self.d:
            raise ValueError(f"a point has {len(values)} values, and there are {self.d} inputs")
        row = np.empty(self.d)
        for j, value in enumerate(values):
            if j in self.levels:
                if value not in self.levels[j]:
                    raise ValueError(f"input {self._name(j)}: {value!r} is not one of {', '.join(self.levels[j])}")
                row[j] = self.levels[j].index(value)
            elif value not in self.grids.get(j, (value,)):
                raise ValueError(f"input {self._name(j)}: {value!r} is not in {self.grids[j]}")
            else:
                row[j] = (float(value) - self.low[j]) / (self.high[j] - self.low[j])
        if not np.isfinite(row).all():
            raise ValueError(f"a point must have finite values, and this one is {values}")
        outside = self.is_number & (np.abs(row - 0.5) > 0.5 + _SAME)
        if outside.any():
            j = int(np.argmax(outside))
            raise ValueError(f"input {self._name(j)}: {values[j]} is outside of the bounds, {self.low[j]} to {self.high[j]}; leave the point out")
        return np.where(self.is_number, np.clip(row, 0, 1), row)

    def _values_of(self, point: Any) -> List[Any]:
        if self.names is None or not isinstance(point, Mapping):
            return list(point) if isinstance(point, Iterable) and not isinstance(point, str) else [point]
        missing = [name for name in self.names if name not in point]
        if missing:
            raise ValueError(f"a point has no value of '{missing[0]}'; it has {', '.join(map(str, point))}")
        return [point[name] for name in self.names]

    def from_cube(self, row: Array) -> Any:
        numbers = np.clip(self.low + row * (self.high - self.low), self.low, self.high)
        if not self.levels and not self.grids and self.names is None:
            return numbers
        values: List[Any] = [self.levels[j][int(row[j])] if j in self.levels else float(numbers[j]) for j in range(self.d)]
        for j, grid in self.grids.items():
            values[j] = grid[round(row[j] * (len(grid) - 1))]
        return values if self.names is None else dict(zip(self.names, values))

    def snap(self, rows: Array) -> Array:
        """With whole numbers on their grids."""
        found: Array = rows.copy()
        for j, grid in self.grids.items():
            found[:, j] = np.rint(rows[:, j] * (len(grid) - 1)) / (len(grid) - 1)
        return found

    def data(self, rows: Array, values: Optional[Array] = None) -> Data:
        """Rows of the cube for the library."""
        return Data(Table(rows, self.labels, self.levels), values)

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """A Latin hypercube: one point in each of `count` equal parts of each input, and all levels equally often."""
        ranks = np.argsort(rng.random((self.d, count)), axis=1).T
        rows: Array = (ranks + rng.random((count, self.d))) / count
        for j, levels in self.levels.items():
            rows[:, j] = np.floor(rows[:, j] * len(levels))
        for j, grid in self.grids.items():
            rows[:, j] = np.floor(rows[:, j] * len(grid)) / (len(grid) - 1)
        return rows

    def near(self, row: Array, count: int, rng: np.random.Generator) -> Array:
        """Points around this one, from far to near. Some inputs stay the same, and levels change occasionally."""
        rows = np.tile(row, (count, 1))
        moved = rng.random((count, self.d)) < np.maximum(0.5, 1 / self.d)
        step = rng.standard_normal((count, self.d)) * 10 ** rng.uniform(-3, -0.5, (count, 1))
        rows = np.where(moved & self.is_number, np.clip(rows + step, 0, 1), rows)
        for j, levels in self.levels.items():
            other = rng.random(count) < 0.2
            rows[other, j] = rng.integers(len(levels), size=int(other.sum()))
        return self.snap(rows)


# ---- expected improvement ----------------------------------------------------------------------------------------------


def _log_h(z: Array) -> Tuple[Array, Array]:
    """The logarithm of h(z) = phi(z) + z Phi(z), and its derivative Phi(z) / h(z), without loss of digits for any z."""
    log_h, slope = np.empty_like(z), np.empty_like(z)
    near, far = z > -1, z < -25
    erfc = np.array([math.erfc(-value / math.sqrt(2)) for value in z])
    upper = erfc[near] / 2
    h = np.exp(-0.5 * z[near] ** 2) / math.sqrt(2 * math.pi) + z[near] * upper
    log_h[near], slope[near] = np.log(h), upper / h
    low = z[~near]  # here h / phi = 1 + z R, R = Phi / phi, by a series for large |z|
    t = 1 / low**2
    series = t * (1 - t * (3 - t * (15 - t * (105 - t * 945))))
    away = far[~near]
    ratio = np.where(away, (series - 1) / low, math.sqrt(math.pi / 2) * erfc[~near] * np.exp(0.5 * np.where(away, 0, low) ** 2))
    bracket = np.where(away, series, 1 + low * ratio)
    log_h[~near], slope[~near] = np.log(bracket) - 0.5 * low**2 - 0.5 * math.log(2 * math.pi), ratio / bracket
    return log_h, slope


def _log_learnt(sd: Array, tau: float) -> Tuple[Array, Array]:
    """log(1 - tau / sqrt(sd^2 + tau^2)), and its derivative in sd: how much one noisy evaluation tells about the function (Huang et al. 2006)."""
    root = np.hypot(sd, tau)
    learnt = sd**2 / (root * (root + tau))
    return np.log(learnt), tau * sd / (root**3 * learnt)


def _log_improvement(model: Model, space: _Space, used: List[int], best: float, noise: bool, rows: Array) -> Tuple[Array, Array]:
    """log EI below `best` at rows of the cube, and its derivatives; 0 for inputs that are not `used` because they were constant. With noise
    it is the augmented EI: without that factor the search would evaluate the best point found again and again."""
    at = model.predict_gradient(space.data(rows), threads=1)
    sd = np.maximum(at.sd_latent, 1e-12)
    z = (best - at.mean) / sd
    log_h, slope = _log_h(z)
    d_z = -(at.d_mean + z[:, None] * at.d_sd_latent) / sd[:, None]
    gradient = np.zeros_like(rows)
    log_learnt, d_learnt = _log_learnt(sd, model.tau) if noise else (np.zeros_like(sd), np.zeros_like(sd))
    gradient[:, used] = slope[:, None] * d_z + (1 / sd + d_learnt)[:, None] * at.d_sd_latent
    return log_h + np.log(sd) + log_learnt, gradient


def _standardise(values: Array, noise: bool) -> Array:
    """Values for the model, of which small ones are good. A long tail of large values would hide their differences, so it is shortened by a
    logarithm, unless noise makes the smallest value a matter of chance."""
    values = np.ldexp(values, -math.frexp(float(np.abs(values).max()))[1])  # their squares are then numbers
    spread = float(np.std(values))
    if spread == 0:
        return np.zeros_like(values)
    if not noise and float(np.mean(((values - np.mean(values)) / spread) ** 3)) > _SKEWED:
        least = float(values.min())
        values = np.log1p((values - least) / max(float(np.median(values)) - least, 1e-300))
    standard: Array = (values - np.mean(values)) / np.std(values)
    return standard


# ---- climbing from several starts at once --------------------------------------------------------------------------------


def _climb(function: Callable[[Array], Tuple[Array, Array]], rows: Array, is_number: Any, steps: int = 60) -> Tuple[Array, Array]:
    """Maximises in the unit cube from every row: BFGS with a matrix for each start, steps cut at the bounds and halved until they gain."""
    u = rows.copy()
    n, d = u.shape
    value, slope = function(u)
    inverse = np.tile(0.01 * np.eye(d), (n, 1, 1))
    active = np.arange(n)
    for _ in range(steps):
        x, g, matrix = u[active], slope[active], inverse[active]
        held = ((x <= 0) & (g < 0)) | ((x >= 1) & (g > 0)) | ~is_number
        free = np.where(held, 0, g)
        way = np.where(held, 0, np.einsum("nij,nj->ni", matrix, free))
        lost = (way * free).sum(1) <= 1e-10 * np.linalg.norm(way, axis=1) * np.linalg.norm(free, axis=1)
        way[lost] = 0.01 * free[lost]
        way *= np.minimum(1, 0.3 * math.sqrt(d) / np.maximum(np.linalg.norm(way, axis=1), 1e-300))[:, None]
        found, new_value, new_slope = _search(function, x, value[active], g, way)
        s, y = found - x, g - new_slope
        gain = new_value - value[active]
        u[active], value[active], slope[active] = found, new_value, new_slope
        matrix[lost] = 0.01 * np.eye(d)
        inverse[active] = _bfgs(matrix, s, np.where(held, 0, y))
        active = active[gain > 1e-7]
        if len(active) == 0:
            break
    return u, value


def _search(
    function: Callable[[Array], Tuple[Array, Array]], x: Array, value: Array, slope: Array, way: Array
) -> Tuple[Array, Array, Array]:
    """The first point along the step, cut at the bounds and halved, that gains enough; x itself if there is none."""
    found, found_value, found_slope = x.copy(), value.copy(), slope.copy()
    todo, step = np.arange(len(x)), 1.0
    for _ in range(10):
        trial = np.clip(x[todo] + step * way[todo], 0, 1)
        trial_value, trial_slope = function(trial)
        enough = trial_value >= value[todo] + 1e-4 * (slope[todo] * (trial - x[todo])).sum(1)
        done = todo[enough]
        found[done], found_value[done], found_slope[done] = trial[enough], trial_value[enough], trial_slope[enough]
        todo, step = todo[~enough], step * 0.3
        if len(todo) == 0:
            break
    return found, found_value, found_slope


def _bfgs(inverse: Array, s: Array, y: Array) -> Array:
    """Updates the inverse matrices of the starts where the curvature is that of a maximum."""
    curvature = (s * y).sum(1)
    good = curvature > 1e-10 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
    if not good.any():
        return inverse
    s, y, rho = s[good], y[good], 1 / curvature[good][:, None, None]
    first = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    inverse[good] = first @ inverse[good] @ np.swapaxes(first, 1, 2) + rho * s[:, :, None] * s[:, None, :]
    return inverse


# ---- ask and tell ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Optimum:
    """The result of an optimisation: ``x``, the best point, and ``y``, its value. With noise it is the evaluated point at which
    the model expects the best value."""

    x: Any
    y: float
    points: List[Any]  #: all that were evaluated, in their order
    values: Array  #: what was found there
    seconds: float  #: that the optimiser took, without the function

    def __repr__(self) -> str:
        return f"Optimum(x={self.x}, y={self.y:.6g}, {len(self.values)} evaluations, {self.seconds:.2g} s beside the function)"


class Optimizer:
    """Chooses the points at which to evaluate a function, from the values at earlier points.

    Parameters
    ----------
    bounds : sequence or mapping
        For each input a pair (lowest, highest), a ``range`` of whole numbers, or a list of texts, which is a category. Points are arrays; with
        ranges or categories, lists; with a mapping from names to bounds, dicts.
    maximize : bool
        Look for the largest value instead of the smallest.
    noise : bool
        Whether the function has noise: the same point may have a different value when it is evaluated again.
    initial : int, optional
        Points of the initial Latin hypercube (default: 2 for each input, plus 2). Told points count.
    seed : int
        The seed of the random numbers. The points depend only on the seed and on the told values, so an optimiser that is told the same
        values continues in the same way.
    **settings
        Those of ``fit`` for the model of the function, such as ``kernel``.

    >>> optimizer = Optimizer([(-1, 2)], seed=1)
    >>> for _ in range(12):
    ...     x = optimizer.ask()
    ...     optimizer.tell(x, (x[0] - 0.3) ** 2)
    >>> bool(optimizer.best.y < 1e-3)
    True
    """

    def __init__(
        self,
        bounds: Bounds,
        *,
        maximize: bool = False,
        noise: bool = False,
        initial: Optional[int] = None,
        seed: int = 1,
        **settings: Any,
    ) -> None:
        check_names("Optimizer", settings, NAMES, ("maximize", "noise", "initial", "seed"))
        self._space = _Space(bounds)
        self._sign = -1.0 if maximize else 1.0
        self._noise, self._seed = bool(noise), whole_number(seed, 0, "seed")
        self._initial = 2 * (self._space.d + 1) if initial is None else whole_number(initial, 2, "initial")
        self._settings: Dict[str, Any] = dict(settings)
        self._rows, self._values = np.empty((0, self._space.d)), np.empty(0)
        self._pending = np.empty((0, self._space.d))
        self._design = self._space.spread(self._initial, np.random.default_rng(self._seed))
        self._fitted: Optional[Tuple[Model, Array]] = None
        self._seconds = 0.0

    # ---- told -----

    def tell(self, x: Any, y: Any) -> None:
        """Adds the value of a point, or the values of several points, which need not come from ``ask``."""
        one = np.ndim(y) == 0
        points, values = ([x], [y]) if one else (list(x), list(y))
        if len(points) != len(values):
            raise ValueError(f"there are {len(points)} points and {len(values)} values")
        rows = np.array([self._space.to_cube(point) for point in points]).reshape(-1, self._space.d)
        found = np.array([_number(value) for value in values])
        for row in rows:
            self._pending = self._pending[np.abs(self._pending - row).max(axis=1) > _SAME]
        self._rows, self._values = np.vstack([self._rows, rows]), np.append(self._values, self._sign * found)

    def _told(self) -> int:
        """How many values."""
        if len(self._values) == 0:
            raise ValueError("nothing has been told yet")
        return len(self._values)

    def __repr__(self) -> str:
        so_far = f", best {self._sign * self._values.min():.6g}" if len(self._values) else ""
        return f"<oatgp.Optimizer: {self._space.d} inputs, {len(self._values)} evaluations{so_far}>"

    @property
    def best(self) -> Optimum:
        """The best result so far."""
        smooth = self._told() >= self._initial and self._noise and self._can_model
        place = int(np.argmin(self._expected(self._rows) if smooth else self._values))
        points = [self._space.from_cube(row) for row in self._rows]
        return Optimum(points[place], float(self._sign * self._values[place]), points, self._sign * self._values, self._seconds)

    # ---- the model of the function -----

    @property
    def model(self) -> Model:
        """The model of all values so far. Its inputs are scaled to the unit cube. Its target is the standardised value, negated with
        ``maximize``, so that small is good. Values with a long tail of bad ones are replaced by their logarithms."""
        return self._modelled()[0]

    @property
    def _can_model(self) -> bool:
        """Whether the values belong to two points or more; until then, points come from the design alone."""
        return len(self._rows) > 1 and bool(np.ptp(self._rows, axis=0).any())

    def _modelled(self) -> Tuple[Model, Array]:
        """The model, and the values on its scale."""
        n = self._told()
        if self._fitted is None or len(self._fitted[1]) != n:
            known = n - n % 2 ** max(0, int(math.log2(n)) - 6)  # parameters are found again for every 1 to 2 % more evaluations
            values = _standardise(self._values, self._noise)
            model = self._fit(self._rows[:known], values[:known])
            if known < n:
                model.update(self._space.data(self._rows[known:], values[known:]), threads=1)
            self._fitted = model, values
        return self._fitted

    def _expected(self, rows: Array) -> Array:
        return self.model.predict_mean(self._space.data(rows), threads=1)

    def _fit(self, rows: Array, values: Array) -> Model:
        """The best from several starts: long and short lengthscales."""
        settings: Dict[str, Any] = {
            **_MODEL,
            **(_NOISY if self._noise else _EXACT),
            **self._settings,
        }
        data = self._space.data(rows, values)
        root = math.sqrt(max(int(self._space.is_number.sum()), 1))
        with warnings.catch_warnings():  # warns of inputs close together, which are intended here
            warnings.simplefilter("ignore", OatgpWarning)
            models = [fit(data, **{**settings, "lengthscale": start * root}) for start in _LENGTHSCALES]
        return max(models, key=lambda model: model.objective)

    # ---- asked -----

    def ask(self, count: Optional[int] = None) -> Any:
        """The next point or, with a count, a list of that many points to be evaluated in parallel.

        Points that were asked for and not told yet count as known, with their expected values.
        """
        begin = time.perf_counter()
        points = [self._space.from_cube(self._next()) for _ in range(1 if count is None else whole_number(count, 0, "count"))]
        self._seconds += time.perf_counter() - begin
        return points[0] if count is None else points

    def _next(self) -> Array:
        at = len(self._values) + len(self._pending)
        rng = np.random.default_rng([self._seed, at])
        row: Array
        if at < self._initial:
            row = self._design[at]
        else:
            row = self._improve(rng) if self._can_model else self._space.spread(1, rng)[0]
        self._pending = np.vstack([self._pending, row])
        return row

    def _improve(self, rng: np.random.Generator) -> Array:
        """The point with the largest expected improvement."""
        model, values = self._modelled()
        expected = self._expected(self._rows) if self._noise else values
        best, order = float(expected.min()), np.argsort(expected, kind="stable")
        nearby = [self._space.near(self._rows[place], _CANDIDATES // 8, rng) for place in order[:4]]
        candidates = np.vstack([self._space.spread(_CANDIDATES, rng), *nearby])
        used = [self._space.labels.index(name) for name in model.inputs]
        imagined = self._expected(self._pending) if len(self._pending) else np.empty(0)
        best = min([best, *imagined])
        improvement = functools.partial(_log_improvement, self._imagine(model, imagined), self._space, used, best, self._noise)
        scores = improvement(candidates)[0]
        starts = candidates[np.argsort(-scores, kind="stable")[:_STARTS]]
        rows, found = _climb(improvement, starts, self._space.is_number)
        if self._space.grids:  # what was climbed to lies between their points
            rows = self._space.snap(rows)
            rows, scores = np.vstack([rows, candidates]), np.append(improvement(rows)[0], scores)
        else:
            scores = found
        return self._unlike(rows[np.argsort(-scores, kind="stable")], rng)

    def _imagine(self, model: Model, values: Array) -> Model:
        """The model as if the points that are being evaluated had these values."""
        if len(values) == 0:
            return model
        return model.copy().update(self._space.data(self._pending, values), threads=1)

    def _unlike(self, rows: Array, rng: np.random.Generator) -> Array:
        """The first row that is not known yet; for a function without noise, a known point would give no new information."""
        taken = np.vstack([self._rows, self._pending])
        new = [row for row in rows if self._noise or np.abs(taken - row).max(axis=1).min() > _SAME]
        found: Array = new[0] if new else self._space.spread(1, rng)[0]
        return found


def _number(value: Any) -> float:
    """Of an evaluation: a finite number, which may be in an array of one."""
    try:
        number = float(value if np.ndim(value) == 0 else np.reshape(value, ()))
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"a value is {value!r} but must be a finite number: leave a failed evaluation out, or give a bad value in its place")
    return number


def _failed(value: Any) -> bool:
    """Whether an evaluation has returned NaN."""
    return isinstance(value, (float, np.floating, np.ndarray)) and bool(np.isnan(value).all())


def _succeeded(points: List[Any], values: List[Any]) -> Tuple[List[Any], List[Any]]:
    """Points and values without the failed evaluations, which are reported."""
    kept = [i for i, value in enumerate(values) if not _failed(value)]
    if len(kept) == len(values) or len(points) != len(values):
        return points, values
    failed = ", ".join(str(point) for i, point in enumerate(points) if i not in kept)
    warn(f"the function is nan at {failed}, which is left out")
    return [points[i] for i in kept], [values[i] for i in kept]


def optimize(
    function: Callable[[Any], Any],
    bounds: Bounds,
    evaluations: int = 50,
    *,
    batch: int = 1,
    **options: Any,
) -> Optimum:
    """Minimises a function that takes long to evaluate, by Bayesian optimisation (``maximize=True``: maximises it).

    If an exception or Ctrl-C ends it before its time, the exception has the ``Optimum`` so far as ``result``, whose ``points`` and ``values``
    an ``Optimizer`` can be told.

    Parameters
    ----------
    function : callable
        Takes a point: an array, a list if there are ranges or categories, or a dict if the bounds are a mapping. With ``batch`` above 1, it takes a
        list of points and returns their values, which may be computed in parallel. A value of NaN says that an evaluation has failed; it is left
        out, with a warning.
    bounds : sequence or mapping
        For each input a pair (lowest, highest), a ``range`` of whole numbers, or a list of texts, which is a category.
    evaluations : int
        The number of evaluations.
    batch : int
        Points that are evaluated in parallel.
    **options
        Those of ``Optimizer``: ``maximize``, ``noise``, ``initial``, ``seed``, and settings of the model.

    >>> found = optimize(lambda x: (x[0] - 1) ** 2 + (x[1] + 0.5) ** 2, [(-2, 2), (-2, 2)], 20)
    >>> bool(found.y < 0.01)
    True
    """
    optimizer = Optimizer(bounds, **options)
    left, batch = whole_number(evaluations, 1, "evaluations"), whole_number(batch, 1, "batch")
    try:
        while left > 0:
            points = optimizer.ask(min(batch, left))
            values = [function(points[0])] if batch == 1 else function(points)
            if np.ndim(values) == 0:
                raise ValueError(f"the function has returned {values!r} for a list of {len(points)} points, and must return a value for each")
            optimizer.tell(*_succeeded(points, list(values)))
            left -= batch
    except BaseException as error:
        if len(optimizer._values) == 0:
            raise
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted("interrupted; the result of this exception is the optimum so far", optimizer.best) from None
        with contextlib.suppress(AttributeError):  # of an exception that takes no attributes
            error.result = optimizer.best  # type: ignore[attr-defined]
        raise
    return optimizer.best
