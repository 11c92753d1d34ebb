"""The estimator keeps scikit-learn's rules."""

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import oatgp
from oatgp import OATGPRegressor

FEW = {"knots": 6, "select": "simultaneous", "max_iter": 20}


@pytest.mark.filterwarnings("ignore::oatgp.OatgpWarning")
@parametrize_with_checks([OATGPRegressor(), OATGPRegressor(approx="fitc", kernel="matern32", mean="fit", knots=5, certify=True)])
def test_rules(estimator, check):
    check(estimator)


def test_is_the_same_fit(waves):
    X, y = waves
    regressor, model = OATGPRegressor(random_state=7, **FEW).fit(X, y), oatgp.fit(X, y, seed=7, **FEW)
    mean, sd, lower, upper = regressor.predict(X, return_std=True, interval=0.8)
    full = model.predict(X, interval=0.8)
    for mine, its in (
        (mean, full.mean),
        (sd, full.sd),
        (lower, full.lower),
        (upper, full.upper),
        (regressor.predict(X), model.predict_mean(X)),
    ):
        assert mine.tobytes() == its.tobytes()
    assert regressor.predict(X, return_std=True, latent=True)[1].tobytes() == full.sd_latent.tobytes()
    assert regressor.elbo_ == model.objective - model.log_prior and regressor.trace_[-1]["event"] == "end"
    assert regressor.knots_.tobytes() == model.knots.tobytes() and regressor.n_knots_ == 6
    assert (regressor.kernel_, regressor.tau_, regressor.sigma_, regressor.loo_) == (model.kernel, model.tau, model.sigma, model.loo_scores)
    assert regressor.lengthscales_.tolist() == model.lengthscales.tolist()


def test_every_setting_is_a_keyword_with_its_help():
    names = OATGPRegressor().get_params()
    for name in ("approx", "kernel", "select", "knots", "max_knots", "jitter", "threads", "random_state", "checkpoint"):
        assert name in names
        assert f"    {name} : " in OATGPRegressor.__doc__
    assert not {"target", "seed", "output", "json"} & names.keys()
    assert names.pop("on_interrupt") == "raise"
    assert all(value in (None, False) for value in names.values())
    assert 'approx : {full, dic, dtc, vfe, tvfe, fic, fitc, pep}, default "vfe"' in OATGPRegressor.__doc__
    assert 'jitter : float or "auto", default "auto"' in OATGPRegressor.__doc__
    assert 'average : int or "auto", default "auto"' in OATGPRegressor.__doc__


def test_covariance_and_draws(waves):
    X, y = waves
    regressor = OATGPRegressor(**FEW).fit(X, y)
    mean, covariance = regressor.predict(X[:6], return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), regressor.predict(X[:6], return_std=True)[1], rtol=1e-6)
    draws = regressor.sample_y(X[:6], 3000, random_state=2)
    assert draws.shape == (6, 3000)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.1 * covariance.max())
    latent = regressor.sample_y(X[:6], 3000, random_state=2, latent=True)
    assert latent.var() < draws.var()
    with pytest.raises(ValueError, match="cannot both"):
        regressor.predict(X, return_std=True, return_cov=True)


def test_weights_are_precisions(waves):
    """A weight of 4 halves the noise of the row; rows that are repeated would be something else. The automatic jitter depends on tau."""
    X, y = waves
    weighted = OATGPRegressor(fix="tau", tau=0.1, jitter=1e-6, **FEW).fit(X, y, noise_weight=np.full(120, 4.0))
    plain = OATGPRegressor(fix="tau", tau=0.05, jitter=1e-6, **FEW).fit(X, y)
    assert weighted.elbo_ == pytest.approx(plain.elbo_, rel=1e-9)


def test_bounds(waves):
    X, y = waves
    lower, upper = OATGPRegressor(certify=True, **FEW).fit(X, y).log_evidence_bounds_
    assert lower <= upper < np.inf
    assert OATGPRegressor(**FEW).fit(X, y).log_evidence_bounds_[1] == np.inf


def test_partial_fit_adds_rows(waves):
    X, y = waves
    regressor = OATGPRegressor(**FEW).partial_fit(X[:80], y[:80])
    first = regressor.model_.n, regressor.n_iter_
    regressor.partial_fit(X[80:], y[80:])
    assert first[0] == 80 and regressor.model_.n == 120
    expected = oatgp.fit(X[:80], y[:80], **FEW).update(X[80:], y[80:])
    assert regressor.predict(X).tobytes() == expected.predict_mean(X).tobytes()


