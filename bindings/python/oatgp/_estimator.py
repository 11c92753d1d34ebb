"""Shared by the estimators for scikit-learn."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted

from ._data import Data, Table, coded, no_number, refuse_masked
from ._library import nearest_of, plain
from ._model import Model
from ._settings import NAMES, NOT_OF_THE_ESTIMATOR, Keywords, parameters
from ._theta import evaluate, parameters_of

try:
    from sklearn.utils.validation import validate_data

    _NAMES_ALONE = {"skip_check_array": True}
except ImportError:  # before 1.6 it is a method
    _NAMES_ALONE = {"cast_to_ndarray": False}

    def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
        return estimator._validate_data(X, y, **checks)


if TYPE_CHECKING:
    from ._library import Array

KEYWORDS = """Every setting of ``oatgp fit`` is a keyword. None, the default of each, means the default given below, or the value of the
preset.

    Parameters
    ----------
    random_state : int, RandomState or None
        The seed of everything random in a fit. None is the library's seed, so that results repeat.
    certify : bool, default False
        Also bound the exact log evidence, of Gaussian likelihoods.
    progress : bool or callable, default False
        True: a line on standard error. A function is called with a dict for every event; the fit ends if it returns a true value.
    on_interrupt : {"raise", "return"}, default "raise"
        What Ctrl-C does to a fit. "raise": raises ``oatgp.Interrupted``, a KeyboardInterrupt whose ``result`` is the best model so far, so
        that a search over many fits ends, too. "return": keeps that model, with a warning.
""" + parameters("fit", without=NOT_OF_THE_ESTIMATOR)


@contextlib.contextmanager
def _texts_refused(X: Any) -> Iterator[None]:
    """With what to do about texts in an array, which scikit-learn's steps make of a data frame."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("could not convert string to float"):
            raise
        frame = "texts are categories in data frames, which a ColumnTransformer makes after .set_output(transform='pandas')"
        raise ValueError(f"X: {no_number(np.asarray(X, dtype=object))}; every value of an array must be a number; {frame}") from None


class Spelled:
    """Refuses an unknown keyword, and suggests the nearest one."""

    def set_params(self, **parameters: Any) -> Any:
        """As in scikit-learn."""
        known = inspect.signature(type(self).__init__).parameters
        for name in parameters:
            if "__" not in name and name not in known:
                raise ValueError(f"{type(self).__name__} has no setting '{name}'{nearest_of(name, known)}")
        return super().set_params(**parameters)  # type: ignore[misc]

    def __new__(cls, *unnamed: Any, **keywords: Any) -> "Spelled":
        known = inspect.signature(cls.__init__).parameters
        if unnamed:
            raise TypeError(f"{cls.__name__} has no arguments without a name; give settings by their names, such as knots=30")
        for name in keywords:
            if name not in known and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
                raise TypeError(f"{cls.__name__} has no setting '{name}'{nearest_of(name, known)}")
        return super().__new__(cls)


class Estimator(Keywords, Spelled, BaseEstimator):  # type: ignore[misc]
    """Settings, and inputs by the names of the fit."""

    #: The rows of the fit of each model, which a copy or a pickle does not have.
    _rows: List[Data]

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_rows"}

    def _seed(self) -> Optional[int]:
        if self.random_state is None:
            return None
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _settings(self) -> Dict[str, Any]:
        return plain({**{name: getattr(self, name) for name in NAMES}, "seed": self._seed()})

    def _checked(self, X: Any, y: Any, reset: bool, **checks: Any) -> Tuple[Table, Any]:
        """Inputs and target of a fit."""
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        frame = coded(X)
        if frame is None:
            with _texts_refused(X):
                X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, **checks)
            return self._table(X), y
        validate_data(self, X, reset=reset, **_NAMES_ALONE)
        X, y = check_X_y(frame.values, y, dtype=np.float64, **checks)
        return self._table(X, frame), y

    def _inputs(self, X: Any) -> Table:
        check_is_fitted(self)
        refuse_masked(X, "X")
        frame = coded(X)
        if frame is None:
            with _texts_refused(X):
                return self._table(validate_data(self, X, reset=False, dtype=np.float64))
        validate_data(self, X, reset=False, **_NAMES_ALONE)
        return self._table(check_array(frame.values, dtype=np.float64), frame)

    def _table(self, values: Any, frame: Optional[Table] = None) -> Table:
        """Rows with the names of the fit, by which the model finds the inputs in use, and with the levels of a frame that has texts."""
        names = getattr(self, "feature_names_in_", None)
        return Table(values, None if names is None else [str(name) for name in names], {} if frame is None else frame.levels)

    @property
    def theta_(self) -> Array:
        check_is_fitted(self)
        return np.log(list(parameters_of(self.model_).values()))

    @property
    def theta_names_(self) -> List[str]:
        check_is_fitted(self)
        return list(parameters_of(self.model_))

    def _likelihood_at(self, model: Model, theta: Any, eval_gradient: bool) -> Union[float, Tuple[float, Array]]:
        if theta is None and not eval_gradient:
            return model.objective - model.log_prior
        if not getattr(self, "_rows", None):
            raise ValueError("the rows of the fit are not available, because copies, pickles and partial_fit do not keep them; fit again")
        value, gradient = evaluate(model, self._rows[0], self.theta_ if theta is None else theta, eval_gradient)
        return (value, gradient) if eval_gradient else value
