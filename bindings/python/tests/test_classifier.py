"""The classifier keeps scikit-learn's rules."""

import math
import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import oatgp
from oatgp import OATGPClassifier, OATGPRegressor

FEW = {"knots": 6, "select": "simultaneous", "max_iter": 20}


@pytest.mark.filterwarnings("ignore::oatgp.OatgpWarning")
@parametrize_with_checks(
    [OATGPClassifier(), OATGPClassifier(likelihood="bernoulli-probit", **FEW), OATGPRegressor(likelihood="student-t", **FEW)]
)
def test_rules(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rings():
    """Two classes, one around the other, with some rows of each on the wrong side."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (150, 2))
    return X, np.where((X**2).sum(1) + 0.5 * rng.standard_normal(150) > 2, "out", "in")


@pytest.mark.parametrize("likelihood", [None, "bernoulli-probit"])
def test_two_classes_are_one_model(rings, likelihood):
    X, y = rings
    classifier = OATGPClassifier(likelihood=likelihood, random_state=7, **FEW).fit(X, y)
    model = oatgp.fit(X, y, likelihood=likelihood or "bernoulli-logit", seed=7, **FEW)
    assert classifier.classes_.tolist() == classifier.model_.classes == ["in", "out"]
    assert classifier.elbo_ == model.objective - model.log_prior and classifier.models_ == [classifier.model_]
    p = classifier.predict_proba(X)
    assert p[:, 1].tobytes() == model.predict(X).mean.tobytes() and p[:, 0].tobytes() == (1 - p[:, 1]).tobytes()
    np.testing.assert_allclose(classifier.decision_function(X), np.log(p[:, 1] / p[:, 0]), rtol=1e-9)
    assert ((classifier.decision_function(X) > 0) == (model.predict(X, latent=True).mean > 0)).all()
    assert classifier.predict(X).tolist() == np.where(p[:, 1] > 0.5, "out", "in").tolist()
    assert classifier.score(X, y) == model.score(X, y).accuracy > 0.85
    assert log_loss(y, p) == pytest.approx(model.score(X, y).log_loss, rel=1e-12)


def test_several_classes_are_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = OATGPClassifier(**FEW).fit(X, names)
    own = [OATGPClassifier(**FEW).fit(X, names == name).predict_proba(X)[:, 1] for name in classifier.classes_]
    expected = np.column_stack(own)
    np.testing.assert_allclose(classifier.predict_proba(X), expected / expected.sum(1, keepdims=True), atol=1e-12)
    assert classifier.decision_function(X).shape == (150, 3)
    assert (classifier.decision_function(X).argmax(1) == classifier.predict_proba(X).argmax(1)).all()
    assert classifier.score(X, names) > 0.95
    assert [model.classes[1] for model in classifier.models_] == classifier.classes_.tolist()
    with pytest.raises(AttributeError, match="with 3 classes there is no single model; the 3 models are in models_"):
        classifier.model_


@pytest.mark.parametrize("classes", [[False, True], [3, 7], [-1.0, 2.0], ["", "a"], ["10", "9"]])
def test_classes_of_any_kind(rings, classes):
    """Their order is that of numpy, also where that of their texts is another."""
    X, y = rings
    target = np.array(classes)[(y == "out").astype(int)]
    classifier = OATGPClassifier(**FEW).fit(X, target)
    assert classifier.classes_.tolist() == np.unique(target).tolist()
    assert set(classifier.predict(X)) == set(classes) and classifier.score(X, target) > 0.85


def test_weights_count_rows(rings):
    X, y = rings
    weights = np.arange(150) % 3
    again = np.repeat(np.arange(150), weights)
    weighted = OATGPClassifier(**FEW).fit(X, y, sample_weight=weights)
    repeated = OATGPClassifier(**FEW).fit(X[again], y[again])
    assert weighted.predict_proba(X).tobytes() == repeated.predict_proba(X).tobytes()
    assert weighted.model_.n == 100
    much = OATGPClassifier(**FEW).fit(X, y, sample_weight=np.where(y == "in", 10.0, 1.0))
    assert much.predict_proba(X)[:, 0].mean() > weighted.predict_proba(X)[:, 0].mean() + 0.1
    with pytest.raises(ValueError, match="sample_weight of row 2 is -1"):
        OATGPClassifier().fit(X, y, sample_weight=np.where(np.arange(150) == 1, -1.0, 1.0))


def test_in_scikit_learn(rings):
    X, y = rings
    pipeline = make_pipeline(StandardScaler(), OATGPClassifier(**FEW))
    assert cross_val_score(pipeline, X, y, cv=3, scoring="neg_log_loss").mean() > -0.5
    search = GridSearchCV(OATGPClassifier(**FEW), {"knots": [1, 8]}, cv=3, scoring="neg_log_loss", n_jobs=2).fit(X, y)
    assert search.best_params_ == {"knots": 8}
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict_proba(X).tobytes() == search.predict_proba(X).tobytes()
    copy = clone(again)
    assert copy.get_params() == again.get_params() and not hasattr(copy, "models_")


def test_refusals(rings):
    X, y = rings
    with pytest.raises(ValueError, match="likelihood is 'poisson', but that of classes must be one of bernoulli-logit, bernoulli-probit"):
        OATGPClassifier(likelihood="poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"the target has only one class, \['in'\]"):
        OATGPClassifier().fit(X, np.full(150, "in"))
    with pytest.raises(ValueError, match="certify is for Gaussian likelihoods"):
        OATGPClassifier(certify=True).fit(X, y)
    for call in (lambda c: c.predict(X), lambda c: c.predict_proba(X), lambda c: c.model_, lambda c: c.elbo_):
        with pytest.raises(NotFittedError):
            call(OATGPClassifier())


def test_a_regressor_of_counts():
    rng = np.random.default_rng(2)
    X, time = rng.uniform(-3, 3, (120, 1)), rng.uniform(1, 5, 120)
    y = rng.poisson(time * np.exp(np.sin(X[:, 0])))
    regressor = OATGPRegressor(likelihood="poisson", **FEW).fit(X, y, exposure=time)
    model = oatgp.fit(X, y, likelihood="poisson", exposure=time, **FEW)
    found = model.predict(X, exposure=time, interval=0.8)
    mean, sd, lower, upper = regressor.predict(X, return_std=True, interval=0.8, exposure=time)
    assert [part.tolist() for part in (mean, sd, lower, upper)] == [part.tolist() for part in found[:4]]
    assert regressor.predict(X).tolist() == model.predict(X).mean.tolist()
    latent, of_f = regressor.predict(X, return_std=True, latent=True), model.predict(X, latent=True)
    assert [part.tolist() for part in latent] == [of_f.mean.tolist(), of_f.sd_latent.tolist()]
    assert regressor.predict(X, latent=True).tolist() == model.predict_mean(X, latent=True).tolist()
    draws = regressor.sample_y(X[:4], 2000, exposure=time[:4])
    np.testing.assert_allclose(draws.mean(1), mean[:4], atol=0.3)
    assert regressor.sample_y(X[:4], latent=True).shape == (4, 1) and math.isnan(regressor.tau_)
    assert regressor.predict(X[:3], return_cov=True, latent=True)[1].tolist() == model.covariance(X[:3]).tolist()
    with pytest.raises(ValueError, match="return_cov needs latent=True"):
        regressor.predict(X, return_cov=True)
    assert regressor.partial_fit(X[:5], y[:5], exposure=time[:5]).model_.n == 125
    counts = OATGPRegressor(likelihood="negative-binomial", **FEW).fit(X, y)
    assert counts.likelihood_parameters_ == counts.model_.likelihood_parameters != {}


def test_log_marginal_likelihood(rings):
    """That of the fit at its parameters, and its derivatives against differences."""
    X, y = rings
    classifier = OATGPClassifier(**FEW).fit(X, y, sample_weight=1 + np.arange(150) % 2)
    assert (
        classifier.log_marginal_likelihood()
        == classifier.elbo_
        == pytest.approx(classifier.log_marginal_likelihood(classifier.theta_), rel=1e-6)
    )
    theta = classifier.theta_ + np.linspace(-0.2, 0.3, 3)
    gradient = classifier.log_marginal_likelihood(theta, eval_gradient=True)[1]
    assert classifier.theta_names_ == ["sigma", "lengthscale(x1)", "lengthscale(x2)"]
    for j, step in enumerate(1e-5 * np.eye(3)):
        difference = (classifier.log_marginal_likelihood(theta + step) - classifier.log_marginal_likelihood(theta - step)) / 2e-5
        assert gradient[j] == pytest.approx(difference, rel=1e-4, abs=1e-3)
    several = OATGPClassifier(**FEW).fit(X, np.arange(150) % 3)
    assert several.log_marginal_likelihood() == several.elbo_
    with pytest.raises(AttributeError, match="with 3 classes there is no single model; the 3 models are in models_"):
        several.log_marginal_likelihood(theta)


def test_texts_of_frames_are_categories(rings):
    pandas = pytest.importorskip("pandas")
    X, y = rings
    side = np.where(y == "in", "near", "far")
    frame = pandas.DataFrame({"a": X[:, 0], "side": side})
    classifier = OATGPClassifier(**FEW).fit(frame, pandas.Series(y, name="ring"))
    assert classifier.model_.levels == {"side": ["far", "near"]} and classifier.model_.target == "ring"
    assert classifier.score(frame, y) == 1
    some = frame[frame["side"] == "near"]  # levels are found by their texts, whatever codes they have here
    np.testing.assert_allclose(classifier.predict_proba(some), classifier.predict_proba(frame)[side == "near"], rtol=1e-9)
