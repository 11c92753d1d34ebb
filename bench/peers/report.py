"""benchmarks.json, benchmarks.md, its figures and the tables of the first pages from the results.

report.py FOLDER makes them again in FOLDER from the results that are in docs/benchmarks.json."""

import json
import math
import pathlib
import sys
import textwrap

import chart
from chart import Bar, Panel
from summary import GOALS, Race, evaluation_ratios, failures, label_of, memory_ratios, works
from team import ROSTER

COMMAND = "script/bench peers"
# what the first pages show: one fit and one measurement of memory, of these packages
FIRST_FIT, FIRST_MEMORY = "ccpp", "500k-512"
FIRST_PEERS = ("oatgp", "gpflow", "gpytorch", "gpy", "torch")
MARK = "<!-- from docs/benchmarks.md -->\n"
BLANK = "\u00a0"  # between a number and its unit, where no line may end


def write(results, out):
    """Writes the page and its figures; renews the tables of the first pages where `out` is the folder of the pages."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "benchmarks.json").write_text(json.dumps(_shortened(results), indent=1) + "\n")
    (out / "benchmarks.md").write_text("\n\n".join(part for part in _sections(results) if part) + "\n")
    for name, figure in _figures(results):
        (out / name).write_text(figure)
    for page in (out / "index.md", out.parent / "README.md"):
        if page.exists() and MARK in page.read_text():
            page.write_text(_renewed(page.read_text(), _first_table(results)))


def _renewed(page, table):
    """The page with another table behind the mark."""
    before, after = page.split(MARK)
    lines = after.split("\n")
    end = next(i for i, line in enumerate(lines) if not line.startswith("|"))
    return before + MARK + table + "\n" + "\n".join(lines[end:])


def _shortened(results, points=40):
    """Traces with some points, evenly spread, and with those that tell when a goal was reached."""
    short = json.loads(json.dumps(results))
    for fits in short["fits"].values():
        race = Race(fits)
        for key, rounds in race.fits.items():
            for told in (told for told in rounds if told.get("trace")):
                trace, goals = told["trace"], race.first_to_goals(told["trace"]) if key in race.racers else set()
                if len(trace) > points + len(GOALS):
                    spread = {i * (len(trace) - 1) // (points - 1) for i in range(points)}
                    told["trace"] = [trace[i] for i in sorted(spread | goals)]
    return short


def _sections(results):
    yield "# oatgp and other packages"
    yield _in_short(results)
    yield "![Seconds and accuracy of a fit, and memory, of each package](benchmarks.svg)"
    yield _introduction(results)
    for threads in results["evaluations"]:
        yield _evaluations(results, threads)
        if threads == "1":
            yield "![Seconds for a value and its gradient, as ratios to oatgp](benchmarks-evaluations.svg)"
    yield _races(results)
    yield _memory(results)
    yield _scores(results)
    yield _choices(results)
    yield _agreement(results)
    yield _failures(results)


def _in_short(results):
    """The range, over the problems, of the best of the others."""
    evaluations = [evaluation_ratios(results, "1", problem) for problem in results["evaluations"].get("1", {})]
    races = [race.ratios(race.common_goal()) for race in map(Race, results["fits"].values())]
    memory = [memory_ratios(results, problem) for problem in results["memory"]]
    told = [
        f"{_range(evaluations)} times oatgp's time for a value with all derivatives",
        f"{_range(races)} times its time to an ELBO that at least half of them reach",
        f"{_range(memory)} times its memory",
    ]
    return _wrapped("**In short:** on one thread the best of the other packages needs, depending on the data, " + ", ".join(told) + ".")


def _wrapped(text):
    """A paragraph, or a point of a list, as lines of at most 100 letters."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _range(several):
    best = []
    for ratios in several:
        others = [ratio for key, ratio in ratios.items() if not key.startswith("oatgp") and not isinstance(ratio, str)]
        best += [min(others)] if others else []
    ends = dict.fromkeys(f"{float(f'{end:.2g}'):g}" for end in (min(best, default=math.nan), max(best, default=math.nan)))
    return " to ".join(ends)


