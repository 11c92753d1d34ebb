"""Answers that are not Gaussian: classes, counts, amounts, levels. Numbers are the command's, or those of formulas."""

import csv
import io
import json
import math

import numpy as np
import pytest

import oatgp
from oatgp._data import ROWS_AT_A_TIME

FEW = {"knots": 6, "select": "simultaneous", "max_iter": 30}
CLASSES = {"likelihood": "bernoulli-logit", **FEW}


@pytest.fixture(scope="module")
def table():
    """One input with answers of every kind."""
    rng = np.random.default_rng(5)
    x = np.round(rng.uniform(-3, 3, 140), 6)
    f = np.sin(x)
    time = np.round(rng.uniform(1, 5, 140), 6)
    trials = rng.integers(1, 9, 140)
    rate = 1 / (1 + np.exp(-2 * f))
    level = np.digitize(f + 0.5 * rng.standard_normal(140), [-0.5, 0.5])
    return {
        "x": x,
        "time": time,
        "trials": trials.astype(float),
        "weight": np.round(rng.uniform(0.5, 2, 140), 6),
        "class": np.where(rng.uniform(size=140) < rate, "yes", "no"),
        "bernoulli": (rng.uniform(size=140) < rate).astype(float),
        "binomial": rng.binomial(trials, rate).astype(float),
        "poisson": rng.poisson(time * np.exp(f)).astype(float),
        "negative": rng.negative_binomial(3, 3 / (3 + time * np.exp(f))).astype(float),
        "amount": np.round(time * np.exp(f) * rng.gamma(4, 1 / 4, 140), 6),
        "outlier": np.round(f + 0.1 * rng.standard_t(3, 140), 6),
        "share": np.round(rng.beta(5 * rate, 5 * (1 - rate)), 6),
        "ordinal": level.astype(float),
        "size": np.array(["large", "medium", "small"])[level],
    }


# likelihood, target and further columns
KINDS = {
    "bernoulli-logit": ("bernoulli", {}),
    "bernoulli-probit": ("class", {}),
    "binomial-logit": ("binomial", {"trials": "trials"}),
    "poisson": ("poisson", {"exposure": "time"}),
    "negative-binomial": ("negative", {"exposure": "time"}),
    "gamma": ("amount", {"exposure": "time"}),
    "student-t": ("outlier", {}),
    "beta": ("share", {}),
    "ordinal": ("size", {}),
}


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "table.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values()))
    return path


def options(settings):
    return [part for name, value in settings.items() for part in ("--" + name.replace("_", "-"), str(value))]


def rows_of(text):
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


@pytest.mark.parametrize("likelihood", KINDS)
def test_everything_is_the_command_s(command, table, path, tmp_path, likelihood):
    """Fit, info, predictions, draws, scores, leave-one-out and updates; from a table in memory, too."""
    target, columns = KINDS[likelihood]
    settings = {"target": target, "inputs": "x", "likelihood": likelihood, **columns, **FEW}
    command("fit", path, *options(settings), "--quiet", "-o", tmp_path / "its")
    its = oatgp.Model.load(tmp_path / "its")
    for model in (oatgp.fit(path, **settings), oatgp.fit(table, **settings)):
        info = json.loads(command("info", tmp_path / "its", "--json"))
        assert (model.objective, model.likelihood) == (info["objective"], info["likelihood"]) == (its.objective, likelihood)
        assert model.likelihood_parameters == info["likelihood_parameters"]
        assert model.classes == info.get("classes", []) and model.answer_levels == info.get("answer_levels", 0)
        assert math.isnan(model.tau) and model.trace[-1]["likelihood_parameters"] == model.likelihood_parameters
        for rows in (table, path):
            found = model.predict(rows, interval=0.8)
            expected = rows_of(command("predict", tmp_path / "its", path, "--interval", 0.8))
            for name, values in found._asdict().items():
                key = "probability" if name == "mean" and likelihood.startswith("bernoulli") else name
                assert [row[key] for row in expected] == values.tolist(), name
            if model.answer_levels:
                names = [f"p_{name}" for name in model.classes]
                assert [[row[name] for name in names] for row in expected] == model.predict_proba(rows).tolist()
            assert model.predict_mean(rows).tolist() == found.mean.tolist()
            latent, expected = model.predict(rows, latent=True), rows_of(command("predict", tmp_path / "its", path, "--latent"))
            assert [row["lower"] for row in expected] == latent.lower.tolist()
            assert [row["sd"] for row in expected] == latent.sd.tolist() == latent.sd_latent.tolist()
        some = command("predict", tmp_path / "its", path, "--samples", 2, "--seed", 3)
        assert [row["sample2"] for row in rows_of(some)] == model.sample(table, 2, seed=3, latent=False)[1].tolist()
        scores = json.loads(command("score", tmp_path / "its", path, "--json"))
        for name, value in vars(model.score(table)).items():
            assert name.startswith("aukl") or scores[name] == value or (scores[name] is None and math.isnan(value)), name
        loo = json.loads(command("loo", tmp_path / "its", path, "--json"))
        assert loo["mean_nlp"] == model.loo(table).scores.mean_nlp


