"""What makes the package feel native: help, objects for kernels and likelihoods, missing values, names, types."""

import copy
import math
import os
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import oatgp
from oatgp import kernels, likelihoods
from oatgp._library import TABLE

from conftest import PROJECT

FEW = {"knots": 6, "select": "simultaneous", "max_iter": 20}


# ---- help ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function, verb", [(oatgp.fit, "fit"), (oatgp.cv, "cv"), (oatgp.objective, "objective")])
def test_help_lists_every_setting(function, verb):
    wanted = {name for name, row in TABLE.items() if verb.encode() in row.verbs.split(b",")}
    assert wanted <= set(re.findall(r"^(\w+) : ", function.__doc__, re.M))
    assert not re.search("--[a-z]", function.__doc__)
    assert "approx : {full, dic, dtc, vfe, tvfe, fic, fitc, pep}, default" in function.__doc__


def test_help_of_methods_lists_their_settings():
    assert "\ndeterminant : " in oatgp.Model.certify.__doc__ and "\nmax_iter : " in oatgp.Model.refit.__doc__


# ---- kernels and likelihoods ------------------------------------------------------------------------------------------


def test_every_leaf_is_a_class():
    leaves = set(re.findall(r"^OATGP_LEAF\((\w+),", (PROJECT / "include" / "oatgp_leaves.def").read_text(), re.M))
    assert {name.lower() for name in kernels.__all__} - {"kernel"} == leaves


def test_every_likelihood_is_a_class():
    choices = TABLE["likelihood"].choices.decode().split("|")
    classes = [getattr(likelihoods, name) for name in likelihoods.__all__ if name != "Likelihood"]
    assert sorted(made.name for made in classes) == sorted(choices)
    for made in classes:
        assert str(made()) == made.name and made() == made() and hash(made()) == hash(made())
        for name in made().settings:
            assert name in TABLE


def test_kernels_print_as_their_expressions():
    from oatgp.kernels import RQ, SE, Categorical, Constant, Cosine, Linear, Matern52, Periodic, Polynomial

    assert repr(SE("x1") + Periodic("t")) == "se(x1) + periodic(t)"
    assert str((SE("a") + Linear("a")) * Matern52("b", "c")) == "(se(a) + linear(a)) * matern52(b, c)"
    assert str(SE() * (RQ("a") * Cosine("b")) + Constant()) == "se() * rq(a) * cosine(b) + constant"
    assert str((Linear("a") * SE("b")) ** 2) == "(linear(a) * se(b))^2"
    assert str(Linear("a") ** 2 * SE("b")) == "linear(a)^2 * se(b)"
    assert str(Polynomial("a", degree=3)) == "polynomial(a, 3)"
    assert str(SE('mean "t"', "2nd") * Categorical("c")) == 'se("mean ""t""", "2nd") * categorical(c)'
    assert SE("a") == SE("a") and SE("a") != SE("b") and len({SE("a"), SE("a")}) == 1
    with pytest.raises(ValueError, match="the power is a whole number from 1 to 9"):
        SE("a") ** 10
    with pytest.raises(TypeError, match="an input of a kernel is given by its name, and 1 is not a name; the inputs of arrays are 'x1'"):
        SE(1)
    for join in (lambda: SE("a") + 2, lambda: 2 + SE("a"), lambda: 2 * SE("a"), lambda: SE("a") * 2.5):
        with pytest.raises(TypeError, match=r"a kernel can only be joined with kernels, and 2.* is not one; each summand has a sigma of its own"):
            join()
    with pytest.raises(TypeError, match="'linear.b.' is not one; make it one of the classes of oatgp.kernels"):
        SE("a") + "linear(b)"
    assert sum([SE("a"), SE("b")]) == SE("a") + SE("b") and math.prod([SE("a"), SE("b")]) == SE("a") * SE("b")
    assert SE("a") ** np.int64(2) == SE("a") ** 2