def _introduction(results):
    about = results["about"]
    versions = [told["versions"] for told in results["packages"].values() if works(told)]
    quick = f" This was a quick run (`{COMMAND} --quick`): fewer problems, less time." if about["kind"] == "quick" else ""
    how = (
        f"`{COMMAND}` installs the packages, runs the same work on the same data with each, and writes this page, its figures and "
        f"[benchmarks.json](benchmarks.json).{quick}"
    )
    machine = f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB"
    where = f"- **Where and when:** {machine}; {about['date']}; oatgp at commit {about['commit']}. {about.get('note', '')}".rstrip()
    packages = f"- **Packages:** {'; '.join(dict.fromkeys(versions))}. *Plain torch* is the bound of GPflow's SGPR written by hand in torch."
    return f"""\
{_wrapped(how)}

{_wrapped(where)}
{_wrapped(packages)}
- **The same work:** the VFE bound (Titsias 2009) with a squared exponential kernel, a lengthscale
  for each input, prior mean zero, 1e-6 on the diagonal of Kuu, in float64; derivatives in all
  parameters and all knots. The same k-means knots and start values. Inputs and target in standard
  units. A package is only timed where its value agrees with `oatgp objective` to 1e-6 (below). A
  ratio above 1 says how many times more the package needs than oatgp.
- **How it is timed:** every package is a process of its own. In each round each is timed in turn.
  The tables have medians of the rounds. The times of evaluations are without compilation. Those of
  fits are with it. One thread is used unless it says otherwise. A `+` behind a time marks a fit
  that the time limit ended.
- **Data:** Boston, Airfoil, CCPP, Concrete and Protein (real; of the rest of their rows up to
  10,000 are for testing); 20k, 50k and 500k are that many rows of a smooth function of 8 inputs
  with noise, and 10,000 more for testing."""


def _figures(results):
    """(name of the file, drawing) of each."""
    yield "benchmarks.svg", chart.draw("Seconds and accuracy of a fit, and memory, of each package", _first_panels(results))
    order = [name for name, entry in ROSTER.items() if entry.objective == "vfe"]
    one = results["evaluations"].get("1", {})
    groups = [(_title(results, problem), _ratio_bars(evaluation_ratios(results, "1", problem), order)) for problem in one]
    panel = Panel("Seconds for value and gradient", "One thread; as ratios to oatgp, shorter is better", groups)
    yield "benchmarks-evaluations.svg", chart.draw(panel.title, [panel])
    groups = [_race_bars(results, problem) for problem in results["fits"]]
    under = "Ratios to oatgp. Per cent: of the way from the start to the best"
    panel = Panel("Seconds to the same ELBO, one thread", under, groups)
    yield "benchmarks-fits.svg", chart.draw(panel.title, [panel])
    groups = [(_title(results, problem), _ratio_bars(memory_ratios(results, problem), order)) for problem in results["memory"]]
    panel = Panel("Peak memory of one value and gradient", "As ratios to oatgp, shorter is better", groups)
    yield "benchmarks-memory.svg", chart.draw(panel.title, [panel])
    groups = [(_title(results, problem), _score_bars(results, problem)) for problem in results["fits"]]
    under = "Bar: above the best of the set, shorter is better. Number: score"
    panel = Panel("Mean negative log density of test rows", under, groups, logarithmic=False)
    yield "benchmarks-scores.svg", chart.draw(panel.title, [panel])
    if results.get("choices"):
        groups = [(_choice_title(results, problem), _choice_bars(peers)) for problem, peers in results["choices"].items()]
        panel = Panel("What a user could choose instead", "Mean NLP above the best; seconds, one thread", groups, logarithmic=False)
        yield "benchmarks-choices.svg", chart.draw(panel.title, [panel])