def test_cross_validation_is_the_command_s(command, table, path):
    settings = {"target": "class", "inputs": "x", "folds": 3, **CLASSES}
    found = json.loads(command("cv", path, *options(settings), "--json", "--quiet"))
    scores = oatgp.cv(table, **settings).scores
    assert (found["log_loss"], found["auc"], found["accuracy"]) == (scores.log_loss, scores.auc, scores.accuracy)


def test_updates_are_the_command_s(command, table, path, tmp_path):
    settings = {"target": "poisson", "inputs": "x", "likelihood": "poisson", "exposure": "time", **FEW}
    model = oatgp.fit(table, **settings)
    model.save(tmp_path / "old")
    some = {name: values[:30] for name, values in table.items()}
    new = tmp_path / "new.csv"
    new.write_text("".join(path.read_text().splitlines(keepends=True)[:31]))
    oatgp.fit(path, **settings).save(tmp_path / "file")
    command("update", tmp_path / "file", new, "-o", tmp_path / "its", "--quiet")
    its = oatgp.Model.load(tmp_path / "its")
    assert model.update(some).n == its.n == 170
    assert model.objective == its.objective
    again = oatgp.Model.load(tmp_path / "old").update(table["x"][:30], some["poisson"], exposure=some["time"])
    assert model.predict(table).mean.tolist() == its.predict(table).mean.tolist() == again.predict(table).mean.tolist()
    with pytest.raises(ValueError, match="some were added by an update"):
        model.loo({name: np.append(values, values[:30]) for name, values in table.items()})


def test_the_objective_is_the_command_s(command, table, path):
    settings = {"target": "negative", "inputs": "x", "exposure": "time", "likelihood": "negative-binomial", "knots": 5}
    settings.update(mean=0.3, sigma=0.8, lengthscale=0.7, likelihood_shape=2)
    found = json.loads(command("objective", path, *options(settings), "--gradient", "--json"))
    mine = oatgp.objective(table, gradient=True, **settings)
    assert (mine.objective, mine.likelihood_parameters) == (found["objective"], found["likelihood_parameters"])
    assert mine.gradient["likelihood"] == {"shape": found["gradient"]["likelihood"]["log_shape"]}
    assert mine.gradient["mean"] == found["gradient"]["mean"] and "tau" not in mine.gradient and math.isnan(mine.tau)


normal = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))  # its distribution function


# ---- formulas -------------------------------------------------------------------------------------------------------


