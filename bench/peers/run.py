"""Compares oatgp with other packages on the same work: run.py [--quick] [--out DIR]. See docs/benchmarks.md for what it measures.

An interrupted run goes on where it was, as long as oatgp and the packages are the same. DIR gets benchmarks.json, .md and .svg; it is docs,
or build/peers/quick for a quick run."""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import measure
import problems
import report
from peer_oatgp import COMMAND, EVAL
from problems import ROOT
from team import Team

WORK = ROOT / "build" / "peers"
DATA = (ROOT / "data", ROOT.parent / "shared" / "data")


def main():
    options = _options()
    plan, kind = (measure.QUICK, "quick") if options.quick else (measure.FULL, "full")
    out = pathlib.Path(options.out or (WORK / "quick" if options.quick else ROOT / "docs"))
    state = WORK / f"state-{kind}.json"
    results = _begin_or_continue(state, kind)
    bench = measure.Bench(plan, _problems(plan, results), _log_folder(), results, lambda: _write(state, results))
    _measure(bench)
    report.write(results, out)
    state.unlink()
    bench.say(f"done: {out / 'benchmarks.md'}")


def _measure(bench):
    """Memory first, as long as no other process holds any."""
    for problem in filter(bench.has, bench.plan.memory):
        measure.memory(bench, problem)
    with Team(1, bench.log_folder) as one:
        measure.versions(bench, one)
        measure.evaluations(bench, one)
        with Team(2, bench.log_folder) as two:
            measure.evaluations(bench, two)
        for fit in bench.plan.fits:
            if bench.has(fit.problem):
                measure.fits(bench, one, fit)
        for problem in filter(bench.has, bench.plan.choices):
            measure.choices(bench, one, problem)


def _options():
    parser = argparse.ArgumentParser(prog="script/bench peers")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller problems, in four minutes")
    parser.add_argument("--out", metavar="DIR", help="where the results are written")
    return parser.parse_args()


def _begin_or_continue(state, kind):
    results = dict(about=_about(kind))
    if state.exists():
        earlier = json.loads(state.read_text())
        if earlier["about"]["key"] == results["about"]["key"]:
            print(f"peers: going on with the run of {earlier['about']['date']} ({state}; delete it to begin again)", flush=True)
            return earlier
    return results


def _about(kind):
    parts = [COMMAND.read_bytes(), EVAL.read_bytes()]
    parts += [path.read_bytes() for path in sorted(pathlib.Path(__file__).parent.glob("*.[pt][yx]*"))]
    return dict(
        kind=kind,
        key=hashlib.sha256(b"".join(parts)).hexdigest(),
        date=datetime.date.today().isoformat(),
        commit=_commit(),
        cpu=_cpu(),
        cores=os.cpu_count(),
        memory_gib=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
    )


def _commit():
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def _cpu():
    with open("/proc/cpuinfo") as facts:
        return next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), "unknown")


def _problems(plan, results):
    """Folders of the problems that can be made; the others go to the results with the reason."""
    folders, told = {}, results.setdefault("problems", {})
    for name in plan.problems():
        spec, folder = problems.SPECS[name], WORK / "problems" / name
        reason = problems.write(spec, folder, DATA)
        told[name] = dict(rows=spec.rows, inputs=spec.inputs, knots=spec.knots)
        if reason is None:
            folders[name] = folder
        else:
            told[name]["missing"] = reason
            print(f"peers: {name} is skipped: {reason}", flush=True)
    return folders


def _log_folder():
    folder = WORK / "log"
    folder.mkdir(parents=True, exist_ok=True)
    for log in folder.iterdir():
        log.unlink()
    return folder


def _write(path, results):
    """Whole or not at all."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(results))
    beside.rename(path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("peers: interrupted; the same command goes on from here")
