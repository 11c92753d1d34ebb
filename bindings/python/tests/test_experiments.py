"""Few rows and computer experiments: derivatives of predictions, models that grow, functions drawn from the posterior."""

import numpy as np
import pytest

import oatgp

FEW = {"approx": "full", "max_iter": 10}


def test_derivatives_are_those_of_the_predictions(waves):
    X, y = waves
    for settings in (FEW, {"knots": 6, "select": "simultaneous", "max_iter": 5}):
        model = oatgp.fit(X, y, **settings)
        at = X[:7] + 0.05
        found, plain = model.predict_gradient(at), model.predict(at)
        assert np.allclose(found.mean, plain.mean, rtol=1e-12) and np.allclose(found.sd_latent, plain.sd_latent, rtol=1e-9)
        for j in range(X.shape[1]):
            step = np.zeros(X.shape[1])
            step[j] = 1e-5
            above, below = model.predict(at + step), model.predict(at - step)
            assert np.allclose(found.d_mean[:, j], (above.mean - below.mean) / 2e-5, atol=1e-6 * np.abs(found.d_mean).max())
            assert np.allclose(found.d_sd_latent[:, j], (above.sd_latent - below.sd_latent) / 2e-5, atol=1e-6 * np.abs(found.d_sd_latent).max())


def test_derivatives_of_names(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = oatgp.fit(frame, y, **FEW)
    assert (model.predict_gradient(frame[["b", "a"]]).d_mean == model.predict_gradient(X).d_mean).all()


def test_the_full_gp_grows_and_shrinks(waves):
    X, y = waves
    model = oatgp.fit(X[:80], y[:80], average=0, **FEW)
    whole = model.refit(X, y, max_iter=0)
    grown = model.update(X[80:100], y[80:100]).update(X[100:], y[100:])
    assert grown is model and model.n == len(y)
    assert np.allclose(model.predict(X).mean, whole.predict(X).mean, atol=1e-10)
    assert np.allclose(model.predict(X).sd, whole.predict(X).sd, atol=1e-10)
    assert abs(model.objective - whole.objective) < 1e-8
    model.remove(range(80, len(y)))
    assert model.n == 80 and np.allclose(model.predict(X).mean, whole.remove(np.arange(80, len(y))).predict(X).mean, atol=1e-9)
    with pytest.raises(ValueError, match="row 80 does not exist; the model has rows 0 to 79"):
        model.remove(80)
    with pytest.raises(ValueError, match="numbered from 0"):
        model.remove([-1])
    for wrong in ([0.5], [True, False]):
        with pytest.raises(TypeError, match="rows to remove are given by whole numbers, and not of the type"):
            model.remove(wrong)
    with pytest.raises(ValueError, match="cannot be removed from a sparse model"):
        oatgp.fit(X, y, knots=6, select="simultaneous", max_iter=2).remove(0)
    assert model.n == 80


def test_rows_in_thought(waves):
    X, y = waves
    model = oatgp.fit(X[:100], y[:100], average=0, **FEW)
    before = model.predict(X)
    found = model.predict(X, given=(X[100:], y[100:]))
    assert (model.predict(X).mean == before.mean).all() and model.n == 100
    model.update(X[100:], y[100:])
    after = model.predict(X)
    assert np.allclose(found.mean, after.mean, atol=1e-9) and np.allclose(found.upper, after.upper, atol=1e-9)
    assert (found.sd_latent < before.sd_latent + 1e-12).all()


def test_functions_are_the_posterior(waves):
    X, y = waves
    for settings in (FEW, {"knots": 6, "select": "simultaneous", "max_iter": 5}):
        model = oatgp.fit(X, y, **settings)
        at = X[:5] * 1.3
        draws = model.functions(4000, seed=2)
        values, expected = draws(at), model.predict(at)
        assert len(draws) == 4000 and values.shape == (4000, 5)
        assert (np.abs(values.mean(axis=0) - expected.mean) < 6 * expected.sd_latent / np.sqrt(4000)).all()
        assert np.allclose(np.cov(values.T), model.covariance(at), atol=0.15 * expected.sd_latent.max() ** 2)


def test_functions_are_the_same_everywhere(waves):
    X, y = waves
    model = oatgp.fit(X, y, **FEW)
    draws = model.functions(3, seed=4)
    values = draws(X)
    model.update(X[:3] + 5, y[:3])
    assert np.allclose(draws(X[::-1])[:, ::-1], values, atol=1e-10)
    step = np.array([1e-5, 0])
    slopes = (draws(X + step) - draws(X - step)) / 2e-5
    assert np.allclose(draws.gradient(X)[:, :, 0], slopes, atol=1e-5 * np.abs(slopes).max())
    del model
    assert np.allclose(draws(X), values, atol=1e-10)
    with pytest.raises(TypeError, match="Model.functions"):
        oatgp.Functions()
    with pytest.raises(ValueError, match="linear has no spectral form"):
        oatgp.fit(X, y, kernel="se(x1) + linear(x2)", **FEW).functions()