def over_f(model, rows, value, **columns):
    """The average of a function over the normal distribution of f: Gauss-Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    found = model.predict(rows, latent=True, **columns)
    f = found.mean[:, None] + found.sd[:, None] * nodes
    return value(f) @ weights / weights.sum()


def test_probabilities_are_integrated(table):
    model = oatgp.fit(table["x"], table["class"], **CLASSES)
    rows = table["x"][:20]
    p = over_f(model, rows, lambda f: 1 / (1 + np.exp(-f)))
    found = model.predict(rows, interval=0.9)
    np.testing.assert_allclose(found.mean, p, atol=1e-9)
    np.testing.assert_allclose(found.sd, np.sqrt(p * (1 - p)), atol=1e-9)
    latent = model.predict(rows, latent=True, interval=0.9)
    np.testing.assert_allclose(found.upper, 1 / (1 + np.exp(-latent.upper)), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(rows), np.column_stack([1 - p, p]), atol=1e-9)
    y = (table["class"] == "yes")[:20]
    scores = model.score(rows, table["class"][:20])
    assert scores.log_loss == pytest.approx(-np.mean(np.log(np.where(y, p, 1 - p))), abs=1e-9)
    assert scores.brier == pytest.approx(np.mean((p - y) ** 2), abs=1e-9)
    assert scores.accuracy == np.mean((p > 0.5) == y)
    assert math.isnan(scores.coverage95)


def test_counts_go_with_the_exposure(table):
    model = oatgp.fit(table["x"], table["poisson"], likelihood="poisson", exposure=table["time"], **FEW)
    rows, time = table["x"][:20], table["time"][:20]
    rate = over_f(model, rows, np.exp)
    square = over_f(model, rows, lambda f: np.exp(2 * f))
    found = model.predict(rows, exposure=time)
    np.testing.assert_allclose(found.mean, time * rate, rtol=1e-9)
    np.testing.assert_allclose(found.sd, np.sqrt(time * rate + time**2 * (square - rate**2)), rtol=1e-8)
    np.testing.assert_allclose(found.latent_mean - np.log(time), model.predict(rows, latent=True).mean, atol=1e-12)
    np.testing.assert_allclose(model.predict(rows).mean, rate, rtol=1e-9)
    draws = model.sample(rows, 4000, seed=2, latent=False, exposure=time)
    assert (draws == np.round(draws)).all() and draws.min() >= 0
    np.testing.assert_allclose(draws.mean(0), found.mean, atol=5 * found.sd.max() / math.sqrt(4000))


def test_draws_of_gaussian_answers_have_the_noise(waves):
    model = oatgp.fit(*waves, **FEW)
    draws = model.sample(waves[0][:3], 4000, latent=False)
    np.testing.assert_allclose(draws.std(0), model.predict(waves[0][:3]).sd, rtol=0.1)
    assert model.predict(waves[0]).latent_sd.tolist() == model.predict(waves[0]).sd_latent.tolist()


def test_weights_count_rows(table):
    times = np.arange(140) % 3 + 1
    again = np.repeat(np.arange(140), times)
    settings = {"knots": np.linspace(-2.5, 2.5, 5)[:, None], "likelihood": "poisson", "sigma": 1, "lengthscale": 1, "mean": 0, "scale": False}
    weighted = oatgp.objective(table["x"], table["poisson"], weights=times, **settings).objective
    repeated = oatgp.objective(table["x"][again], table["poisson"][again], **settings).objective
    assert weighted == pytest.approx(repeated, rel=1e-9)


# ---- classes --------------------------------------------------------------------------------------------------------


def kinds_of_classes(y):
    pandas = pytest.importorskip("pandas")
    texts = np.where(y, "yes", "no")
    return {
        "numbers": (y.astype(float), []),
        "truth values": (y, ["False", "True"]),
        "a list": (y.tolist(), ["False", "True"]),
        "pandas' truth values": (pandas.array(y, dtype="boolean"), ["False", "True"]),
        "texts": (texts, ["no", "yes"]),
        "objects": (texts.astype(object), ["no", "yes"]),
        "a category": (pandas.Series(texts, dtype="category"), ["no", "yes"]),
        "an order": (pandas.Categorical(texts, categories=["yes", "no"], ordered=True), ["yes", "no"]),
        "unused": (pandas.Categorical(texts, categories=["maybe", "no", "yes"]), ["no", "yes"]),
        "numbers as a category": (pandas.Series(np.where(y, 10, 9), dtype="category"), ["9", "10"]),
    }


@pytest.mark.parametrize("kind", kinds_of_classes(np.array([True])))
def test_classes(table, kind, tmp_path):
    y = table["class"] == "yes"
    target, classes = kinds_of_classes(y)[kind]
    plain, model = (oatgp.fit(table["x"], given, **CLASSES) for given in (y.astype(float), target))
    assert model.classes == classes
    expected = plain.predict(table["x"]).mean
    expected = 1 - expected if kind == "an order" else expected
    np.testing.assert_allclose(model.predict(table["x"]).mean, expected, atol=1e-12 if kind == "an order" else 0)
    model.save(tmp_path / "model")
    again = oatgp.Model.load(tmp_path / "model")
    assert again.classes == classes
    assert again.score(table["x"], target).log_loss == pytest.approx(plain.score(table["x"], y.astype(float)).log_loss, rel=1e-9)
    assert again.loo(table["x"], target).scores.accuracy > 0.6
    assert again.update(table["x"][:5], target[:5]).n == 145


def test_classes_in_frames(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": table["x"], "class": table["class"]})
    expected = oatgp.fit(table["x"], table["class"], **CLASSES)
    for rows in (frame, frame.astype({"class": "category"}), {"x": table["x"], "class": table["class"]}):
        model = oatgp.fit(rows, target="class", **CLASSES)
        assert (model.inputs, model.classes, model.objective) == (["x"], ["no", "yes"], expected.objective)
        assert model.score(rows).log_loss == expected.score(table["x"], table["class"]).log_loss
        assert model.predict(frame[["x"]]).mean.tolist() == expected.predict(table["x"]).mean.tolist()


def test_classes_of_polars(table):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": table["x"], "size": polars.Series(table["size"].tolist(), dtype=polars.Enum(["small", "medium", "large"]))})
    assert oatgp.fit(frame, target="size", likelihood="ordinal", **FEW).classes == ["small", "medium", "large"]


def test_levels_keep_their_order(table):
    pandas = pytest.importorskip("pandas")
    order = ["small", "medium", "large"]
    ordered = pandas.Categorical(table["size"], categories=order, ordered=True)
    settings = {"likelihood": "ordinal", **FEW}
    model, sorted_ = (oatgp.fit(table["x"], y, **settings) for y in (ordered, table["size"]))
    assert (model.classes, sorted_.classes) == (order, sorted(order))
    assert model.answer_levels == 3 and list(model.likelihood_parameters) == ["gap1"]
    other = oatgp.fit(oatgp.Data(table["x"], table["size"], likelihood="ordinal", classes=order), **settings)
    assert other.objective == model.objective and other.classes == order
    p = model.predict_proba(table["x"])
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(model.predict(table["x"]).mean, p @ np.arange(3), atol=1e-9)
    gap = model.likelihood_parameters["gap1"]
    first, two = (over_f(model, table["x"], lambda f, at=at: normal(at - f)) for at in (0, gap))
    np.testing.assert_allclose(p[:, :2], np.column_stack([first, two - first]), atol=1e-8)
    codes = oatgp.fit(table["x"], 2 - table["ordinal"], **settings)
    assert codes.objective == model.objective and codes.classes == []
    assert model.score(table["x"], ordered).accuracy == np.mean(p.argmax(1) == 2 - table["ordinal"])


REFUSED = [
    ({"likelihood": "bernoulli-logit"}, "size", r"the target has 3 classes \(large, medium, small\), and likelihood bernoulli-logit needs two"),
    ({"likelihood": "bernoulli-logit"}, "poisson", r"row \d+ is \d+, but likelihood bernoulli-logit needs 0 or 1"),
    ({"likelihood": "poisson"}, "outlier", r"target 'y' of row \d+ is .*but likelihood poisson needs"),
    ({"likelihood": "poisson"}, "class", "every value must be a number"),
    ({"likelihood": "binomial-logit"}, "binomial", "needs the number of trials of each row; name its column with trials"),
    ({"likelihood": "poisson", "certify": True}, "poisson", "certify is for Gaussian likelihoods, and likelihood is poisson"),
    ({"likelihood": "poisson", "approx": "fitc"}, "poisson", 'likelihood="poisson" works with the models vfe and full, not fitc'),
    ({"likelihood": "poisson", "exposure": np.zeros(140)}, "poisson", "exposure"),
    ({"likelihood": "poisson", "exposure": np.ones(3)}, "poisson", r"exposures of shape \(3,\) for 140 rows"),
    ({"likelihood": "binomial-logit", "trials": np.full(140, 0.5)}, "binomial", "trials"),
    ({"likelihood": "poison"}, "poisson", "likelihood is 'poison' but must be one of"),
]


@pytest.mark.parametrize(("settings", "target", "sentence"), REFUSED)
def test_refusals(table, settings, target, sentence):
    with pytest.raises(ValueError, match=sentence):
        oatgp.fit(table["x"], table[target], **settings)


def test_refusals_of_classes(table):
    model = oatgp.fit(table["x"], table["class"], **CLASSES)
    with pytest.raises(ValueError, match="the target: row 3 is 'perhaps', which is not one of the classes no, yes"):
        model.score(table["x"][:3], ["yes", "no", "perhaps"])
    with pytest.raises(ValueError, match="the class of row 2 is missing"):
        oatgp.fit(table["x"][:3], ["yes", None, "no"], **CLASSES)
    with pytest.raises(ValueError, match=r"the target has one class \(yes\)"):
        oatgp.fit(table["x"][:3], ["yes"] * 3, **CLASSES)
    with pytest.raises(ValueError, match="masked"):
        oatgp.fit(table["x"][:3], np.ma.array([0.0, 1.0, 1.0], mask=[0, 1, 0]), **CLASSES)
    with pytest.raises(ValueError, match="y, .*trials, exposure.* are given when a Data is made"):
        model.predict(oatgp.Data(table["x"]), exposure=table["time"])
    with pytest.raises(ValueError, match="poisson has no classes"):
        oatgp.fit(table["x"], table["poisson"], likelihood="poisson", **FEW).predict_proba([0.0])
    assert oatgp.Data(table["x"], table["class"], likelihood="bernoulli-logit").classes == ["no", "yes"]


def test_rows_of_later_parts_have_their_numbers(table):
    model = oatgp.fit(table["x"], table["poisson"], likelihood="poisson", **FEW)
    x, y = np.zeros(ROWS_AT_A_TIME + 10), np.zeros(ROWS_AT_A_TIME + 10)
    y[-1] = 0.5
    with pytest.raises(ValueError, match=f"row {ROWS_AT_A_TIME + 10} is 0.5, but likelihood poisson needs"):
        model.update(x, y)
    assert model.n == 140


def test_parts_have_the_bits_of_the_whole(table):
    x, time = np.random.default_rng(1).uniform(-3, 3, ROWS_AT_A_TIME + 600), np.linspace(1, 2, ROWS_AT_A_TIME + 600)
    model = oatgp.fit(table["x"], table["poisson"], likelihood="poisson", exposure=table["time"], **FEW)
    parts, whole = model.predict(x, interval=None, exposure=time), model.predict(oatgp.Data(x, exposure=time), interval=None)
    assert np.isnan(whole.lower).all() and np.isnan(whole.upper).all() and not np.isnan(whole.sd).any()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(parts, whole))
    levels = oatgp.fit(table["x"], table["size"], likelihood="ordinal", **FEW)
    assert levels.predict_proba(x).tobytes() == levels.predict_proba(oatgp.Data(x)).tobytes()


def test_columns_of_trials_and_exposure_are_remembered(table, path, tmp_path):
    """By name, from a frame as from a file, and in the model's file. Others can be given."""
    settings = {"target": "poisson", "inputs": "x", "likelihood": "poisson", "exposure": "time", **FEW}
    for rows in (table, path):
        oatgp.fit(rows, **settings).save(tmp_path / "model")
        model = oatgp.Model.load(tmp_path / "model")
        expected = model.predict(table["x"], exposure=table["time"]).mean
        assert model.predict(table).mean.tolist() == model.predict(path).mean.tolist() == expected.tolist()
        other = model.predict(table["x"], exposure=table["weight"]).mean
        assert model.predict(table, exposure="weight").mean.tolist() == other.tolist()
        assert model.predict(path, exposure="weight").mean.tolist() == other.tolist()
        assert model.score(path, exposure="weight").mean_nlp == model.score(table, exposure="weight").mean_nlp