def test_objects_are_taken_where_texts_are(waves):
    X, y = waves
    made = kernels.SE("x1") + kernels.Linear("x2")
    assert oatgp.fit(X, y, kernel=made, **FEW).objective == oatgp.fit(X, y, kernel="se(x1) + linear(x2)", **FEW).objective
    assert oatgp.objective(X, y, kernel=made, parameters=[1, 1, 1], tau=1, approx="full").parameters["linear(x2).sigma"] == 1
    heavy = likelihoods.StudentT(scale=0.2, degrees=4)
    by_text = {"likelihood": "student-t", "likelihood_scale": 0.2, "degrees": 4}
    assert oatgp.fit(X, y, likelihood=heavy, **FEW).objective == oatgp.fit(X, y, **by_text, **FEW).objective
    assert oatgp.fit(X, y, likelihood=heavy, degrees=7, fix="degrees", **FEW).likelihood_parameters["degrees"] == 7
    classes = np.where(y > 0, "up", "down")
    assert oatgp.Data(X, classes, likelihood=likelihoods.BernoulliLogit()).classes == ["down", "up"]
    with pytest.raises(ValueError, match="certify is for Gaussian likelihoods"):
        oatgp.fit(X, y, likelihood=heavy, certify=True)
    spaced = oatgp.fit({"mean rain": X[:, 0], "2nd": X[:, 1]}, y, kernel=kernels.SE("mean rain") + kernels.SE("2nd"), **FEW)
    assert spaced.inputs == ["mean rain", "2nd"]


# ---- missing values ---------------------------------------------------------------------------------------------------


def as_pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns, nan_to_null=True)


def as_arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


def as_structured(columns):
    return np.rec.fromarrays(list(columns.values()), names=list(columns))


@pytest.mark.parametrize("make", [dict, as_pandas, as_polars, as_arrow, as_structured])
def test_incomplete_rows_are_dropped_and_counted(waves, make):
    X, y = waves
    columns = {"a": X[:, 0].copy(), "b": X[:, 1].copy(), "y": y.copy(), "unused": np.full(120, np.nan)}
    columns["a"][3] = columns["b"][5] = columns["y"][7] = np.nan
    kept = np.delete(np.arange(120), [3, 5, 7])
    expected = oatgp.fit(X[kept], y[kept], **FEW)
    with pytest.warns(oatgp.OatgpWarning, match="dropped 3 of 120 rows, which have missing values"):
        model = oatgp.fit(make(columns), target="y", inputs="a,b", missing="drop", **FEW)
    assert (model.objective, model.n, model.target) == (expected.objective, 117, "y")
    with pytest.warns(oatgp.OatgpWarning, match="dropped 3 of 120 rows"):
        assert model.score(make(columns), missing="drop").n == 117
    with pytest.warns(oatgp.OatgpWarning, match="dropped 2 of 120 rows"):  # predictions do not need the target
        found = model.predict(make(columns), missing="drop")
    assert found.mean.tolist() == expected.predict(np.delete(X, [3, 5], axis=0)).mean.tolist()
    with pytest.raises(ValueError, match="input 'a' of row 4 is nan; fill the value in, or leave such rows out by missing='drop'"):
        oatgp.fit(make(columns), target="y", inputs="a,b", **FEW)


def test_masked_rows_and_those_of_weights_are_dropped(waves):
    X, y = waves
    hidden, weights = np.ma.array(X, copy=True), np.ones(120)
    hidden[4, 1] = np.ma.masked
    weights[9] = np.nan
    with pytest.warns(oatgp.OatgpWarning, match="dropped 2 of 120 rows"):
        data = oatgp.Data(hidden, y, weights=weights, missing="drop")
    assert data.X.tolist() == np.delete(X, [4, 9], axis=0).tolist() and data.y.tolist() == np.delete(y, [4, 9]).tolist()
    with pytest.warns(oatgp.OatgpWarning, match="dropped 1 of 120 rows"):
        assert len(oatgp.Data(hidden.tolist(), y.tolist(), missing="drop")) == 119  # None in lists
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(oatgp.Data(X, y, missing="drop")) == 120
    with pytest.raises(ValueError, match="the target of shape .119,. for 120 rows"):
        oatgp.Data(X, y[1:], missing="drop")
    with pytest.raises(ValueError, match="each of the 120 rows has a missing value in a column that is used: no row is left"):
        oatgp.Data(X * np.nan, missing="drop")


def test_rows_after_dropped_ones_keep_their_numbers(waves):
    X, y = (part.copy() for part in waves)
    X[3, 0], X[50, 1] = np.nan, np.inf
    with pytest.warns(oatgp.OatgpWarning), pytest.raises(ValueError, match="input 2 of row 51 is inf"):
        oatgp.fit(X, y, missing="drop")
    model = oatgp.fit(*waves, **FEW)
    with pytest.warns(oatgp.OatgpWarning), pytest.raises(ValueError, match="input 'x2' of row 51 is inf"):
        model.predict(X, missing="drop")


