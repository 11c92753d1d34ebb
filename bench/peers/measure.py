"""The measurements. Each fills one part of the results and leaves alone what an earlier, interrupted run has put there."""

import dataclasses
import statistics
import time

from team import ROSTER, Failed, Worker, memory_limit

AGREEMENT = 1e-6  # relative; who computes another number is not timed
SLOW = 10  # seconds: an evaluation that takes longer is timed once
ROUNDS = 15
LEAST_CHOICE, MOST_CHOICE = 5, 90  # seconds of a choice that is timed
PATIENCE_CHOICE = 180  # for one that ends by itself
REST = 0.1  # seconds between turns: threads that wait by spinning, as those of OpenBLAS do, go to sleep meanwhile
GRACE = 45  # seconds that a fit may take beyond its limit before its process is ended


@dataclasses.dataclass(frozen=True)
class FitPlan:
    problem: str
    seconds: float
    rounds: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which problems each measurement uses. `budget` bounds the rounds over one problem, `minutes` the whole."""

    evaluations: dict  # threads -> problems
    memory: tuple
    fits: tuple
    choices: tuple
    budget: float
    minutes: float
    quick: bool = False

    def has(self, entry):
        return entry.quick or not self.quick

    def problems(self):
        names = [name for several in self.evaluations.values() for name in several]
        return list(dict.fromkeys(names + list(self.memory) + [fit.problem for fit in self.fits] + list(self.choices)))


FULL = Plan(
    evaluations={1: ("boston", "airfoil", "ccpp", "20k-200", "20k-512", "50k-200"), 2: ("ccpp", "20k-200", "20k-512")},
    memory=("50k-200", "500k-512"),
    fits=(
        FitPlan("ccpp", 45, 1),
        FitPlan("boston", 10, 3),
        FitPlan("airfoil", 15, 1),
        FitPlan("50k-200", 30, 1),
        FitPlan("500k-64", 30, 1),
    ),
    choices=("concrete", "ccpp-all", "protein"),
    budget=20,
    minutes=55,
)
QUICK = Plan(
    evaluations={1: ("boston", "ccpp", "20k-200"), 2: ("ccpp",)},
    memory=("50k-200",),
    fits=(FitPlan("boston", 4, 1), FitPlan("ccpp", 8, 1)),
    choices=(),
    budget=8,
    minutes=4,
    quick=True,
)


class Bench:
    """The state of a run: the plan, the problems' folders, the results, and functions that save and report."""

    def __init__(self, plan, folders, log_folder, results, save):
        self.plan, self.folders, self.log_folder, self.results, self.save = plan, folders, log_folder, results, save
        self.began = time.monotonic()

    def say(self, text):
        print(f"peers: [{time.monotonic() - self.began:4.0f} s] {text}", flush=True)

    def part(self, *names):
        place = self.results
        for name in names:
            place = place.setdefault(name, {})
        return place

    def folder(self, problem):
        return str(self.folders[problem])

    def has(self, problem):
        return problem in self.folders

    def check_time(self):
        if time.monotonic() - self.began > self.plan.minutes * 60:
            raise Failed(f"not measured: the {self.plan.minutes} minutes of the whole run were over")


def versions(bench, team):
    """The available packages, and the reasons why others cannot be used."""
    part = bench.part("packages")
    for name, entry in ROSTER.items():
        if name not in part:
            part[name] = _attempt(_versions_of, bench, team, entry)
            bench.say(f"{entry.label}: {part[name].get('versions') or part[name]['failed']}")
            bench.save()


def _versions_of(bench, team, entry):
    if not bench.plan.has(entry):
        raise Failed("left out of a quick run")
    return team.worker(entry.name).ask("about")


def evaluations(bench, team):
    part = bench.part("evaluations", str(team.threads))
    for problem in filter(bench.has, bench.plan.evaluations[team.threads]):
        if problem not in part:
            part[problem] = _evaluations_of(bench, team, problem)
            bench.save()


def _evaluations_of(bench, team, problem):
    names = [name for name, entry in ROSTER.items() if entry.timed and bench.plan.has(entry)]
    outcome = {name: _attempt(_agreement, bench, team, name, problem) for name in names}
    ready = [name for name, told in outcome.items() if "failed" not in told]
    began, turn = time.monotonic(), 0
    while ready and turn < ROUNDS and (turn < 3 or time.monotonic() - began < bench.plan.budget):
        for name in ready:
            if turn == 0 or outcome[name]["warm_seconds"] < SLOW:
                told = _attempt(_timed, team, name)
                outcome[name].setdefault("rounds", []).append(told.get("seconds"))
        turn += 1
    for name in ready:
        rounds = [seconds for seconds in outcome[name].pop("rounds") if seconds is not None]
        outcome[name].update(dict(seconds=statistics.median(rounds), rounds=rounds) if rounds else dict(failed="the process died"))
    told = ", ".join(f"{ROSTER[name].label} {_seconds(told)}" for name, told in outcome.items())
    bench.say(f"value + gradient, {team.threads} thread(s), {problem}: {told}")
    return outcome