def test_covariance_and_draws_of_averages(waves):
    """The noise differs between the draws of the parameters."""
    X, y = waves
    regressor = OATGPRegressor().fit(X[:20], y[:20])
    assert regressor.model_.average == 8
    sd = regressor.predict(X[20:26], return_std=True)[1]
    covariance = regressor.predict(X[20:26], return_cov=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=1e-9)
    draws = regressor.sample_y(X[20:26], 20000, random_state=2)
    np.testing.assert_allclose(draws.std(axis=1), sd, rtol=0.05)


def test_averages_as_a_keyword(waves):
    X, y = waves[0][:30], waves[1][:30]
    for average, draws in ((None, 8), ("auto", 8), (0, 0), (3, 3)):
        regressor = OATGPRegressor(average=average)
        assert clone(regressor).get_params()["average"] == average
        assert clone(regressor).fit(X, y).model_.average == draws
        assert clone(regressor).partial_fit(X, y).model_.average == (draws if average is not None else 0)


@pytest.mark.filterwarnings("ignore::oatgp.OatgpWarning")  # few knots
def test_partial_fit_keeps_to_knots(waves):
    """The exact GP, which a fit to few rows may end as, takes in rows at the square of their number. What else is said of knots stays as it is."""
    X, y = waves
    exact = OATGPRegressor(tol_row=0).fit(X[:80], y[:80])
    assert (exact.model_.approx, exact.knots_.shape) == ("full", (0, 2))
    exact.partial_fit(X[80:], y[80:])
    assert (exact.model_.approx, exact.model_.n) == ("full", 120)
    regressor = OATGPRegressor(tol_row=0).partial_fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    assert (regressor.model_.approx, regressor.model_.n) == ("vfe", 120)
    for said in ({"max_knots": 7}, {"knots": 7}, {"preset": "paper", "max_iter": 5}, {"select": "variance"}, {"approx": "full"}):
        first, plain = (OATGPRegressor(**said).partial_fit(X, y), OATGPRegressor(average=0, **said).fit(X, y))
        assert first.model_.settings == plain.model_.settings


