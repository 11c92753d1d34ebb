"""Shared by the tables and the figures: a summary of the results."""

import math
import statistics

from team import ROSTER

GOALS = (0.95, 0.99, 0.999, 0.9999)  # parts of the way from the start to the best ELBO that any package reached


def label_of(key):
    """Of "name" or "name, optimizer"."""
    name, _, optimizer = key.partition(", ")
    return ROSTER[name].label + (f", {optimizer}" if optimizer else "")


def works(told):
    return "failed" not in told


def evaluation_ratios(results, threads, problem):
    """{peer: seconds / seconds of oatgp} for everyone who evaluates the same objective."""
    told = results["evaluations"].get(threads, {}).get(problem, {})
    seconds = {name: one["seconds"] for name, one in told.items() if works(one) and ROSTER[name].objective == "vfe"}
    return {name: value / seconds["oatgp"] for name, value in seconds.items()} if "oatgp" in seconds else {}


class Race:
    """The fits of one problem: the seconds of each package to each ELBO."""

    def __init__(self, fits):
        self.fits = {key: [told for told in rounds if works(told)] for key, rounds in fits.items()}
        self.fits = {key: rounds for key, rounds in self.fits.items() if rounds}
        self.racers = {key: rounds for key, rounds in self.fits.items() if ROSTER[key.partition(", ")[0]].objective == "vfe"}
        tops = [told["elbo"] for rounds in self.racers.values() for told in rounds]
        starts = [told["trace"][0][1] for rounds in self.racers.values() for told in rounds]
        self.best, self.start = max(tops, default=math.nan), min(starts, default=math.nan)

    def goal(self, part):
        return self.start + part * (self.best - self.start)

    def seconds_to(self, key, part):
        """Median over the rounds; infinity if the goal was not reached."""
        goal = self.goal(part)
        return statistics.median(next((s for s, elbo in told["trace"] if elbo >= goal), math.inf) for told in self.racers[key])

    def first_to_goals(self, trace):
        """The places in a trace where a goal is reached first."""
        firsts = (next((i for i, (_, elbo) in enumerate(trace) if elbo >= self.goal(part)), None) for part in GOALS)
        return {i for i in firsts if i is not None}

    def way(self, key):
        """Part of the way from the start to the best ELBO."""
        return (max(told["elbo"] for told in self.racers[key]) - self.start) / (self.best - self.start)

    def common_goal(self):
        """The highest goal that at least half of them reached, or the lowest of all."""
        reached = {part: sum(math.isfinite(self.seconds_to(key, part)) for key in self.racers) for part in GOALS}
        return max((part for part in GOALS if 2 * reached[part] >= len(self.racers)), default=min(GOALS))

    def ratios(self, part):
        """The ratio to oatgp's seconds, or a word if the package, or oatgp, did not reach the goal."""
        seconds = {key: self.seconds_to(key, part) for key in self.racers}
        ours = next((value for key, value in seconds.items() if key.startswith("oatgp,")), math.inf)
        words = {key: "not reached" if math.isinf(value) else f"{value:.3g} s" for key, value in seconds.items()}
        return {key: words[key] if math.isinf(max(value, ours)) else value / ours for key, value in seconds.items()}


def memory_ratios(results, problem):
    """The ratio to oatgp's peak, or a word for a package that failed."""
    told = results["memory"].get(problem, {})
    if not works(told.get("oatgp", dict(failed=""))):
        return {}
    return {name: one["peak_kib"] / told["oatgp"]["peak_kib"] if works(one) else "failed" for name, one in told.items()}


def failures(results):
    """{(package, reason): {what was to be measured: [problems]}}."""
    found = {}
    for name, told in results["packages"].items():
        _note(found, name, told, ("everything", None))
    for threads, problems in results["evaluations"].items():
        for problem, peers in problems.items():
            for name, told in peers.items():
                _note(found, name, told, (f"value + gradient on {threads} thread{'s' if threads != '1' else ''}", problem))
    for problem, peers in results["memory"].items():
        for name, told in peers.items():
            _note(found, name, told, ("memory", problem))
    for problem, fits in results["fits"].items():
        for key, rounds in fits.items():
            for told in rounds:
                _note(found, key.partition(", ")[0], told, ("fit", problem))
    for problem, peers in results.get("choices", {}).items():
        for name, rounds in peers.items():
            for told in rounds:
                _note(found, name, told, ("whole fit", problem))
    return found


def _note(found, name, told, where):
    if not works(told):
        what, problem = where
        problems = found.setdefault((ROSTER[name].label, told["failed"]), {}).setdefault(what, [])
        if problem is not None and problem not in problems:
            problems.append(problem)
