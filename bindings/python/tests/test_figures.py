"""Figures as axes of matplotlib and as SVG, and the report."""

import os
import subprocess
import sys

import numpy as np
import pytest

import oatgp

from conftest import BOSTON

FIGURES = ["knots", "partial", "observed", "residuals", "calibration", "objective", "relevance"]


@pytest.fixture(scope="module")
def model():
    return oatgp.fit(BOSTON, target="medv", knots=10, max_iter=20, select="simultaneous")


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("figure", FIGURES)
def test_axes(model, boston, pyplot, figure):
    axes = model.plot(figure, *boston)
    assert axes.get_xlabel() and axes.get_title()
    assert axes.lines or axes.patches
    mine = pyplot.subplots()[1]
    assert model.plot(figure, BOSTON, ax=mine) is mine
    mine.figure.canvas.draw()


def test_a_refusal_leaves_no_empty_figure(model, waves, pyplot):
    with pytest.raises(ValueError, match="this figure needs rows with a target"):
        model.plot("observed")
    exact = oatgp.fit(*waves, tol_row=0)
    with pytest.raises(ValueError, match="the full GP has no knots"):
        exact.plot("knots")
    with pytest.raises(ValueError, match="the model holds no history of its fit"):
        exact.plot("objective")
    assert not pyplot.get_fignums()


def test_what_is_drawn(model, boston, pyplot):
    X, y = boston
    loo = model.loo(X, y)
    np.testing.assert_allclose(model.plot("observed", X, y).lines[0].get_xydata(), np.column_stack([loo.mean, y]), rtol=1e-9)
    np.testing.assert_allclose(model.plot("residuals", X, y).lines[0].get_ydata(), loo.residual, rtol=1e-9)
    some = model.plot("observed", X[:50], y[:50])
    assert some.get_xlabel() == "predicted"
    assert some.lines[0].get_xdata().tolist() == model.predict(X[:50]).mean.tolist()
    assert model.plot("partial", input="rm").get_xlabel() == "rm"
    with pytest.raises(ValueError, match="there is no input 'z'; there are lstat, rm, ptratio"):
        model.plot("partial", input="z")
    with pytest.raises(ValueError, match="there is no plot 'pie'; there are observed"):
        model.plot("pie")
    with pytest.raises(ValueError, match="one lengthscale for all"):
        oatgp.fit(X, y, kernel="se", knots=3, max_iter=2, select="simultaneous").plot("relevance")


def test_one_input(pyplot):
    x = np.linspace(0, 6, 40)
    axes = oatgp.fit(x, np.sin(x), knots=6, select="simultaneous", max_iter=20).plot("knots", x, np.sin(x))
    assert [text.get_text() for text in axes.get_legend().get_texts()][-2:] == ["rows", "knots"]


def test_rows_of_a_frame(pyplot):
    """With its target, and without."""
    pandas = pytest.importorskip("pandas")
    x = np.linspace(0, 6, 40)
    frame = pandas.DataFrame({"x": x, "y": np.sin(x), "note": "text"})
    model = oatgp.fit(frame, target="y", inputs="x", knots=6, select="simultaneous", max_iter=20)
    for rows, drawn in ((frame, ["rows", "knots"]), (frame[["x"]], ["mean", "knots"])):
        texts = model.plot("knots", rows).get_legend().get_texts()
        assert [text.get_text() for text in texts][-2:] == drawn
        assert "<svg" in model.svg("knots", rows)
    with pytest.raises(ValueError, match="this figure needs rows with a target"):
        model.plot("observed", frame[["x"]])
    with pytest.raises(ValueError, match="the figure 'observed' needs data with a target"):
        model.svg("observed", frame[["x"]])


def test_weights_of_the_rows(boston, pyplot):
    """Rows of the fit without their weights are not taken for others."""
    X, y = boston
    rows = {"weights": np.linspace(1, 3, len(y))}
    model = oatgp.fit(X, y, knots=10, max_iter=20, select="simultaneous", **rows)
    drawn = model.plot("observed", X, y, **rows)
    assert drawn.get_xlabel() == "predicted without the row itself"
    assert drawn.lines[0].get_xdata().tolist() == model.loo(X, y, **rows).mean.tolist()
    assert model.svg("observed", X, y, **rows) == model.svg("observed", oatgp.Data(X, y, **rows)) != model.svg("observed", X, y)
    with pytest.raises(ValueError, match="their targets or weights differ"):
        model.plot("observed", X, y)
    others = model.plot("observed", X + 1, y)
    assert others.get_xlabel() == "predicted"


def test_svg(model, boston, tmp_path):
    assert set(FIGURES) <= oatgp.figures().keys()
    picture = model.svg("observed", *boston)
    assert "<svg" in picture[:200] and picture._repr_svg_() == picture
    picture.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == picture
    assert "<svg" in model.svg("relevance")
    # the order in which the rows lie does not matter
    assert model.svg("knots", np.asfortranarray(boston[0]), boston[1]) == model.svg("knots", *boston) == model.svg("knots", BOSTON)
    with pytest.raises(ValueError, match="pie"):
        model.svg("pie")


