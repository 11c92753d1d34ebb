"""What functions of the package return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Type, TypeVar

if TYPE_CHECKING:
    from ._library import Array

T = TypeVar("T")


def from_struct(kind: Type[T], struct: Any) -> T:
    """Of the struct's fields those that the class has."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: getattr(struct, name) for name in names})


class Prediction(NamedTuple):
    """One value for each row, in the order of the command's columns; ``pandas.DataFrame(prediction._asdict())`` makes a table of it."""

    mean: Array
    sd_latent: Array  #: of the function
    sd: Array  #: of an observation
    lower: Array
    upper: Array

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


class Effects(NamedTuple):
    """The summands of the model's covariance, by their names: ``pandas.DataFrame(effects.mean)`` has a column for each.

    An effect is centred: its average over rows is taken off. The prediction is the prior mean, all centres and all effects added up."""

    mean: Dict[str, Array]
    sd: Dict[str, Array]  #: of the centred effect
    centre: Dict[str, float]  #: the average that was taken off
    share: Dict[str, float]  #: of the variance of all effects


@dataclass(frozen=True)
class Scores:
    """How well rows are predicted. What has no meaning for the likelihood is NaN; with one that is not Gaussian, probabilities (densities) are
    integrated over the function, and coverage is that of intervals between quantiles."""

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
    accuracy: float  #: share of rows that have the likeliest class
    auc: float  #: of 0 and 1
    deviance: float  #: mean of 2 (log p(y) at its largest - log p(y)) of a likelihood that is not Gaussian


class HeldOut(NamedTuple):
    """Rows as a model predicts them that has not seen them, and the scores of all."""

    mean: Array
    variance: Array  #: of an observation; 0 or infinite where the square of the target's unit is no number, as ``sd`` is not
    nlp: Array  #: -log p(y)
    residual: Array  #: (y - mean) / sd; with a likelihood other than the Gaussian, the normal quantile of P(Y < y) and half of P(Y = y)
    scores: Scores
    sd: Array  #: of an observation


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
    """The objective at given parameters, and its gradient if asked for."""

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