def test_missing_categories_are_dropped():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": np.arange(40.0), "g": ["a", "b", "a", None] * 10})
    y = np.sin(frame["x"])
    for kind in (object, "category", "string"):
        with pytest.warns(oatgp.OatgpWarning, match="dropped 10 of 40 rows"):
            data = oatgp.Data(frame.astype({"g": kind}), y, missing="drop")
        assert data.levels == {"g": ["a", "b"]} and len(data) == 30


# ---- names, lazy frames, the notebook ---------------------------------------------------------------------------------------


def test_a_series_names_the_target(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = oatgp.fit(frame, pandas.Series(y, name="height"), **FEW)
    assert model.target == "height"
    assert model.score(frame.assign(height=y)).rmse == model.score(frame, y).rmse  # found by its name
    assert oatgp.fit(frame, pandas.DataFrame({"height": y}), **FEW).target == "height"
    assert oatgp.fit(frame, pandas.Series(y, name="a"), **FEW).target == ""  # an input has it
    assert oatgp.fit(frame, pandas.Series(y, name="height"), target="other", **FEW).target == "other"
    assert oatgp.fit(frame, y, **FEW).target == "" and oatgp.fit(frame, pandas.Series(y), **FEW).target == ""


def test_polars_categories_and_lazy_frames(waves):
    polars = pytest.importorskip("polars")
    X, y = waves
    texts = ["u", "v", "w"] * 40
    for kind in (polars.String, polars.Categorical, polars.Enum(["w", "v", "u"])):
        frame = polars.DataFrame({"a": X[:, 0], "g": polars.Series(texts, dtype=kind)})
        levels = ["w", "v", "u"] if "Enum" in str(kind) else ["u", "v", "w"]
        assert oatgp.fit(frame, polars.Series("height", y), **FEW).levels == {"g": levels}
    assert oatgp.fit(frame, polars.Series("height", y), **FEW).target == "height"
    with pytest.raises(ValueError, match=r"a lazy frame \(polars.LazyFrame\), whose rows are not in memory yet: get them by .collect\(\)"):
        oatgp.fit(frame.lazy(), y)


def test_other_lazy_tables_are_refused_by_name():
    for package, method in (("dask.dataframe", "compute"), ("pyspark.sql", "toPandas"), ("duckdb", "arrow")):
        kind = type("Relation", (), {"__module__": package, method: None})
        with pytest.raises(ValueError, match=rf"a lazy frame \({package.split('.')[0]}.Relation\), .* get them by .{method}\(\)"):
            oatgp.Data(kind())


def test_the_notebook_shows_little():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 40))
    model = oatgp.fit(X, X[:, 0], **FEW)
    assert "x12 ... (40 in all)" in model._repr_html_() and len(model._repr_html_()) < 3000


def test_results_print_small(waves):
    X, y = waves
    model, sums = oatgp.fit(X, y, **FEW), oatgp.fit(X, y, kernel="se(x1) + se(x2)", **FEW)
    answers = oatgp.fit(X, (y > 0) * 1.0, likelihood="bernoulli-logit", **FEW).predict(X)
    wide = model.predict_gradient(X)
    for result in (model.predict(X), answers, wide, sums.effects(X), model.loo(X, y), model.functions(2), model.svg("knots", X, y)):
        assert len(repr(result)) < 1000
    lines = repr(model.predict(X)).splitlines()
    assert lines[0] == "Prediction of 120 rows" and lines[1].split() == ["mean", "sd_latent", "sd", "lower", "upper"]
    assert len(lines) == 8 and lines[-1] == "..." and f"{model.predict(X).mean[0]:.6g}" in lines[2]
    assert "d_mean[1]" in repr(wide) and repr(model.predict(X[:1])).startswith("Prediction of 1 row\n")
    assert "nan" not in repr(model.score(X, y)) and repr(model.score(X, y)).startswith("Scores(n=120, rmse=")


def test_names_of_the_package():
    assert {"OATGPRegressor", "OATGPClassifier", "fit", "kernels"} <= set(dir(oatgp)) and "import_module" not in dir(oatgp)
    assert all(hasattr(oatgp, name) for name in dir(oatgp))


# ---- sentences ----------------------------------------------------------------------------------------------------------