def _first_panels(results):
    fits = Race(results["fits"][FIRST_FIT]).fits if FIRST_FIT in results["fits"] else {}
    bars = [Bar(_short_label(key, fits), told["seconds"], _fit_words(told)) for key, told in _last(fits)]
    title = f"Whole fit, {_spelled(results, FIRST_FIT)}" if fits else ""
    yield Panel(title, "Seconds on one thread; mean NLP of other rows. Less is better", [("", bars)], logarithmic=False)
    memory = results["memory"].get(FIRST_MEMORY, {})
    bars = [_memory_bar(name, memory[name]) for name in FIRST_PEERS if name in memory]
    title = f"Peak memory, {_spelled(results, FIRST_MEMORY)}" if memory else ""
    yield Panel(title, "GiB for one value and gradient", [("", bars)], logarithmic=False)


def _last(fits):
    return [(key, rounds[-1]) for key, rounds in fits.items()]


def _short_label(key, keys):
    """Names the optimiser where a package has several."""
    name = key.partition(", ")[0]
    return label_of(key if sum(other.partition(", ")[0] == name for other in keys) > 1 else name)


def _fit_words(told):
    return f"{_seconds_of(told)}; {told['nlp']:.3f}"


def _seconds_of(told):
    return _time(told["seconds"]) + ("+" if told["stop"] == "time limit" else "")


def _memory_bar(name, told):
    if not works(told):
        return Bar(label_of(name), None, "not done" if told["failed"].startswith("not done") else "failed")
    return Bar(label_of(name), told["peak_kib"] / 2**20, _gib(told))


def _gib(told):
    return f"{told['peak_kib'] / 2**20:.2f}{BLANK}GiB"


def _ratio_bars(ratios, order=None):
    bars = [(_short_label(key, ratios), ratios[key]) for key in (order or ratios) if key in ratios]
    return [Bar(label, None, ratio) if isinstance(ratio, str) else Bar(label, ratio, f"{ratio:.3g}") for label, ratio in bars]


def _race_bars(results, problem):
    race = Race(results["fits"][problem])
    goal = race.common_goal()
    return f"{_title(results, problem)}: to {100 * goal:g} %", _ratio_bars(race.ratios(goal))


def _score_bars(results, problem):
    fits = Race(results["fits"][problem]).fits
    best = min((told["nlp"] for _, told in _last(fits)), default=0)
    return [Bar(_short_label(key, fits), told["nlp"] - best, f"{told['nlp']:.4f}") for key, told in _last(fits)]


def _first_table(results):
    """Speed and accuracy of a few packages, for the first pages."""
    evaluations, fits = results["evaluations"]["1"][FIRST_FIT], results["fits"][FIRST_FIT]
    memory = results["memory"][FIRST_MEMORY]
    rows = []
    for name in FIRST_PEERS:
        fit = fits[f"{name}, {ROSTER[name].optimizers[0]}"][-1]
        scores = [f"{fit['rmse']:.4g}", f"{fit['nlp']:.4f}"]
        rows.append([label_of(name), _time(evaluations[name]["seconds"]), _seconds_of(fit), *scores, _memory_bar(name, memory[name]).words])
    return _table(["", "value and gradient", "whole fit", "RMSE", "mean NLP", "peak memory"], rows)


def _title(results, problem):
    return f"{problem} ({_size(results, problem)})"


def _spelled(results, problem):
    spec = results["problems"][problem]
    return f"{spec['rows']:,} rows, {spec['inputs']} inputs, {spec['knots']} knots"


def _size(results, problem):
    spec = results["problems"][problem]
    return f"{spec['rows']:,} × {spec['inputs']}, K {spec['knots']}"


