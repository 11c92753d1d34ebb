"""Likelihoods as objects: how the target varies about the function (docs/likelihoods.md).

>>> from oatgp.likelihoods import Poisson, StudentT
>>> Poisson(), StudentT(degrees=4)
(poisson, student-t(degrees=4))

``likelihood=`` accepts them wherever it accepts a text. Given parameters are the start of a fit; ``fix=`` keeps them fixed.
"""

from __future__ import annotations

from typing import Dict, Optional

__all__ = [
    "BernoulliLogit",
    "BernoulliProbit",
    "Beta",
    "BinomialLogit",
    "Gamma",
    "Gaussian",
    "Likelihood",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "StudentT",
]


class Likelihood:
    """A likelihood of this module: its name, and the settings of those of its parameters that are given."""

    name: str

    def __init__(self) -> None:
        self.settings: Dict[str, float] = {}

    def _start(self, **settings: Optional[float]) -> None:
        self.settings = {name: value for name, value in settings.items() if value is not None}

    def __str__(self) -> str:
        given = ", ".join(f"{name[len('likelihood_') :] if '_' in name else name}={value:g}" for name, value in self.settings.items())
        return f"{self.name}({given})" if given else self.name

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Likelihood) and (self.name, self.settings) == (other.name, other.settings)

    def __hash__(self) -> int:
        return hash(str(self))


class _WithShape(Likelihood):
    def __init__(self, shape: Optional[float] = None) -> None:
        self._start(likelihood_shape=shape)


class Gaussian(Likelihood):
    """Any number: mean f, variance tau^2."""

    name = "gaussian"

    def __init__(self, tau: Optional[float] = None) -> None:
        self._start(tau=tau)


class BernoulliLogit(Likelihood):
    """Two classes: P(second) = 1 / (1 + exp(-f))."""

    name = "bernoulli-logit"


class BernoulliProbit(Likelihood):
    """Two classes: P(second) = Phi(f)."""

    name = "bernoulli-probit"


class BinomialLogit(Likelihood):
    """Successes of ``trials``, each of probability 1 / (1 + exp(-f))."""

    name = "binomial-logit"


class Poisson(Likelihood):
    """Counts: mean exp(f), times ``exposure``."""

    name = "poisson"


class NegativeBinomial(_WithShape):
    """Counts that vary more: mean exp(f), variance mean + mean^2 / shape."""

    name = "negative-binomial"


class Gamma(_WithShape):
    """Amounts above 0: mean exp(f), variance mean^2 / shape."""

    name = "gamma"


class StudentT(Likelihood):
    """Numbers with outliers: Student's t about f, with a scale in units of the target and degrees of freedom."""

    name = "student-t"

    def __init__(self, scale: Optional[float] = None, degrees: Optional[float] = None) -> None:
        self._start(likelihood_scale=scale, degrees=degrees)


class Beta(_WithShape):
    """Shares between 0 and 1: mean 1 / (1 + exp(-f))."""

    name = "beta"


class Ordinal(Likelihood):
    """Levels in an order: P(y <= j) = Phi(c_j - f)."""

    name = "ordinal"