def test_columns_that_are_no_numbers_are_named(waves):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    X, y = waves
    frame = pandas.DataFrame({"a": X[:, 0], "g": ["u", "v"] * 60, "o": [1, "v"] * 60, "c": X[:, 1] + 1j, "d": pandas.date_range("2020", periods=120)})
    for fit in (oatgp.fit, oatgp.OATGPRegressor().fit, oatgp.OATGPClassifier().fit):
        for column, sentence in (("o", "row 2 is 'v'; every value"), ("c", "complex numbers"), ("d", "dates and times")):
            with pytest.raises(ValueError, match=f"column '{column}': {sentence}"):
                fit(frame[["a", column]], y > 0)
    for settings in ({"target": "g"}, {"target": "o", "weights": "g"}):
        with pytest.raises(ValueError, match="(the target|weights), column 'g': row 1 is 'u'; every value must be a number"):
            oatgp.fit(frame[["a", "g"]].assign(o=y), **settings)
    with pytest.raises(ValueError, match="no column is left for the inputs; there are a"):
        oatgp.fit(frame[["a"]], target="a")
    with pytest.raises(ValueError, match="y is the text 'a'; the name of the target's column is given by target='a'"):
        oatgp.fit(frame, "a")
    with pytest.raises(ValueError, match="the inputs: rows must have the same length; row 1 has the length 2, row 2 has the length 1"):
        oatgp.fit([[1, 2], [3]], [1, 2])


