"""The package and the command are the same thing: the same files, the same bits."""

import csv
import io
import json

import numpy as np
import pytest

import oatgp

from conftest import BOSTON

# What differs between two runs of the same fit: times, and the command line that is kept.
TIMES = {"seconds", "history", "selection"}
SETTINGS = [
    {},
    {"select": "oat-gain", "max_knots": 12, "kernel": "matern52-ard"},
    {"approx": "fitc", "knots": "random:10", "mean": "fit", "seed": 4},
    {"approx": "tvfe", "knots": 8, "max_iter": 30},
    {"knots": 10, "max_iter": 20, "average": 3},
]


def options(settings):
    return [part for name, value in settings.items() for part in ("--" + name.replace("_", "-"), str(value))]


def expect_same(parts, first, second, but=()):
    """Two model files hold the same bits, but for times."""
    (texts, arrays), (other_texts, others) = parts(first), parts(second)
    assert arrays.keys() - set(but) == others.keys() - set(but)
    for name in arrays.keys() - TIMES - set(but):
        assert arrays[name].tobytes() == others[name].tobytes(), name
    assert arrays["history"].reshape(-1, 3)[:, :2].tobytes() == others["history"].reshape(-1, 3)[:, :2].tobytes()
    for name in texts.keys() - {"command", "checksum", "settings", "target", "inputs"}:
        assert texts[name] == other_texts[name], name


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("threads", [1, 2])
def test_fit_has_the_bits_of_the_command(command, parts, tmp_path, settings, threads):
    mine, its = tmp_path / "mine", tmp_path / "its"
    command("fit", BOSTON, "--target", "medv", "--quiet", "--threads", threads, "-o", its, *options(settings))
    model = oatgp.fit(BOSTON, target="medv", threads=threads, **settings)
    model.save(mine)
    expect_same(parts, mine, its)
    assert model.settings == oatgp.Model.load(its).settings
    assert model.target == "medv"


def test_arrays_have_the_bits_of_the_file(boston, parts, tmp_path):
    mine, its = tmp_path / "mine", tmp_path / "its"
    oatgp.fit(*boston).save(mine)
    oatgp.fit(BOSTON, target="medv").save(its)
    # a file has places of columns and a header, an array has not
    expect_same(parts, mine, its, but=("positions", "has_header", "file_columns", "target_column"))


def test_predictions_have_the_bits_of_the_command(command, boston, tmp_path):
    path = tmp_path / "model"
    model = oatgp.fit(BOSTON, target="medv", knots=10, max_iter=20)
    model.save(path)
    for extra, found in (
        ([], model.predict(boston[0])),
        (["--interval", "0.5", "--latent"], model.predict(BOSTON, interval=0.5, latent=True)),
    ):
        rows = list(csv.DictReader(io.StringIO(command("predict", path, BOSTON, *extra))))
        for name, values in found._asdict().items():
            assert [float(row[name]) for row in rows] == values.tolist(), name
    rows = command("predict", path, BOSTON, "--mean-only").split()[1:]
    assert [float(row) for row in rows] == model.predict_mean(boston[0]).tolist()


def test_other_verbs_have_the_numbers_of_the_command(command, boston, tmp_path):
    path = tmp_path / "model"
    settings = {"knots": "10", "max_iter": 20}
    model = oatgp.fit(BOSTON, target="medv", **settings)
    model.save(path)
    scores = json.loads(command("score", path, BOSTON, "--json"))
    assert scores["rmse"] == model.score(*boston).rmse == model.score(BOSTON).rmse
    loo = json.loads(command("loo", path, BOSTON, "--json"))
    assert loo["mean_nlp"] == model.loo(*boston).scores.mean_nlp
    bounds = json.loads(command("certify", path, BOSTON, "--json", "--quiet"))
    found = model.certify(BOSTON)
    assert (bounds["lower"], bounds["upper"]) == (found.lower, found.upper) == model.bounds
    folds = json.loads(command("cv", BOSTON, "--target", "medv", "--folds", 3, "--json", "--quiet", *options(settings)))
    assert folds["rmse"] == oatgp.cv(*boston, folds=3, **settings).scores.rmse
    value = json.loads(command("objective", BOSTON, "--target", "medv", "--knots", 7, "--json"))
    assert value["objective"] == oatgp.objective(*boston, knots=7).objective