def test_a_model_says_what_it_is(table):
    model = oatgp.fit(table["x"], table["class"], **CLASSES)
    assert "se-ard, bernoulli-logit, 140 rows" in repr(model)
    assert "bernoulli-logit of no, yes" in model._repr_html_() and "tau" not in model._repr_html_()
    assert model.bounds == (pytest.approx(model.objective - model.log_prior), math.inf)
    full = oatgp.fit(table["x"][:40], table["bernoulli"][:40], likelihood="bernoulli-logit", approx="full", max_iter=5)
    assert full.bounds == (pytest.approx(full.objective - full.log_prior), math.inf)
    counts = oatgp.fit(table["x"], table["negative"], likelihood="negative-binomial", **FEW)
    assert "sigma, shape" in counts._repr_html_() and counts.likelihood_parameters["shape"] > 0


# ---- figures --------------------------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_figures_of_classes(table, pyplot):
    model, rows = oatgp.fit(table["x"], table["class"], **CLASSES), (table["x"], table["class"])
    drawn = model.plot("knots", *rows)
    curve = next(line for line in drawn.lines if line.get_label() == "probability")
    np.testing.assert_allclose(curve.get_ydata(), model.predict(curve.get_xdata()).mean, atol=1e-12)
    assert labels(drawn) == ["95 % for the probability", "probability", "rows", "knots"]
    reliability = model.plot("reliability", *rows)
    assert reliability.get_title() == "Reliability" and reliability.get_ylabel() == "share of yes"
    mean, share = (np.asarray(values) for values in reliability.lines[0].get_data())
    loo, y = model.loo(*rows), table["class"] == "yes"
    assert np.sum(mean) == pytest.approx(10 * loo.mean.mean()) and np.sum(share) == pytest.approx(10 * y.mean())
    residuals = model.plot("residuals", *rows)
    assert residuals.lines[0].get_ydata().tolist() == loo.residual.tolist() and residuals.patches
    for figure in ("objective", "relevance"):
        assert model.plot(figure, *rows).get_title()
    for figure in ("observed", "calibration"):
        with pytest.raises(ValueError, match=f"'{figure}' is for targets other than two classes; use 'reliability' for those"):
            model.plot(figure, *rows)
        with pytest.raises(ValueError, match=f"'{figure}': that figure is for targets other than two classes"):
            model.svg(figure, *rows)
    with pytest.raises(ValueError, match="the figure 'roc' is only drawn as SVG"):
        model.plot("roc", *rows)
    assert "<svg" in model.svg("roc", *rows)