def test_dates_of_every_kind_are_refused(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    dates = pandas.date_range("2020", periods=120)
    kinds = {"": dates, "pandas.to_datetime.column.": dates.tz_localize("UTC"), "column.dt.to_timestamp..": dates.to_period("D")}
    for before, column in {**kinds, "pandas.to_datetime": pandas.Series(dates).dt.date}.items():
        frame = pandas.DataFrame({"a": X[:, 0], "d": column})
        remedy = f"column 'd': dates and times are not numbers; .*: (column = {before})?.*column - column.min"
        with pytest.raises(ValueError, match=remedy) as said:
            oatgp.fit(frame, y)
        advice = str(said.value).partition("first: ")[2]
        space = {"column": frame["d"], "pandas": pandas, "numpy": np}
        for step in advice.split("; ")[:-1]:
            exec(step, space)
        days = eval(advice.split("; ")[-1], space)
        assert days.tolist() == list(range(120))


def test_columns_with_several_levels(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame({("in", "a"): X[:, 0], ("in", "b"): X[:, 1], ("out", "y"): y})
    model = oatgp.fit(frame, target=("out", "y"), **FEW)
    assert model.inputs == ["('in', 'a')", "('in', 'b')"] and model.target == "('out', 'y')"
    assert model.score(frame).n == 120
    assert oatgp.fit(frame, target=("out", "y"), inputs=[("in", "b")], **FEW).inputs == ["('in', 'b')"]


def test_a_series_names_the_input(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame({"a": X[:, 0], "g": ["u", "v"] * 60})
    model = oatgp.fit(frame["a"], y, **FEW)
    assert model.inputs == ["a"] and model.predict(frame).mean.tolist() == model.predict(frame["a"]).mean.tolist()
    assert model.predict(X[:, 0]).mean.tolist() == model.predict(frame["a"]).mean.tolist()
    assert oatgp.fit(frame["g"], y, **FEW).levels == {"g": ["u", "v"]}


def test_the_target_is_no_input(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(y=y)
    for given, settings in (((frame,), {"target": "y", "inputs": "a,y"}), ((frame, y), {"target": "y"}), ((frame,), {"target": "y", "factors": "y"})):
        with pytest.raises(ValueError, match="column 'y' is the target and cannot be an input, too; leave it out of the inputs"):
            oatgp.fit(*given, **settings)
    with pytest.raises(ValueError, match="column 3 is the target"):
        oatgp.fit(np.column_stack([X, y]), target=3, inputs=[1, 3])
    assert oatgp.fit(frame, y, target="y", inputs="a,b", **FEW).inputs == ["a", "b"]


def test_counts_and_numbers_of_rows(waves):
    X, y = waves
    model, full = oatgp.fit(X, y, **FEW), oatgp.fit(X[:20], y[:20], approx="full", max_iter=5)
    for call in (lambda: model.functions(-1), lambda: model.functions(2.5), lambda: model.sample(X, -1), lambda: model.sample(X, True)):
        with pytest.raises(ValueError, match="count is .* but must be a whole number"):
            call()
    with pytest.raises(ValueError, match="seed is 'a' but must be a whole number, 0 or more"):
        model.sample(X, seed="a")
    with pytest.raises(TypeError, match="given by whole numbers, and not of the type float64"):
        full.remove([0.5])
    with pytest.raises(TypeError, match="not of the type bool; of a mask, numpy.flatnonzero.mask. gives the numbers"):
        full.remove(np.arange(20) < 2)
    for given in (X[:5], (X[:5], y[:5], y[:5]), 3):
        with pytest.raises(ValueError, match="given must be a pair: the inputs of further rows, and their targets"):
            model.predict(X, given=given)
    with pytest.raises(ValueError, match="interval is '0.9' but must be a number above 0 and below 1"):
        model.predict(X, interval="0.9")


def test_what_is_copied(waves):
    X, y = waves
    draws = oatgp.fit(X, y, **FEW).functions(2, seed=3)
    assert pickle.loads(pickle.dumps(draws))(X).tolist() == draws(X).tolist()
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="data of oatgp cannot be copied or pickled: make it again from the table, which can"):
            copied(oatgp.Data(X, y))


def test_sparse_matrices_are_refused_by_name(waves):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = waves
    for given, what in (((sparse.csr_matrix(X), y), "the inputs"), ((X, sparse.csc_array(y[:, None])), "the target")):
        with pytest.raises(ValueError, match=rf"{what}: sparse matrices \(scipy.cs._\w+\) are not supported; make it dense by .toarray"):
            oatgp.fit(*given)


def test_rows_beyond_the_memory_stay_in_their_file(waves, tmp_path):
    """`raise memory` is advice that can be followed."""
    X, y = waves
    path = tmp_path / "rows.npy"
    np.save(path, np.column_stack([X, y]))
    inside, outside = (oatgp.Data.read(path, target="last", memory=memory) for memory in ("1M", 1000))
    expected = oatgp.fit(inside, **FEW)
    for model in (oatgp.fit(outside, **FEW), oatgp.fit(path, target="last", memory=1000, **FEW)):
        assert model.predict(X).mean.tolist() == expected.predict(X).mean.tolist()
    exact = oatgp.fit(inside, approx="full", max_iter=5)
    assert oatgp.fit(outside, approx="full", max_iter=5).loo_scores == exact.loo_scores
    heavy = {"likelihood": "student-t", **FEW}
    known = oatgp.Data.read(path, target="last", memory=1000, likelihood="student-t")
    assert oatgp.fit(known, **heavy).objective == oatgp.fit(inside, **heavy).objective
    for likelihood in ("student-t", "ordinal"):
        with pytest.raises(ValueError, match=f'rows stay in their file; read them with likelihood="{likelihood}", or raise memory'):
            oatgp.fit(outside, likelihood=likelihood)
    with pytest.raises(ValueError, match="needs all rows in memory, and these 120 rows stay in their file; raise memory or"):
        outside.X
    with pytest.raises(ValueError, match="the full GP of 120 rows needs .* raise memory"):
        oatgp.fit(path, target="last", memory=1000, approx="full")


def test_settings_of_the_wrong_kind(waves):
    X, y = waves
    with pytest.raises(TypeError, match="knots is 10.0; the number of knots is a whole number, such as knots=10"):
        oatgp.fit(X, y, knots=10.0)
    with pytest.raises(ValueError, match="guard is 'maybe' but must be True or False"):
        oatgp.fit(X, y, guard="maybe")
    with pytest.raises(TypeError, match="kernel is the class SE; give an object of it, such as kernel=SE"):
        oatgp.fit(X, y, kernel=kernels.SE)
    for degree in (0, 2.5, "2"):
        with pytest.raises(ValueError, match="the degree of a polynomial is .* but must be a whole number from 1 to 9"):
            kernels.Polynomial("a", degree=degree)
    with pytest.raises(TypeError, match="a setting must be a number, a text, .* not of the type object"):
        oatgp.fit(X, y, seed=object())


def test_options_are_keywords_in_sentences(waves):
    X, y = waves
    full = oatgp.fit(X, y > 0, likelihood="bernoulli-logit", approx="full", max_iter=5)
    with pytest.raises(ValueError, match=r"fit it again to all rows \(Model.refit\(\)\), or fit a sparse model \(approx=\"vfe\"\)"):
        full.update(X, y > 0)
    with pytest.raises(ValueError, match="expected a category .factors= makes it one."):
        oatgp.fit(X, y, kernel="categorical(x1)")


def test_warnings_name_the_line_of_the_user(waves):
    pytest.importorskip("sklearn")
    X, y = waves
    noise = np.random.default_rng(3).standard_normal(120)
    for call in (lambda: oatgp.fit(X, np.where(y > 1, np.nan, y), missing="drop", **FEW), lambda: oatgp.fit(X, noise),
                 lambda: oatgp.OATGPRegressor().fit(X, noise)):
        with pytest.warns(oatgp.OatgpWarning) as said:
            call()
        assert {os.path.basename(warning.filename) for warning in said} == {"test_fronts.py"}


def test_misspelt_keywords_suggest(waves):
    X, y = waves
    with pytest.raises(TypeError, match="fit has no setting 'kernl'; the nearest name is 'kernel'"):
        oatgp.fit(X, y, kernl="se")
    with pytest.raises(TypeError, match=r"fit has no setting 'verbose'; help\(\) lists its settings"):
        oatgp.fit(X, y, verbose=True)
    with pytest.raises(TypeError, match="refit has no setting 'max_ite'; the nearest name is 'max_iter'"):
        oatgp.fit(X, y, **FEW).refit(X, y, max_ite=3)
    with pytest.raises(ValueError, match="the knots: input 'x2' of row 1 is nan; fill the value in, or leave such rows out$"):
        oatgp.fit(X, y, knots=[[0.1, np.nan]])
    with pytest.raises(TypeError, match="OATGPRegressor has no arguments without a name; give settings by their names, such as knots=30"):
        pytest.importorskip("sklearn") and oatgp.OATGPRegressor(30)
    with pytest.raises(TypeError, match="the method has no argument 'interva' .the nearest name is 'interval'."):
        oatgp.fit(X, y, **FEW).predict(X, interva=0.9)
    with pytest.raises(TypeError, match="Optimizer has no argument 'maximise' .the nearest name is 'maximize'."):
        oatgp.optimize(lambda x: x[0], [(0, 1)], maximise=True)
    with pytest.raises(TypeError, match="Data.read has no argument 'targt' .the nearest name is 'target'."):
        oatgp.Data.read("data.csv", targt="y")
    with pytest.raises(ValueError, match="OATGPRegressor has no setting 'kernl' .the nearest name is 'kernel'."):
        pytest.importorskip("sklearn") and oatgp.OATGPRegressor().set_params(kernl="se")
    with pytest.raises(TypeError, match="the method has no argument 'exposures' .the nearest name is 'exposure'."):
        oatgp.fit(X, y, **FEW).predict(X, exposures=y)


# ---- types --------------------------------------------------------------------------------------------------------------


def test_types_of_predictions(tmp_path):
    """mypy --strict knows what predict returns: the lines that say something else are errors, and no others."""
    pytest.importorskip("mypy")
    pytest.importorskip("sklearn")
    lines = [
        "from typing import Tuple, Union",
        "import numpy as np, oatgp",
        "from numpy.typing import NDArray",
        "from oatgp.kernels import SE, Periodic",
        "A = NDArray[np.float64]",
        "model = oatgp.fit([1.0], [1.0], kernel=SE('x1') + Periodic('x1'), likelihood=oatgp.likelihoods.Poisson())",
        "both: Union[oatgp.Prediction, oatgp.Answers] = model.predict([1.0])",
        "mean: A = model.predict([1.0]).mean",
        "latent: oatgp.Prediction = model.predict([1.0], latent=True)",
        "wrong: oatgp.Prediction = model.predict([1.0])  # wrong",
        "regressor = oatgp.OATGPRegressor(kernel=SE('x1')).fit([[1.0]], [1.0])",
        "plain: A = regressor.predict([[1.0]])",
        "two: Tuple[A, A] = regressor.predict([[1.0]], return_std=True)",
        "joint: Tuple[A, A] = regressor.predict([[1.0]], return_cov=True)",
        "three: Tuple[A, A, A] = regressor.predict([[1.0]], interval=0.9)",
        "four: Tuple[A, A, A, A] = regressor.predict([[1.0]], return_std=True, interval=0.9)",
        "odd: A = regressor.predict([[1.0]], return_std=True)  # wrong",
        "oatgp.fit([1.0], [1.0], kernel=3)  # wrong",
        "value: float = regressor.log_marginal_likelihood()",
        "pair: Tuple[float, A] = regressor.log_marginal_likelihood(eval_gradient=True)",
        "single: float = regressor.log_marginal_likelihood(regressor.theta_, True)  # wrong",
        "draws: A = regressor.sample_y([[1.0]])",
        "oatgp.fit([1.0], [1.0], factors=['a', 1])",
    ]
    (tmp_path / "user.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "user.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    wrong = [str(number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")]
    assert re.findall(r"user.py:(\d+): error", found) == wrong, found