def _evaluations(results, threads):
    problems = results["evaluations"][threads]
    names = [name for name, entry in ROSTER.items() if any(name in peers and works(peers[name]) for peers in problems.values())]
    rows = []
    for problem, peers in problems.items():
        ratios = evaluation_ratios(results, threads, problem)
        rows.append([problem, _size(results, problem), *(_evaluation(peers.get(name), ratios.get(name)) for name in names)])
    title = "Value and gradient, " + ("one thread" if threads == "1" else f"{threads} threads")
    exact = " scikit-learn evaluates another objective, the exact evidence." if "sklearn" in names else ""
    text = f"Time of one evaluation, and in brackets the ratio to oatgp.{exact}"
    return f"## {title}\n\n{_wrapped(text)}\n\n" + _table(["data", "rows × inputs, knots", *map(label_of, names)], rows)


def _evaluation(told, ratio):
    if told is None or not works(told):
        return "-"
    return _time(told["seconds"]) + (f" ({ratio:.3g})" if ratio is not None and ratio != 1 else "")


def _races(results):
    parts = []
    for problem, fits in results["fits"].items():
        race = Race(fits)
        rows = [_racer(race, key) for key in race.racers]
        goals = ", ".join(f"{race.goal(part):.2f}" for part in GOALS)
        text = f"**{problem}** ({_size(results, problem)}): from {race.start:.2f}; best {race.best:.2f}; goals {goals}."
        head = [
            "package",
            *(f"to {100 * part:g}{BLANK}%" for part in GOALS),
            "first evaluation",
            "whole fit",
            "ended",
            "evaluations",
            "way",
            "ELBO",
        ]
        parts.append(_wrapped(text) + "\n\n" + _table(head, rows))
    return """\
## Seconds to the same ELBO

From the same start, with the package's usual optimiser (for oatgp: `oatgp fit`, time of the fit
without reading the file). The goals are parts of the way from the start to the best ELBO that any
of them reached. The figure has the highest goal that at least half of them reached (a rule made
after Airfoil had been seen, where oatgp and others end in different optima; every goal is in the
tables). The bound has many local optima, so that the best may be out of reach for others. The first
evaluation contains compilation. Medians where there were several rounds.

![Seconds to the same ELBO, as ratios to oatgp](benchmarks-fits.svg)

""" + "\n\n".join(parts)


def _racer(race, key):
    told = race.racers[key][-1]
    times = [_time(race.seconds_to(key, part)) for part in GOALS]
    way = f"{race.way(key):.2%}"
    return [
        label_of(key),
        *times,
        _time(told["first"]),
        _time(told["seconds"]),
        told["stop"],
        str(told["evaluations"]),
        way,
        f"{told['elbo']:.2f}",
    ]


def _memory(results):
    rows = []
    for problem, peers in results["memory"].items():
        ratios = memory_ratios(results, problem)
        for name, told in peers.items():
            if works(told):
                rows.append(
                    [problem, _size(results, problem), label_of(name), _gib(told), f"{ratios.get(name, math.nan):.3g}", _time(told["seconds"])]
                )
    limits = {told["limit"] for peers in results["memory"].values() for told in peers.values() if works(told)}
    limit = f"; a process may allocate {max(limits) / 2**30:.1f} GiB" if limits else ""
    text = (
        "Of a fresh process that reads the data and computes value and gradient once (that time is with compilation and without "
        f"warm-up){limit}. With `--memory 64M` oatgp keeps nothing of size rows x knots and makes it again when needed."
    )
    return f"""\
## Peak memory

{_wrapped(text)}

![Peak memory, as ratios to oatgp](benchmarks-memory.svg)

""" + _table(["data", "rows × inputs, knots", "package", "peak", "ratio", "time"], rows)


