"""The estimator for regression, for scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, Tuple, Union, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._data import Data, name_of
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
        The model, with save, certify, leave-one-out and more.
    knots_ : array of shape (n_knots_, d), n_knots_ : int
        The knots, in the data's units. Inputs that were constant have no column (see ``model_.inputs``).
    kernel_ : str; sigma_, tau_ : float; lengthscales_ : array; parameters_ : dict
        Covariance, standard deviations of function and noise, and lengthscales in units of the standardised inputs; for an expression, its
        parameters by name.
    likelihood_parameters_ : dict
        For a likelihood other than the Gaussian (tau_ is then NaN): its own parameters by name, such as shape or degrees.
    elbo_ : float
        The log evidence of the model, without priors; for vfe and tvfe, a lower bound of that of the exact GP.
    log_evidence_bounds_ : (float, float)
        Lower and upper bound of the exact log evidence, if known.
    theta_ : array, theta_names_ : list of str
        Logarithms of all parameters of kernel and likelihood, in the order that ``log_marginal_likelihood`` takes, and their names.
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
    """For a model that adds rows in time proportional to their number, and does not hold them. The exact GP needs the square of all rows for
    each, and an averaged model holds its rows."""
    automatic = settings["select"] in (None, "auto") and all(settings[name] is None for name in ("knots", "max_knots", "preset"))
    settings = {**settings, "max_knots": _MOST_KNOTS} if automatic and settings["approx"] != "full" else settings
    return {**settings, "average": 0} if settings["average"] is None else settings


class OATGPRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    __doc__ = _DOC.format(keywords=KEYWORDS)

    model_: Model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # a fit that failed leaves other attributes

    def _rows_of(self, X: Any, y: Any, reset: bool, columns: Dict[str, Any]) -> Data:
        name = name_of(y)
        table, y = self._checked(X, y, reset, y_numeric=True, ensure_min_samples=2 if reset else 1)
        return Data(table, y, target=None if name in (table.names or ()) else name, **columns)

    def fit(self, X: Any, y: Any, noise_weight: Any = None, *, trials: Any = None, exposure: Any = None) -> "OATGPRegressor":
        """Fits to rows X with targets y.

        ``noise_weight`` has a positive number for each row, whose noise variance is tau^2 / weight. It is a precision, not how often the
        row counts. (With a ``likelihood`` other than the Gaussian, it is how often the row counts.) ``trials`` (binomial-logit) and
        ``exposure`` (poisson, negative-binomial, gamma) have one number for each row. Ctrl-C raises ``oatgp.Interrupted``, unless
        ``on_interrupt="return"``.
        """
        return self._fit(X, y, self._settings(), weights=noise_weight, trials=trials, exposure=exposure)

    def _fit(self, X: Any, y: Any, settings: Dict[str, Any], **columns: Any) -> "OATGPRegressor":
        data = self._rows_of(X, y, True, columns)
        self._rows = []
        self.model_ = fit(data, certify=self.certify, progress=self.progress, on_interrupt=self.on_interrupt, **settings)
        self._rows = [data]
        self.n_iter_ = max(self.model_.iterations, 1)
        return self

    def partial_fit(self, X: Any, y: Any, noise_weight: Any = None, *, trials: Any = None, exposure: Any = None) -> "OATGPRegressor":
        """The first call fits a model with knots, without averages; later calls add rows at its parameters and knots."""
        columns = {"weights": noise_weight, "trials": trials, "exposure": exposure}
        if not hasattr(self, "model_"):
            return self._fit(X, y, _keeping_to_knots(self._settings()), **columns)
        data = self._rows_of(X, y, False, columns)
        self._rows = []
        self.model_.update(data, threads=self.threads)
        return self

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[False] = ...,
        return_cov: Literal[False] = ...,
        interval: None = ...,
        latent: bool = ...,
        *,
        trials: Any = ...,
        exposure: Any = ...,
    ) -> Array: ...
    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[True],
        return_cov: Literal[False] = ...,
        interval: None = ...,
        latent: bool = ...,
        *,
        trials: Any = ...,
        exposure: Any = ...,
    ) -> Tuple[Array, Array]: ...
    @overload
    def predict(
        self, X: Any, *, return_cov: Literal[True], latent: bool = ..., trials: Any = ..., exposure: Any = ...
    ) -> Tuple[Array, Array]: ...
    @overload
    def predict(
        self, X: Any, *, interval: float, latent: bool = ..., trials: Any = ..., exposure: Any = ...
    ) -> Tuple[Array, Array, Array]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True], *, interval: float, latent: bool = ..., trials: Any = ..., exposure: Any = ...
    ) -> Tuple[Array, Array, Array, Array]: ...
    @overload
    def predict(
        self,
        X: Any,
        return_std: bool = ...,
        return_cov: bool = ...,
        interval: Optional[float] = ...,
        latent: bool = ...,
        *,
        trials: Any = ...,
        exposure: Any = ...,
    ) -> Union[Array, Tuple[Array, ...]]: ...

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
            raise ValueError("return_std and return_cov cannot both be True")
        rows, columns = self._inputs(X), {"trials": trials, "exposure": exposure}
        if return_cov and not latent and self.model_.likelihood != "gaussian":
            raise ValueError(
                f"with likelihood {self.model_.likelihood} the covariance is of the function alone: return_cov needs latent=True"
            )
        if not (return_std or return_cov or interval is not None):
            return self.model_.predict_mean(rows, latent=latent, threads=self.threads, **columns)
        full = self.model_.predict(rows, interval=interval, latent=latent, threads=self.threads, **columns)
        found = [full.mean]
        if return_std:
            found.append(full.sd_latent if latent else full.sd)
        if return_cov:
            noise = 0.0 if latent else self.model_._noise_variance
            found.append(self.model_.covariance(rows) + noise * np.eye(len(full.mean)))
        return tuple(found if interval is None else [*found, full.lower, full.upper])

    def effects(self, X: Any, over: Any = None) -> Effects:
        """The effects at the rows, for a kernel that is a sum: ``Model.effects``."""
        return self.model_.effects(self._inputs(X), None if over is None else self._inputs(over), threads=self.threads)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, latent: bool = False, *, trials: Any = None, exposure: Any = None
    ) -> Array:
        """Joint draws at the rows, one per column: observations, or with ``latent=True`` the function."""
        inputs, columns = self._inputs(X), {"trials": trials, "exposure": exposure}
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        draws: Array = self.model_.sample(inputs, n_samples, seed=seed, latent=latent, **columns).T
        return draws

    @overload
    def log_marginal_likelihood(self, theta: Any = ..., eval_gradient: Literal[False] = ..., clone_kernel: bool = ...) -> float: ...
    @overload
    def log_marginal_likelihood(self, theta: Any = ..., *, eval_gradient: Literal[True], clone_kernel: bool = ...) -> Tuple[float, Array]: ...
    @overload
    def log_marginal_likelihood(self, theta: Any, eval_gradient: Literal[True], clone_kernel: bool = ...) -> Tuple[float, Array]: ...

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Union[float, Tuple[float, Array]]:
        """The objective at the parameters whose logarithms are ``theta`` (default: ``theta_``), with the knots, the jitter and, unless it
        is estimated, the mean of the fit. For the full GP it is the log marginal likelihood, for vfe and tvfe a lower bound of it.

        With ``eval_gradient`` also its derivatives in theta. Needs the rows of the fit, which the estimator refers to until it is copied,
        pickled or updated. ``clone_kernel`` exists only for scikit-learn's signature and has no effect.
        """
        return self._likelihood_at(self._fitted(), theta, eval_gradient)

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
        return self._fitted().objective - self._fitted().log_prior

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