def _agreement(bench, team, name, problem):
    """Loads the problem, warms up, and compares the value with `oatgp objective`."""
    bench.check_time()
    worker, judge = team.worker(name), team.worker("oatgp")
    worker.ask("load", folder=bench.folder(problem))
    found = worker.ask("check")
    judge.ask("load", folder=bench.folder(problem))
    right = judge.ask("reference", approx=ROSTER[name].objective)["elbo"]
    began = time.monotonic()
    worker.ask("check")
    told = dict(found, reference=right, difference=abs(found["elbo"] - right) / abs(right), warm_seconds=time.monotonic() - began)
    if told["difference"] > AGREEMENT:
        raise Failed(f"its objective differs: {found['elbo']:.10g} where oatgp has {right:.10g}")
    return told


def _timed(team, name):
    time.sleep(REST)
    return team.worker(name).ask("measure", seconds=0.05)


def memory(bench, problem):
    """Peak memory of a process that loads the problem and evaluates once."""
    part = bench.part("memory", problem)
    for name, entry in ROSTER.items():
        if entry.weighed and bench.plan.has(entry) and name not in part:
            part[name] = _attempt(_memory_of, bench, name, problem)
            bench.say(f"memory, {problem}, {entry.label}: {_gib(part[name])}")
            bench.save()


def _memory_of(bench, name, problem):
    bench.check_time()
    worker = Worker(name, 1, bench.log_folder / f"{name}.txt")
    try:
        worker.ask("load", folder=bench.folder(problem))
        loaded = worker.ask("memory")["peak_kib"]
        began = time.monotonic()
        found = worker.ask("check")
        return dict(found, seconds=time.monotonic() - began, loaded_kib=loaded, limit=memory_limit(), **worker.ask("memory"))
    finally:
        worker.end()


def fits(bench, team, plan):
    part = bench.part("fits", plan.problem)
    pairs = [(name, optimizer) for name, entry in ROSTER.items() for optimizer in entry.optimizers]
    for turn in range(plan.rounds):
        for name, optimizer in pairs:
            done = part.setdefault(f"{name}, {optimizer}", [])
            if len(done) <= turn and not (done and "failed" in done[0]):
                done.append(_attempt(_fit, bench, team, plan, (name, optimizer)))
                bench.say(f"fit {turn + 1}/{plan.rounds}, {plan.problem}, {ROSTER[name].label}, {optimizer}: {_fitted(done[-1])}")
                bench.save()


def _fit(bench, team, plan, pair):
    bench.check_time()
    name, optimizer = pair
    worker, folder = team.worker(name), bench.folder(plan.problem)
    worker.ask("load", folder=folder)
    told = worker.ask("fit", optimizer=optimizer, seconds=plan.seconds, limit=plan.seconds + GRACE)
    return dict(told, **worker.ask("score", folder=folder, limit=GRACE))


def choices(bench, team, problem):
    """Whole fits as a user would make them. A package that does not end by itself gets the seconds of oatgp, and then ten times as many."""
    part = bench.part("choices", problem)
    for name in sorted((name for name, entry in ROSTER.items() if entry.choice), key=lambda name: name != "oatgp_auto"):
        if name not in part:
            part[name] = [_attempt(_choice, bench, team, name, (problem, seconds)) for seconds in _choice_seconds(part, name)]
            told = "; ".join(_chosen(told) for told in part[name])
            bench.say(f"choice, {problem}, {ROSTER[name].label}: {told}")
            bench.save()


def _choice_seconds(part, name):
    if ROSTER[name].choice == "once":
        return [PATIENCE_CHOICE]
    equal = max(LEAST_CHOICE, part["oatgp_auto"][0].get("seconds", LEAST_CHOICE))
    return [equal, max(equal, min(10 * equal, MOST_CHOICE))]


def _choice(bench, team, name, work):
    bench.check_time()
    problem, seconds = work
    worker, folder = team.worker(name), bench.folder(problem)
    worker.ask("load", folder=folder)
    told = worker.ask("fit", optimizer=None, seconds=seconds, limit=seconds + GRACE)
    return dict(seconds=told["seconds"], stop=told["stop"], **worker.ask("score", folder=folder, limit=GRACE))


def _chosen(told):
    return told["failed"] if "failed" in told else f"{told['seconds']:.1f} s ({told['stop']}), RMSE {told['rmse']:.4g}, NLP {told['nlp']:.4f}"


def _attempt(action, *arguments):
    """Returns the result of the action, or the reason why it failed."""
    try:
        return action(*arguments)
    except Failed as reason:
        return dict(failed=str(reason))


def _seconds(told):
    return f"{told['seconds']:.3g} s" if "failed" not in told else "-"


def _gib(told):
    return f"{told['peak_kib'] / 2**20:.2f} GiB, {told['seconds']:.1f} s" if "failed" not in told else told["failed"]


def _fitted(told):
    if "failed" in told:
        return told["failed"]
    elbo = "" if told["elbo"] is None else f"ELBO {told['elbo']:.2f}, "
    return f"{told['seconds']:.1f} s ({told['stop']}), {elbo}RMSE {told['rmse']:.4g}, MNLP {told['mnlp']:.4f}"
