"""The estimator for classification, for scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, Tuple, Union, overload

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ._data import Data, Table, level, name_of, refuse_masked
from ._estimator import KEYWORDS, Estimator
from ._model import Model, fit

if TYPE_CHECKING:
    from ._library import Array

_LIKELIHOODS = ("bernoulli-logit", "bernoulli-probit")
#: The least probability of a class before the others are taken into account, so that a row has some of one.
_LEAST = 1e-300

_DOC = """Gaussian-process classification that chooses its own knots.

    Two classes are one model with the likelihood bernoulli-logit (default) or bernoulli-probit. Several classes are one against the rest: a
    model for each class separates it from all others, and the probabilities of a row are divided by their sum. Probabilities are integrated
    over the function, so far from all rows they are near the share of the class.

    {keywords}
    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    models_ : list of Model
        One model for two classes, whose probability is that of ``classes_[1]``; else one for each class.
    model_ : Model
        Of two classes: the model itself.
    elbo_ : float
        The objective, of all models together; of vfe and tvfe, a lower bound of the log evidence.
    theta_ : array, theta_names_ : list of str
        Of two classes: logarithms of all parameters of the kernel, in the order that ``log_marginal_likelihood`` takes, and their names.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from oatgp import OATGPClassifier
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.where(np.sin(x.ravel()) > 0, "up", "down")
    >>> classifier = OATGPClassifier(knots=8, select="simultaneous").fit(x, y)
    >>> classifier.classes_.tolist(), float(classifier.score(x, y)) > 0.9
    (['down', 'up'], True)
    >>> classifier.predict_proba([[1.5], [4.5]]).round(1).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """


def _put_together(X: Array, codes: Array, weights: Optional[Array]) -> Tuple[Array, Array, Optional[Array]]:
    """Merges equal rows into one row that counts as often, so that a row repeated k times and a row of weight k are the same data."""
    rows, place = np.unique(np.column_stack([X, codes]), axis=0, return_inverse=True)
    if weights is None and len(rows) == len(X):
        return X, codes, None
    return rows[:, :-1], rows[:, -1], np.bincount(place.ravel(), weights=weights, minlength=len(rows)).astype(np.float64)


class OATGPClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    __doc__ = _DOC.format(keywords=KEYWORDS)

    classes_: Any
    models_: List[Model]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")  # a fit that failed leaves other attributes

    def _class_settings(self) -> Dict[str, Any]:
        settings = self._settings()
        settings["likelihood"] = settings["likelihood"] or _LIKELIHOODS[0]
        if settings["likelihood"] not in _LIKELIHOODS:
            raise ValueError(f"likelihood is {self.likelihood!r}, but that of classes must be one of {', '.join(_LIKELIHOODS)}")
        return settings

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OATGPClassifier":
        """Fits to rows X with classes y. ``sample_weight`` says how often each row counts; rows of weight 0 are left out.

        Equal rows are merged into one row with the sum of their weights. Ctrl-C raises ``oatgp.Interrupted``, unless
        ``on_interrupt="return"``.
        """
        settings = self._class_settings()
        name = name_of(y)
        table, y = self._checked(X, y, True, ensure_min_samples=2)
        X = table.values
        check_classification_targets(y)
        weights = None if sample_weight is None else self._weights(sample_weight, X)
        if weights is not None:
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        classes, places = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"the target has only one class, {classes.tolist()}: a classifier needs two or more classes")
        X, codes, weights = _put_together(X, places.astype(np.float64), weights)
        pairs = [(1, list(classes))] if len(classes) == 2 else [(k, [f"not {c}", c]) for k, c in enumerate(classes)]
        target = None if name in (table.names or ()) else name
        rows = Table(X, table.names, table.levels)
        data = [self._data_of(rows, codes == code, names, weights, target) for code, names in pairs]
        self.models_ = [
            fit(part, certify=self.certify, progress=self.progress, on_interrupt=self.on_interrupt, **settings) for part in data
        ]
        self._rows = data
        self.classes_ = classes
        self.n_iter_ = max(max(model.iterations for model in self.models_), 1)
        return self

    def _weights(self, sample_weight: Any, X: Array) -> Array:
        refuse_masked(sample_weight, "sample_weight")
        weights: Array = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            row = int(np.argmax(weights < 0))
            raise ValueError(f"sample_weight of row {row + 1} is {weights[row]:g}; it says how often the row counts, and cannot be below 0")
        return weights

    def _data_of(self, rows: Table, is_class: Any, names: List[Any], weights: Optional[Array], target: Optional[str]) -> Data:
        """A model that separates a class from the others, with their names."""
        texts = [level(name) or repr(name) for name in names]  # the library knows no empty ones
        y = np.array(texts, dtype=object)[is_class.astype(int)]
        return Data(rows, y, target=target, weights=weights, classes=texts)

    def _probabilities(self, X: Any) -> Array:
        """The means of the models, one per column."""
        rows = self._inputs(X)
        return np.column_stack([model.predict_mean(rows, threads=self.threads) for model in self.models_])

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, one per column, in the order of ``classes_``."""
        found = self._probabilities(X)
        if len(self.models_) == 1:
            return np.column_stack([1 - found, found])
        found = np.maximum(found, _LEAST)
        shares: Array = found / found.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Any) -> Any:
        """The most likely class of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]

    def decision_function(self, X: Any) -> Array:
        """The log odds of each class by its own model; the class with the largest is the likeliest. With two classes there is one column,
        the log odds of ``classes_[1]``, which is above 0 where that class is more likely. They are log odds of the probabilities. Where the
        function is uncertain, they are nearer to 0 than its mean (``model_.predict(X, latent=True)``)."""
        found = self._probabilities(X)
        odds: Array = np.log(np.maximum(found, _LEAST)) - np.log1p(-np.minimum(found, 1 - np.finfo(float).epsneg))
        return odds.ravel() if len(self.models_) == 1 else odds

    @overload
    def log_marginal_likelihood(self, theta: Any = ..., eval_gradient: Literal[False] = ..., clone_kernel: bool = ...) -> float: ...
    @overload
    def log_marginal_likelihood(self, theta: Any = ..., *, eval_gradient: Literal[True], clone_kernel: bool = ...) -> Tuple[float, Array]: ...
    @overload
    def log_marginal_likelihood(self, theta: Any, eval_gradient: Literal[True], clone_kernel: bool = ...) -> Tuple[float, Array]: ...

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Union[float, Tuple[float, Array]]:
        """``elbo_``; of two classes also at other parameters, as ``OATGPRegressor.log_marginal_likelihood``."""
        return self.elbo_ if theta is None and not eval_gradient else self._likelihood_at(self.model_, theta, eval_gradient)

    @property
    def model_(self) -> Model:
        check_is_fitted(self)
        if len(self.models_) > 1:
            raise AttributeError(f"with {len(self.classes_)} classes there is no single model; the {len(self.models_)} models are in models_")
        return self.models_[0]

    @property
    def elbo_(self) -> float:
        check_is_fitted(self)
        return sum(model.objective - model.log_prior for model in self.models_)
