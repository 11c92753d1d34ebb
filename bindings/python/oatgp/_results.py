"""The results that functions of the package return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar

import numpy as np

if TYPE_CHECKING:
    from ._library import Array

T = TypeVar("T")


def from_struct(kind: Type[T], struct: Any) -> T:
    """The fields of the struct that the class has."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: getattr(struct, name) for name in names})


#: More rows and columns than these are not printed.
_ROWS, _COLUMNS = 5, 8


def _beside(columns: Mapping[str, Any]) -> Dict[str, Array]:
    """A dict with an entry for each column of an array."""
    found: Dict[str, Array] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        found.update({name: array} if array.ndim == 1 else {f"{name}[{j}]": array[:, j] for j in range(array.shape[1])})
    return found


def _shown(what: str, columns: Mapping[str, Any]) -> str:
    """The first rows as a table, and the number of rows."""
    all_columns = _beside(columns)
    n = len(next(iter(all_columns.values()), []))
    cells = [[name, *(f"{value:.6g}" for value in values[:_ROWS])] for name, values in list(all_columns.items())[:_COLUMNS]]
    cells += [["..."] * (1 + min(n, _ROWS))] if len(all_columns) > _COLUMNS else []
    widths = [max(map(len, column)) for column in cells]
    lines = ["  ".join(f"{text:>{width}}" for text, width in zip(row, widths)) for row in zip(*cells)]
    return "\n".join([f"{what} of {n} row{'' if n == 1 else 's'}", *lines, *(["..."] if n > _ROWS else [])])


class Prediction(NamedTuple):
    """One value for each row, in the order of the command's columns; ``pandas.DataFrame(prediction._asdict())`` makes a table of it."""

    mean: Array
    sd_latent: Array  #: of the function
    sd: Array  #: of an observation
    lower: Array
    upper: Array

    def __repr__(self) -> str:
        return _shown("Prediction", self._asdict())

    @property
    def latent_mean(self) -> Array:
        """Of the function."""
        return self.mean

    @property
    def latent_sd(self) -> Array:
        """Of the function."""
        return self.sd_latent


class Answers(NamedTuple):
    """One value for each row of a model whose likelihood is not Gaussian, integrated over the function, in the order of the command's columns."""

    mean: Array  #: the probability of 1, the expected count or amount, the expected level
    sd: Array  #: of an answer
    lower: Array  #: quantiles of an answer; of 0 and 1, of its probability
    upper: Array
    latent_mean: Array  #: of the function, with the logarithm of the exposure
    latent_sd: Array

    def __repr__(self) -> str:
        return _shown("Answers", self._asdict())

    @property
    def sd_latent(self) -> Array:
        """``latent_sd``, by the name that it has in a Prediction."""
        return self.latent_sd


class Gradient(NamedTuple):
    """Predictions of the function with their derivatives in the inputs, a row for each row."""

    mean: Array
    sd_latent: Array  #: of the function
    d_mean: Array  #: rows x inputs
    d_sd_latent: Array  #: rows x inputs

    def __repr__(self) -> str:
        return _shown("Gradient", self._asdict())


class Effects(NamedTuple):
    """The summands of the model's covariance, by their names: ``pandas.DataFrame(effects.mean)`` has a column for each.

    An effect is centred: its average over rows is subtracted. The prediction is the prior mean, all centres and all effects added up."""

    mean: Dict[str, Array]
    sd: Dict[str, Array]  #: of the centred effect
    centre: Dict[str, float]  #: the average that was taken off
    share: Dict[str, float]  #: of the variance of all effects

    def __repr__(self) -> str:
        shares = ", ".join(f"{name} {share:.3g}" for name, share in self.share.items())
        return _shown("Effects", self.mean) + f"\nshares of the variance: {shares}"


class Sensitivity(NamedTuple):
    """Sobol' indices by the names of the inputs, the largest total first: shares of the variance of the function, as medians over functions
    drawn from the posterior. Bands are pairs (lower, upper)."""

    first: Dict[str, float]  #: that goes with the input alone
    total: Dict[str, float]  #: that the input has a part in, alone or together with others
    first_band: Dict[str, Tuple[float, float]]
    total_band: Dict[str, Tuple[float, float]]
    sd: float  #: of the function, where the inputs vary

    def __repr__(self) -> str:
        width = max([5, *map(len, self.first)])
        rows = [f"{'input':{width}}  {'first':>6}  {'band':>14}  {'total':>6}  {'band':>14}"]
        for name, total in self.total.items():
            bands = [f"{low:6.3f} to {high:.3f}" for low, high in (self.first_band[name], self.total_band[name])]
            rows.append(f"{name:{width}}  {self.first[name]:6.3f} {bands[0]:>15}  {total:6.3f} {bands[1]:>15}")
        return "\n".join(rows)


@dataclass(frozen=True, repr=False)
class Scores:
    """How well rows are predicted. Scores without a meaning for the likelihood are NaN. With a likelihood that is not Gaussian,
    probabilities (densities) are integrated over the function, and coverage is that of intervals between quantiles."""

    n: int
    rmse: float
    srmse: float  #: rmse / sd of the rows' targets
    mnlp: float  #: median of -log p(y)
    mean_nlp: float
    coverage50: float
    coverage80: float
    coverage90: float
    coverage95: float
    coverage99: float
    aukl_latent: float  #: mean KL divergence from the model ``against`` to this one, of the function; NaN without one
    aukl_observation: float  #: the same of observations
    log_loss: float  #: of 0 and 1: the mean_nlp
    brier: float  #: of 0 and 1: mean of (probability - answer)^2
    accuracy: float  #: share of rows whose most likely class is the observed one
    auc: float  #: of 0 and 1
    deviance: float  #: mean of 2 (largest possible log p(y) - log p(y)) of a likelihood that is not Gaussian

    def __repr__(self) -> str:
        known = {name: value for name, value in vars(self).items() if value == value}
        return f"Scores({', '.join(f'{name}={value:.6g}' for name, value in known.items())})"


class HeldOut(NamedTuple):
    """Predictions of rows by a model that has not seen them, and the scores of all."""

    mean: Array
    variance: Array  #: of an observation; 0 or infinite where the square of the target's unit is no number, as ``sd`` is not
    nlp: Array  #: -log p(y)
    residual: Array  #: (y - mean) / sd; with a likelihood other than the Gaussian, the normal quantile of P(Y < y) and half of P(Y = y)
    scores: Scores
    sd: Array  #: of an observation

    def __repr__(self) -> str:
        return _shown("HeldOut", {name: values for name, values in self._asdict().items() if name != "scores"}) + f"\n{self.scores!r}"


@dataclass(frozen=True)
class Certificate:
    """Bounds of the exact log evidence at the model's parameters: elbo <= lower <= log p(y) <= upper."""

    n: int
    elbo: float
    lower: float
    upper: float
    kl_at_most: float  #: upper - elbo: the KL divergence of the sparse posterior from the exact one is at most this
    kl_per_row: float
    exact: float  #: NaN unless it was asked for
    iterations: int
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """The objective at given parameters, and its gradient if requested."""

    objective: float
    sigma: float
    tau: float
    shape: float
    mean: float
    jitter: float
    lengthscales: Array
    gradient: Optional[Dict[str, Any]]  #: d/d log sigma ("sigma"), ... and d/d knots (in scaled units), or None
    parameters: Dict[str, float]  #: of a kernel that is an expression, by name; empty for others
    likelihood_parameters: Dict[str, float]  #: of a likelihood other than the Gaussian, for which tau is NaN; empty for the Gaussian
    log_prior: float = 0.0  #: the part of the objective that is the log density of the priors