def _scores(results):
    rows = []
    for problem, fits in results["fits"].items():
        for key, rounds in Race(fits).fits.items():
            told = rounds[-1]
            rows.append(
                [
                    problem,
                    label_of(key),
                    f"{told['rmse']:.4g}",
                    f"{told['mnlp']:.4f}",
                    f"{told['nlp']:.4f}",
                    _time(told["seconds"]),
                    told["stop"],
                ]
            )
    return """\
## Test scores

Of the fits above, on rows that were not used for fitting, in the target's units: root mean squared
error (RMSE), median (MNLP) and mean negative log predictive density (NLP). For all of them, less is
better. GPBoost has FITC with knots of its own choice, which it does not move. scikit-learn has the
exact GP.

![Mean negative log density above the best of each set](benchmarks-scores.svg)

""" + _table(["data", "package", "RMSE", "MNLP", "mean NLP", "fit", "ended"], rows)


def _choice_title(results, problem):
    spec = results["problems"][problem]
    return f"{problem.removesuffix('-all')} ({spec['rows']:,} × {spec['inputs']})"


def _choice_bars(peers):
    """The longest fit of each."""
    last = {name: rounds[-1] for name, rounds in peers.items() if works(rounds[-1])}
    best = min(told["nlp"] for told in last.values())
    return [Bar(label_of(name), told["nlp"] - best, f"{told['nlp']:.3f}; {_time(told['seconds'])}") for name, told in last.items()]


def _choices(results):
    rows = []
    for problem, peers in results.get("choices", {}).items():
        for name, told in ((name, told) for name, rounds in peers.items() for told in rounds if works(told)):
            scores = [f"{told['nlp']:.4f}", f"{told['rmse']:.4g}", f"{told['coverage']:.3f}"]
            rows.append([_choice_title(results, problem), label_of(name), _seconds_of(told), *scores])
    if not rows:
        return ""
    return """\
## What a user could choose instead

Whole fits, as a user would make them, on one thread: `oatgp fit` without options; the exact GP of
scikit-learn; GPflow's SVGP (minibatches, Adam) and CGLB with 200 to 500 knots; GPBoost's full-scale
Vecchia ("full scale") and Vecchia approximations; CatBoost, which is gradient boosting, with a mean
and a variance. A method that does not end by itself gets the seconds of oatgp (at least 5), and
then ten times as many (at most 90). One that does is ended after 225 seconds. Scores are those of
other rows: mean NLP and RMSE, where less is better, and the share of rows inside the 95 % interval.
NLP in the target's unit.

![Mean NLP of whole fits, above the best of each set](benchmarks-choices.svg)

""" + _table(["data", "package", "whole fit", "mean NLP", "RMSE", "inside 95 %"], rows)


def _agreement(results):
    rows = []
    for problem, peers in results["evaluations"].get("1", {}).items():
        for name, told in peers.items():
            if works(told):
                norm = told["knot_gradient_norm"]
                shown = "-" if norm is None else f"{norm:.10g}"
                rows.append([problem, label_of(name), f"{told['elbo']:.10g}", f"{told['difference']:.1e}", shown])
    return """\
## Do they compute the same number?

The objective at the start, its relative difference from `oatgp objective` (for scikit-learn: with
`--approx full`), and the norm of the derivative in the knots.

""" + _table(["data", "package", "objective", "difference", "norm of the knots' derivative"], rows)


def _failures(results):
    lines = [_wrapped(f"- **{label}**: {reason} ({_listed(what)}).") for (label, reason), what in failures(results).items()]
    lines += [f"- **{name}**: {told['missing']}." for name, told in results["problems"].items() if "missing" in told]
    return "## Not measured, and why\n\n" + "\n".join(lines) if lines else ""


def _listed(what):
    return "; ".join(kind + (" of " + ", ".join(problems) if problems else "") for kind, problems in what.items())


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _time(seconds):
    if seconds is None or math.isinf(seconds):
        return "-"
    return f"{1000 * seconds:.3g}{BLANK}ms" if seconds < 1 else f"{seconds:.3g}{BLANK}s"


if __name__ == "__main__":
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
    write(json.loads((docs / "benchmarks.json").read_text()), pathlib.Path(sys.argv[1]))