def test_updates_are_the_command_s(command, parts, boston, tmp_path):
    X, y = boston
    old, new, mine, its = (tmp_path / name for name in ("old", "new.csv", "mine", "its"))
    model = oatgp.fit(BOSTON, target="medv", knots=10, max_iter=20)
    model.save(old)
    lines = BOSTON.read_text().splitlines(keepends=True)
    new.write_text("".join(lines[:51]))
    command("update", old, new, "-o", its, "--quiet")
    assert model.update(X[:50], y[:50]) is model
    model.save(mine)
    expect_same(parts, mine, its)
    assert model.n == len(y) + 50


def test_a_model_of_the_command_is_loaded(command, tmp_path):
    path = tmp_path / "model"
    command("fit", BOSTON, "--target", "medv", "--knots", 5, "--max-iter", 3, "--quiet", "-o", path)
    model = oatgp.Model.load(path)
    assert (model.n_knots, model.stop, model.trace) == (5, "iterations", [])
    assert "--knots 5" in model.command
    np.testing.assert_array_equal(model.knots, model.knot_posterior()[0])


def test_trace_is_the_command_s(command, tmp_path):
    trace = tmp_path / "trace.jsonl"
    settings = {"select": "oat-gain", "max_knots": 8}
    command("fit", BOSTON, "--target", "medv", "--quiet", "--trace", trace, "-o", tmp_path / "model", *options(settings))
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    mine = oatgp.fit(BOSTON, target="medv", **settings).trace
    assert len(lines) == len(mine)
    for line, event in zip(lines, mine):
        assert line.keys() <= event.keys()
        assert (line["event"], line["objective"], line["lengthscales"]) == (event["event"], event["objective"], event["lengthscales"])


def test_averages_have_the_bits_of_the_command(command, boston, tmp_path):
    path = tmp_path / "model"
    model = oatgp.fit(boston[0][:60], boston[1][:60], approx="full", average=5)
    model.save(path)
    assert model.average == 5 and "over 5 draws" in model._repr_html_()
    told = json.loads(command("info", path, "--json"))["average"]
    for draw, other in zip(model.draws, told):
        assert (draw["weight"], draw["sigma"], draw["tau"]) == (other["weight"], other["sigma"], other["tau"])
        assert draw["lengthscales"].tolist() == other["lengthscales"]
    assert len(told) == 5 and sum(draw["weight"] for draw in told) == pytest.approx(1)
    for extra, wishes in (([], {}), (["--interval", "0.8", "--latent"], {"interval": 0.8, "latent": True})):
        found = model.predict(boston[0][60:], **wishes)
        np.savetxt(tmp_path / "rows.csv", boston[0][60:], delimiter=",", fmt="%.17g", header=",".join(model.inputs), comments="")
        rows = list(csv.DictReader(io.StringIO(command("predict", path, tmp_path / "rows.csv", *extra))))
        for name, values in found._asdict().items():
            assert [float(row[name]) for row in rows] == values.tolist(), name
    again = oatgp.Model.load(path)
    assert (again.average, again.score(*boston).mean_nlp) == (5, model.score(*boston).mean_nlp)
    plain = oatgp.fit(boston[0][:60], boston[1][:60], approx="full", average=0)
    assert plain.draws == [] and plain.average == 0
    with pytest.raises(ValueError, match="at most 2000 rows"):
        oatgp.fit(np.arange(2001.0)[:, None], np.arange(2001.0), average=8)