def test_figures_of_counts(table, pyplot):
    rows = {"exposure": table["time"]}
    model = oatgp.fit(table["x"], table["poisson"], likelihood="poisson", **rows, **FEW)
    drawn = model.plot("knots", table["x"], table["poisson"], **rows)
    assert model.plot("observed", table["x"], table["poisson"], **rows).get_xlabel() == "predicted without the row itself"
    points = next(line for line in drawn.lines if line.get_label() == "rows, by trial or exposure")
    assert points.get_ydata().tolist() == (table["poisson"] / table["time"]).tolist()
    some = {"exposure": table["time"][:50]}
    others = model.plot("calibration", table["x"][:50], table["poisson"][:50], **some)
    at, share = others.lines[0].get_data()
    found = model.predict(table["x"][:50], interval=at[9], **some)
    assert share[9] == np.mean((found.lower <= table["poisson"][:50]) & (table["poisson"][:50] <= found.upper))
    with pytest.raises(ValueError, match="for two classes, and the likelihood is poisson"):
        model.plot("reliability", table["x"], table["poisson"], **rows)
    residuals = model.plot("residuals", table["x"][:50], table["poisson"][:50], **some)
    assert residuals.get_ylabel() == "residual / sd" and not residuals.patches


def test_derivatives_are_those_of_the_function(table):
    model = oatgp.fit(table["x"], table["poisson"], likelihood="poisson", exposure=table["time"], **FEW)
    at = np.linspace(-2, 2, 7)[:, None]
    found = model.predict_gradient(at)
    above, below = model.predict(at + 1e-5, latent=True), model.predict(at - 1e-5, latent=True)
    assert np.allclose(found.d_mean[:, 0], (above.mean - below.mean) / 2e-5, atol=1e-6)
    assert np.allclose(found.d_sd_latent[:, 0], (above.sd_latent - below.sd_latent) / 2e-5, atol=1e-6)


def test_rows_in_thought_need_gaussian_answers(table):
    model = oatgp.fit(table["x"], table["bernoulli"], **CLASSES)
    for latent in (False, True):
        with pytest.raises(ValueError, match="likelihood bernoulli-logit cannot predict as if"):
            model.predict([[0.5]], given=([[0.0]], [1.0]), latent=latent)