def test_names_of_frames(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame({"left": X[:, 0], "constant": np.ones(120), "right": X[:, 1]})
    regressor = OATGPRegressor(**FEW).fit(frame, pandas.Series(y))
    assert list(regressor.feature_names_in_) == ["left", "constant", "right"]
    assert regressor.model_.inputs == ["left", "right"]
    assert regressor.predict(frame).tolist() == OATGPRegressor(**FEW).fit(X, y).predict(X).tolist()
    regressor.partial_fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(frame[["right", "left", "constant"]])


def test_names_of_polars(waves):
    polars = pytest.importorskip("polars")
    X, y = waves
    regressor = OATGPRegressor(**FEW).fit(polars.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y)
    assert list(regressor.feature_names_in_) == ["a", "b"]


def test_in_scikit_learn(waves):
    X, y = waves
    pipeline = make_pipeline(StandardScaler(), OATGPRegressor(**FEW))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(OATGPRegressor(select="simultaneous", max_iter=20), {"knots": [2, 8], "kernel": ["se", None]}, cv=3, n_jobs=2)
    assert search.fit(X, y).best_params_["knots"] == 8
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(X).tobytes() == search.predict(X).tobytes()
    copy = clone(again)
    assert copy.get_params() == again.get_params() and not hasattr(copy, "model_")


@pytest.mark.parametrize("search", [cross_val_score, lambda r, X, y: GridSearchCV(r, {"knots": [5, 6]}).fit(X, y)])
def test_ctrl_c_ends_a_search(waves, search):
    """It is not the fold alone that ends: its half-fitted model would be scored and the search would go on."""
    X, y = waves
    fits = []

    def press(event):
        fits.extend([event] if event["event"] == "start" else [])
        if len(fits) == 2 and event["iteration"] == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        search(OATGPRegressor(progress=press, **FEW), X, y)
    assert len(fits) == 2 and raised.value.result.stop == "user"
    fits.clear()
    regressor = OATGPRegressor(progress=press, on_interrupt="return", **FEW).fit(X, y)
    with pytest.warns(oatgp.OatgpWarning, match="interrupted"):
        assert regressor.fit(X, y).model_.stop == "user"


def test_masked_values_are_refused(waves):
    X, y = (np.ma.array(part) for part in waves)
    regressor = OATGPRegressor(**FEW).fit(X, y)
    X[3, 1] = np.ma.masked
    y[4] = np.ma.masked
    for use in (regressor.fit, regressor.partial_fit, lambda rows, _: regressor.predict(rows), lambda rows, _: regressor.sample_y(rows)):
        with pytest.raises(ValueError, match="X: 1 value is masked, in row 4, column 2"):
            use(X, waves[1])
    for use in (regressor.fit, regressor.partial_fit):
        with pytest.raises(ValueError, match="y: 1 value is masked, in row 5"):
            use(waves[0], y)
        with pytest.raises(ValueError, match="weights: 1 value is masked, in row 5"):
            use(*waves, noise_weight=abs(y) + 1)
    assert regressor.model_.n == 120


def test_not_fitted():
    for call in (lambda r: r.predict([[1.0]]), lambda r: r.knots_, lambda r: r.sample_y([[1.0]])):
        with pytest.raises(NotFittedError):
            call(OATGPRegressor())


def test_refusals_come_with_the_fit(waves):
    regressor = OATGPRegressor(approx="best")
    with pytest.raises(ValueError, match="approx is 'best' but must be one of"):
        regressor.fit(*waves)
    with pytest.raises(NotFittedError):
        regressor.predict(waves[0])


def test_seeds(waves):
    X, y = waves
    settings = {"knots": "random:6", "select": "simultaneous", "max_iter": 5}
    elbos = [
        OATGPRegressor(random_state=state, **settings).fit(X, y).elbo_ for state in (None, 1, 2, np.random.RandomState(0), np.int64(2))
    ]
    assert elbos[0] == elbos[1] and elbos[2] == elbos[4] and len(set(elbos)) == 3


def test_without_scikit_learn(tmp_path):
    (tmp_path / "sklearn.py").write_text("raise ModuleNotFoundError('no sklearn here')")
    script = "import oatgp\nfrom oatgp import *\ntry:\n  oatgp.OATGPRegressor\nexcept ImportError as error:\n  print(error)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert "pip install 'oatgp[sklearn]'" in done.stdout


def test_effects(waves):
    X, y = waves
    X = np.column_stack([X, np.cos(3 * X)])
    regressor = OATGPRegressor(kernel="se(x1) + linear(x2)", **FEW).fit(X, y)
    found = regressor.effects(X[:20], over=X)
    assert found.mean["linear(x2)"].tolist() == regressor.model_.effects(X[:20], over=X).mean["linear(x2)"].tolist()


def test_texts_of_frames_are_categories():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    group = np.arange(90) % 3
    frame = pandas.DataFrame({"x": rng.uniform(-2, 2, 90), "group": np.array(["red", "green", "blue"])[group]})
    y = np.sin(2 * frame["x"].to_numpy()) + 2 * (group == 1)
    for kind in ("object", "category"):
        table = frame.astype({"group": kind})
        regressor = OATGPRegressor(knots=20, select="simultaneous").fit(table, pandas.Series(y, name="height"))
        assert regressor.model_.levels == {"group": ["blue", "green", "red"]} and regressor.model_.target == "height"
        assert list(regressor.feature_names_in_) == ["x", "group"] and regressor.n_features_in_ == 2
        some = table[table["group"] == "green"]  # levels are found by their texts, whatever codes they have here
        np.testing.assert_allclose(regressor.predict(some), regressor.predict(table)[group == 1], rtol=1e-9)
        assert regressor.score(table, y) > 0.99
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(table[["group", "x"]])
    with pytest.raises(ValueError, match="column 'group': the category of row 2 is missing"):
        regressor.fit(frame.assign(group=["a", None] * 45), y)


def test_what_an_estimator_cannot_take_comes_with_a_remedy(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame({"a": X[:, 0], "g": ["u", None] * 60})
    with pytest.raises(ValueError, match="column 'g': the category of row 2 is missing; fill it in, or leave such rows out$"):
        OATGPRegressor().fit(frame, y)
    objects = np.array([[1.0, "u"], [2.0, "v"]] * 60, dtype=object)
    fitted = OATGPRegressor(knots=4, select="simultaneous", max_iter=2).fit(X, y)
    for call in (lambda: OATGPRegressor().fit(objects, y), lambda: fitted.predict(objects)):
        with pytest.raises(ValueError, match=r"X: row 1, column 2, is 'u'; every value of an array must be a number; .*set_output"):
            call()


def test_log_marginal_likelihood_with_categories():
    pandas = pytest.importorskip("pandas")
    x = np.linspace(0, 6, 60)
    frame = pandas.DataFrame({"x": x, "g": pandas.Categorical(["u", "v", "w"] * 20, ["w", "u", "v"])})
    fitted = OATGPRegressor(knots=8, select="simultaneous", max_iter=20).fit(frame, np.sin(x) + np.arange(60) % 3)
    value, slopes = fitted.log_marginal_likelihood(fitted.theta_, eval_gradient=True)
    assert abs(value - fitted.elbo_) < 1e-6
    step = np.zeros(len(slopes))
    step[0] = 1e-5
    up, down = (fitted.log_marginal_likelihood(fitted.theta_ + sign * step) for sign in (1, -1))
    assert abs((up - down) / 2e-5 - slopes[0]) < 1e-3


def test_lazy_frames_are_refused(waves):
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"the inputs are a lazy frame \(polars.LazyFrame\), whose rows .*: get them by .collect\(\)"):
        OATGPRegressor().fit(polars.DataFrame({"a": waves[0][:, 0]}).lazy(), waves[1])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "rq-ard", **FEW},
        {"kernel": "se(x1) + linear(x2)", **FEW},
        {"approx": "full", "mean": "linear"},
        {"approx": "fitc", "kernel": "matern32", "knots": 10},
        {"likelihood": "student-t", **FEW},
        {"neighbours": 5, "approx": "fitc", "knots": 5},
    ],
)
def test_log_marginal_likelihood(waves, settings):
    """That of the fit at its parameters, and its derivatives against differences."""
    X, y = waves
    regressor = OATGPRegressor(**settings).fit(X, y)
    theta = regressor.theta_
    assert len(theta) == len(regressor.theta_names_) and regressor.log_marginal_likelihood() == regressor.elbo_
    assert regressor.log_marginal_likelihood(theta) == pytest.approx(regressor.elbo_, rel=1e-6)
    theta = theta + np.linspace(-0.2, 0.3, len(theta))
    value, gradient = regressor.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == regressor.log_marginal_likelihood(theta) and gradient.shape == theta.shape
    for j, step in enumerate(1e-5 * np.eye(len(theta))):
        difference = (regressor.log_marginal_likelihood(theta + step) - regressor.log_marginal_likelihood(theta - step)) / 2e-5
        assert gradient[j] == pytest.approx(difference, rel=1e-4, abs=1e-3), regressor.theta_names_[j]
    with pytest.raises(ValueError, match=f"theta has 1 numbers, and the model {len(theta)} parameters: "):
        regressor.log_marginal_likelihood([0.0])
    with pytest.raises(ValueError, match="the rows of the fit are not available, because copies, pickles and partial_fit do not keep them"):
        pickle.loads(pickle.dumps(regressor)).log_marginal_likelihood(theta)


