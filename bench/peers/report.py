"""benchmarks.json, benchmarks.md and benchmarks.svg from the results."""

import json
import math

import chart
from summary import GOALS, Race, evaluation_ratios, failures, label_of, memory_ratios, works
from team import ROSTER

COMMAND = "script/bench peers"


def write(results, out):
    out.mkdir(parents=True, exist_ok=True)
    (out / "benchmarks.json").write_text(json.dumps(_shortened(results), indent=1) + "\n")
    (out / "benchmarks.svg").write_text(_figure(results))
    (out / "benchmarks.md").write_text("\n\n".join(part for part in _sections(results) if part) + "\n")


def _shortened(results, points=40):
    """Traces with at most so many points, evenly spread."""
    short = json.loads(json.dumps(results))
    for fits in short["fits"].values():
        for told in (told for rounds in fits.values() for told in rounds if works(told)):
            trace = told["trace"]
            told["trace"] = trace if len(trace) <= points else [trace[i * (len(trace) - 1) // (points - 1)] for i in range(points)]
    return short


def _sections(results):
    yield "# oatgp and other packages"
    yield _in_short(results)
    yield _introduction(results)
    yield "![Ratios to oatgp: seconds for value and gradient, seconds to the same ELBO, peak memory](benchmarks.svg)"
    for threads in results["evaluations"]:
        yield _evaluations(results, threads)
    yield _races(results)
    yield _memory(results)
    yield _scores(results)
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
    return "**In short:** on one thread the best of the other packages needs, depending on the data, " + ", ".join(told) + "."


def _range(several):
    best = []
    for ratios in several:
        others = [ratio for key, ratio in ratios.items() if not key.startswith("oatgp") and not isinstance(ratio, str)]
        best += [min(others)] if others else []
    ends = dict.fromkeys(f"{end:.2g}" for end in (min(best, default=math.nan), max(best, default=math.nan)))
    return " to ".join(ends)


def _introduction(results):
    about = results["about"]
    versions = [told["versions"] for told in results["packages"].values() if works(told)]
    quick = f" This was a quick run (`{COMMAND} --quick`): fewer problems, less time." if about["kind"] == "quick" else ""
    return f"""\
Written by `{COMMAND}`, which installs the packages, runs the same work on the same data with each, and writes this page, the figure and
[benchmarks.json](benchmarks.json).{quick}

- **Where and when:** {about["cpu"]}, {about["cores"]} cores, {about["memory_gib"]} GiB; {about["date"]}; oatgp at commit {about["commit"]}.
- **Packages:** {"; ".join(dict.fromkeys(versions))}. *Plain torch* is the bound of GPflow's SGPR written by hand in torch.
- **The same work:** the VFE bound (Titsias 2009) with a squared exponential kernel, a lengthscale for each input, prior mean zero, 1e-6
  on the diagonal of Kuu, in float64; derivatives in all parameters and all knots. The same k-means knots and start values. Inputs and
  target in standard units. A package is only timed where its value agrees with `oatgp objective` to 1e-6 (below). A ratio above 1 says
  how many times more the package needs than oatgp.
- **How it is timed:** every package is a process of its own; in each round each is timed in turn; medians of the rounds. Compilation is not
  counted in the evaluations but is in the fits, where it is shown. One thread unless it says otherwise.
- **Data:** Boston, Airfoil and CCPP (real; the rest of their rows is for testing); 20k, 50k and 500k are that many rows of a smooth
  function of 8 inputs with noise, and 10,000 more for testing."""


def _figure(results):
    order = [name for name, entry in ROSTER.items() if entry.objective == "vfe"]
    one = results["evaluations"].get("1", {})
    evaluations = [(_title(results, problem), _labelled(evaluation_ratios(results, "1", problem), order)) for problem in one]
    races = [_race_bars(results, problem) for problem in results["fits"]]
    memory = [(_title(results, problem), _labelled(memory_ratios(results, problem), order)) for problem in results["memory"]]
    titles = (
        "Seconds for value + gradient, one thread (oatgp = 1)",
        "Seconds to the same part of the way from the start to the best ELBO, one thread (oatgp = 1)",
        "Peak memory of one value + gradient (oatgp = 1)",
    )
    return chart.draw(list(zip(titles, (evaluations, races, memory), strict=True)))


def _labelled(ratios, order=None):
    return {label_of(key): ratios[key] for key in (order or ratios) if key in ratios}


def _race_bars(results, problem):
    race = Race(results["fits"][problem])
    goal = race.common_goal()
    return f"{_title(results, problem)}: to {100 * goal:g} %", _labelled(race.ratios(goal))


def _title(results, problem):
    return f"{problem} ({_size(results, problem)})"


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
    return f"## {title}\n\n{text}\n\n" + _table(["data", "rows × inputs, knots", *map(label_of, names)], rows)


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
            *(f"to {100 * part:g} %" for part in GOALS),
            "first evaluation",
            "whole fit",
            "ended",
            "evaluations",
            "way",
            "ELBO",
        ]
        parts.append(text + "\n\n" + _table(head, rows))
    return """\
## Seconds to the same ELBO

From the same start, with the package's usual optimiser (for oatgp: `oatgp fit`, time of the fit without reading the file). The goals are
parts of the way from the start to the best ELBO that any of them reached; the figure has the highest that at least half of them reached
(a rule made after Airfoil had been seen, where oatgp and others end in different optima; every goal is in the tables).
The bound has many local optima, so that the best may be out of reach for others. The first evaluation contains compilation. Medians where
there were several rounds.

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
                peak = f"{told['peak_kib'] / 2**20:.2f} GiB"
                rows.append(
                    [problem, _size(results, problem), label_of(name), peak, f"{ratios.get(name, math.nan):.3g}", _time(told["seconds"])]
                )
    limits = {told["limit"] for peers in results["memory"].values() for told in peers.values() if works(told)}
    limit = f"; a process may allocate {max(limits) / 2**30:.1f} GiB" if limits else ""
    return f"""\
## Peak memory

Of a fresh process that reads the data and computes value and gradient once (that time is with compilation and without
warm-up){limit}. With `--memory 64M` oatgp keeps nothing of size rows x knots and makes it again when needed.

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

Of the fits above, on rows that were not used for fitting, in the target's units: root mean squared error, median and mean negative log
predictive density. GPBoost has FITC with knots of its own choice, which it does not move; scikit-learn has the exact GP.

""" + _table(["data", "package", "RMSE", "MNLP", "mean NLP", "fit", "ended"], rows)


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

The objective at the start, its relative difference from `oatgp objective` (for scikit-learn: with `--approx full`), and the norm of the
derivative in the knots.

""" + _table(["data", "package", "objective", "difference", "norm of the knots' derivative"], rows)


def _failures(results):
    lines = [f"- **{label}**: {reason} ({_listed(what)})." for (label, reason), what in failures(results).items()]
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
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
