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