def test_the_log_marginal_likelihood_of_scikit_learn(waves):
    """The same parameters, the same rows: the same number and the same slopes."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X, y = waves
    X = (X - X.mean(0)) / X.std(0)
    regressor = OATGPRegressor(approx="full", kernel="se-ard", mean=0, scale=False).fit(X, y)
    theta = regressor.theta_ + [0.1, -0.2, 0.3, 0.2]
    sigma, first, second, tau = np.exp(theta)
    kernel = ConstantKernel(sigma**2) * RBF([first, second]) + WhiteKernel(tau**2)
    other = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(X, y)
    value, gradient = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    mine, slopes = regressor.log_marginal_likelihood(theta, eval_gradient=True)
    assert mine == pytest.approx(value, rel=1e-8)
    theirs = gradient * [2, 1, 1, 2]  # in log sigma and log tau, not in the logarithms of their squares
    np.testing.assert_allclose(slopes, theirs, rtol=1e-6)


def test_misspelt_keywords_suggest():
    with pytest.raises(TypeError, match="OATGPRegressor has no setting 'kernl' .the nearest name is 'kernel'."):
        OATGPRegressor(kernl="se")
    assert {"OATGPRegressor", "OATGPClassifier", "fit"} <= set(dir(oatgp))


def test_objects_are_settings(waves):
    from oatgp.kernels import SE, Linear
    from oatgp.likelihoods import StudentT

    X, y = waves
    by_object = OATGPRegressor(kernel=SE("x1") + Linear("x2"), likelihood=StudentT(degrees=5), fix="degrees", **FEW)
    by_text = OATGPRegressor(kernel="se(x1) + linear(x2)", likelihood="student-t", degrees=5, fix="degrees", **FEW)
    assert clone(by_object).fit(X, y).elbo_ == by_text.fit(X, y).elbo_
    assert by_text.likelihood_parameters_["degrees"] == 5