def test_svg_is_the_command_s(command, model, tmp_path):
    model.save(tmp_path / "model")
    for figure in ("observed", "partial", "knots"):
        assert command("plot", figure, tmp_path / "model", BOSTON, "--quiet", "-o", "-") == model.svg(figure, BOSTON)


def test_effects(boston, pyplot, tmp_path, command):
    model = oatgp.fit(BOSTON, target="medv", kernel="se(lstat) + linear(rm) * se(lstat) + constant", knots=10, max_iter=20)
    X, y = boston
    axes = model.plot("effects", X, y, input="se(lstat)")
    assert axes.get_xlabel() == "lstat" and axes.get_ylabel() == "se(lstat)"
    found = model.effects(X)
    np.testing.assert_allclose(sorted(axes.lines[0].get_ydata()), sorted(found.mean["se(lstat)"]))
    assert model.plot("effects", X, y, input="linear(rm) * se(lstat)#2").get_ylabel() == "linear(rm) * se(lstat)#2"
    assert model.plot("effects", X, y).get_ylabel() == max(found.share, key=found.share.get)
    for wrong, sentence in (("se(z)", "there is no effect 'se\\(z\\)'; there are se\\(lstat\\)"), ("constant", "depends on no input")):
        with pytest.raises(ValueError, match=sentence):
            model.plot("effects", X, y, input=wrong)
    with pytest.raises(ValueError, match="effects need rows"):
        model.plot("effects")
    model.save(tmp_path / "model")
    assert command("plot", "effects", tmp_path / "model", BOSTON, "--quiet", "-o", "-") == model.svg("effects", BOSTON)


def test_the_effect_of_a_category(pyplot):
    time, kind = np.linspace(0, 6, 60), np.array(["low", "mid", "top"])[np.arange(60) % 3]
    data = oatgp.Data({"time": time, "kind": kind}, np.sin(time) + np.arange(60) % 3)
    model = oatgp.fit(data, kernel="se(time) + categorical(kind)", knots=8, max_iter=5)
    axes = model.plot("effects", data, input="categorical(kind)")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["low", "mid", "top"]
    assert len(np.unique(axes.lines[0].get_ydata().round(9))) == 3


def test_categories_are_drawn_as_levels(pyplot):
    pandas = pytest.importorskip("pandas")
    time, kind = np.linspace(0, 6, 60), np.array(["low", "mid", "top"])[np.arange(60) % 3]
    frame = pandas.DataFrame({"time": time, "kind": kind, "y": np.sin(time) + np.arange(60) % 3})
    model = oatgp.fit(frame, target="y", knots=8, select="simultaneous", max_iter=20)
    axes = model.plot("partial", frame, input="kind")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["low", "mid", "top"]
    held = pandas.DataFrame({"time": frame["time"].mean(), "kind": ["low", "mid", "top"]})
    np.testing.assert_allclose(axes.lines[0].get_ydata(), model.predict(held).mean)
    assert axes.get_title() == "Effect of kind, others at their means"
    assert len(model.plot("partial", input="kind").lines[0].get_ydata()) == 3  # without rows, too
    most = frame[frame["kind"] != "low"]  # the codes of its levels are others: 0 is mid
    axes = model.plot("partial", most, input="time")
    assert axes.get_title() == "Effect of time, others at their means or most frequent levels"
    line = pandas.DataFrame({"time": axes.lines[0].get_xdata(), "kind": "mid"})
    np.testing.assert_allclose(axes.lines[0].get_ydata(), model.predict(line).mean)
    knots = model.plot("knots", most)
    assert [label.get_text() for label in knots.get_yticklabels()] == ["low", "mid", "top"]
    assert set(knots.lines[0].get_ydata()) == {1, 2}
    alone = oatgp.fit(frame[["kind", "y"]], target="y", knots=3, select="simultaneous", max_iter=20)
    assert len(alone.plot("knots", frame).lines) == 3  # means, rows and knots
    with pytest.raises(ValueError, match="their targets or weights differ"):  # rows of the fit, which are known in spite of the category
        model.plot("observed", frame.assign(y=frame["y"] + 1))


def test_without_matplotlib(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('no matplotlib here')")
    fit = f"oatgp.fit({str(BOSTON)!r}, target='medv', knots=3, max_iter=2, select='simultaneous')"
    script = f"import oatgp; print(type({fit}.plot('relevance')).__name__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "SVG"


def test_report(command, model, boston, tmp_path):
    mine, its, path = tmp_path / "mine.html", tmp_path / "its.html", tmp_path / "model"
    model.save(path)
    model.report(mine, BOSTON)
    command("report", path, BOSTON, "--quiet", "-o", its)
    assert mine.read_text(encoding="utf-8") == its.read_text(encoding="utf-8")
    model.report(mine, *boston, source="the homes")
    assert "the homes" in mine.read_text(encoding="utf-8")
