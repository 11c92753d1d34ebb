"""The estimator for regression, for scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._data import Data, refuse_masked
from ._estimator import KEYWORDS, Estimator
from ._model import Model, fit

if TYPE_CHECKING:
    from ._library import Array
    from ._results import Effects

_DOC = """Gaussian-process regression that chooses its own knots.

    {keywords}
    Attributes
    ----------
    model_ : Model
        The model itself: save, certify, leave-one-out and more.
    knots_ : array of shape (n_knots_, d), n_knots_ : int
        The knots, in the data's units. Inputs that were constant have no column (see ``model_.inputs``).
    kernel_ : str; sigma_, tau_ : float; lengthscales_ : array; parameters_ : dict
        Covariance, standard deviations of function and noise, and lengthscales in units of the standardised inputs; of an expression
        its parameters by name.
    likelihood_parameters_ : dict
        Of a likelihood other than the Gaussian, whose tau_ is NaN: its own parameters by name, as shape or degrees.
    elbo_ : float
        The objective; of vfe and tvfe, a lower bound of the log evidence.
    log_evidence_bounds_ : (float, float)
        Between which the exact log evidence is, as far as it is known.
    loo_ : dict
        Leave-one-out scores: mean_nlp, rmse, coverage95.
    trace_ : list of dict
        Every event of the fit; ``pandas.DataFrame(trace_)`` is a table.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from oatgp import OATGPRegressor
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> regressor = OATGPRegressor(kernel="se", knots=8, select="simultaneous").fit(x, np.sin(x).ravel())
    >>> bool(regressor.score(x, np.sin(x).ravel()) > 0.999)
    True
    """


#: The most knots of an automatic fit, which it has by itself; given, they keep it from ending as the exact GP.
_MOST_KNOTS = 1000


def _keeping_to_knots(settings: Dict[str, Any]) -> Dict[str, Any]:
    """For a model that takes in rows at a constant cost, which the exact GP cannot."""
    automatic = settings["select"] in (None, "auto") and all(settings[name] is None for name in ("knots", "max_knots", "preset"))
    return {**settings, "max_knots": _MOST_KNOTS} if automatic and settings["approx"] != "full" else settings


class OATGPRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    __doc__ = _DOC.format(keywords=KEYWORDS)

    model_: Model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # a fit that failed leaves other attributes

    def _checked(self, X: Any, y: Any, reset: bool) -> Tuple[Any, Any]:
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        checked: Tuple[Any, Any] = validate_data(
            self, X, y, reset=reset, dtype=np.float64, y_numeric=True, ensure_min_samples=2 if reset else 1
        )
        return checked

    def fit(self, X: Any, y: Any, noise_weight: Any = None, *, trials: Any = None, exposure: Any = None) -> "OATGPRegressor":
        """Fits to rows X with targets y.

        ``noise_weight`` has a positive number for each row, whose noise variance is tau^2 / weight: its precision, not how often it counts.
        With a ``likelihood`` other than the Gaussian, which has no such variance, it does count so often.
        ``trials`` (binomial-logit) and ``exposure`` (poisson, negative-binomial, gamma) have one number for each row.
        Ctrl-C raises ``oatgp.Interrupted``, unless ``on_interrupt="return"``.
        """
        return self._fit(X, y, self._settings(), weights=noise_weight, trials=trials, exposure=exposure)

    def _fit(self, X: Any, y: Any, settings: Dict[str, Any], **columns: Any) -> "OATGPRegressor":
        X, y = self._checked(X, y, True)
        data = Data(self._table(X), y, **columns)
        self.model_ = fit(data, certify=self.certify, progress=self.progress, on_interrupt=self.on_interrupt, **settings)
        self.n_iter_ = max(self.model_.iterations, 1)
        return self

    def partial_fit(self, X: Any, y: Any, noise_weight: Any = None, *, trials: Any = None, exposure: Any = None) -> "OATGPRegressor":
        """The first call fits a model that keeps to knots; later ones take in further rows at the parameters and knots that were found."""
        columns = {"weights": noise_weight, "trials": trials, "exposure": exposure}
        if not hasattr(self, "model_"):
            return self._fit(X, y, _keeping_to_knots(self._settings()), **columns)
        X, y = self._checked(X, y, False)
        self.model_.update(self._table(X), y, threads=self.threads, **columns)
        return self

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        interval: Optional[float] = None,
        latent: bool = False,
        *,
        trials: Any = None,
        exposure: Any = None,
    ) -> Union[Array, Tuple[Array, ...]]:
        """The mean; with ``return_std`` also the standard deviation, or with ``return_cov`` the joint covariance; with ``interval=0.95``
        also the lower and upper bounds of that interval. All are of observations, noise included; with ``latent=True`` of the function.

        With a ``likelihood`` other than the Gaussian the mean is the expected y (a probability, a count ...), for ``trials`` and ``exposure``
        of these rows, or 1; with ``latent=True`` it is that of the function, too. A joint covariance then is of the function alone."""
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be wanted")
        rows, columns = self._inputs(X), {"trials": trials, "exposure": exposure}
        if return_cov and not latent and self.model_.likelihood != "gaussian":
            raise ValueError(f"with likelihood {self.model_.likelihood} the covariance is of the function alone: return_cov needs latent=True")
        if not (return_std or return_cov or interval is not None):
            return self.model_.predict_mean(rows, latent=latent, threads=self.threads, **columns)
        full = self.model_.predict(rows, interval=interval, latent=latent, threads=self.threads, **columns)
        found = [full.mean]
        if return_std:
            found.append(full.sd_latent if latent else full.sd)
        if return_cov:
            noise = 0.0 if latent else self.model_.tau**2
            found.append(self.model_.covariance(rows) + noise * np.eye(len(full.mean)))
        return tuple(found if interval is None else [*found, full.lower, full.upper])

    def effects(self, X: Any, over: Any = None) -> Effects:
        """The effects at the rows, for a kernel that is a sum: ``Model.effects``."""
        return self.model_.effects(self._inputs(X), None if over is None else self._inputs(over), threads=self.threads)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, latent: bool = False, *, trials: Any = None, exposure: Any = None
    ) -> Array:
        """Joint draws at the rows, one a column: observations, or with ``latent=True`` the function."""
        inputs = self._inputs(X)
        generator = check_random_state(random_state)
        gaussian, seed = self.model_.likelihood == "gaussian", int(generator.randint(2**31 - 1))
        columns = {"trials": trials, "exposure": exposure}
        draws: Array = self.model_.sample(inputs, n_samples, seed=seed, latent=latent or gaussian, **columns).T
        if latent or not gaussian:
            return draws
        noise: Array = generator.standard_normal(draws.shape)
        return draws + self.model_.tau * noise

    # ---- what was found -------------------------------------------------------------------------------------------------

    @property
    def knots_(self) -> Array:
        return self._fitted().knots if self._fitted().n_knots else np.empty((0, len(self._fitted().inputs)))

    @property
    def n_knots_(self) -> int:
        return self._fitted().n_knots

    @property
    def kernel_(self) -> str:
        return self._fitted().kernel

    @property
    def sigma_(self) -> float:
        return self._fitted().sigma

    @property
    def tau_(self) -> float:
        return self._fitted().tau

    @property
    def parameters_(self) -> Dict[str, float]:
        return self._fitted().parameters

    @property
    def likelihood_parameters_(self) -> Dict[str, float]:
        return self._fitted().likelihood_parameters

    @property
    def lengthscales_(self) -> Array:
        return self._fitted().lengthscales

    @property
    def elbo_(self) -> float:
        return self._fitted().objective

    @property
    def log_evidence_bounds_(self) -> Tuple[float, float]:
        return self._fitted().bounds

    @property
    def loo_(self) -> Dict[str, float]:
        return self._fitted().loo_scores

    @property
    def trace_(self) -> List[Dict[str, Any]]:
        return self._fitted().trace

    def _fitted(self) -> Model:
        check_is_fitted(self)
        return self.model_
