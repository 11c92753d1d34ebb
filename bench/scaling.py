#!/usr/bin/env python3
"""The gain from more threads: seconds and speed-ups of evaluations and of whole fits, for several numbers of threads.

usage: scaling.py [--threads 1,2,4,8,16] [--only CASE,CASE..] [--seconds S] [--rounds R] [--jobs J] [--build DIR] [--data DIR] [--out DIR]

Evaluations are one value with its gradient inside the library (bench/scaling.c). Fits are whole commands. DIR of --out gets scaling.json
and scaling.svg. What is in scaling.json already, from the same programs on the same machine, is not measured again, so that a long run can
be made in parts: no measurement begins after S seconds, and the same command goes on from there. The made-up rows are 15,000 x 18:
x ~ N(0, 1), w ~ N(0, 1) of 18 x 12 / sqrt 18, y = sum sin(1.3 x w) / 3 + x1 / 2 + tanh(x2 x3) + 0.3 noise. A set that is not in DIR of
--data (uci/bike.csv.gz, uci/protein.csv.gz) is left out. "same" says whether the results have the same bits for all numbers of threads.
With --jobs J up to J automatic fits on one thread run side by side, each on a core of its own, after all else has been measured. They share caches and the
clock of the processor with each other, so that their seconds are upper bounds.
"""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent

# name, title, and what it is: N,K,D of an evaluation, or the table and the options of a fit
CASES = [
    ("million", "value + gradient, 1,000,000 x 8, 256 knots", "1000000,256,8"),
    ("large", "value + gradient, 20,000 x 8, 512 knots", "20000,512,8"),
    ("medium", "value + gradient, 4784 x 4, 80 knots", "4784,80,4"),
    ("small", "value + gradient, 392 x 3, 40 knots", "392,40,3"),
    ("machine", "products of 632 x 256 and 256 x 256 matrices, each thread its own", "0,256,632"),
    ("exact", "value + gradient of the exact GP, 5000 x 8", "5000,0,8"),
    ("fit400", "fit, 15,000 x 18, 400 knots, 40 iterations", ("made", ["--select", "simultaneous", "--knots", "random:400", "--max-iter", "40"])),
    ("auto", "automatic fit, 15,000 x 18", ("made", [])),
    ("bike", "automatic fit, bike, 17,379 x 17", ("uci/bike.csv.gz", [])),
    ("protein", "automatic fit, protein, 45,730 x 9", ("uci/protein.csv.gz", [])),
]


def made_up(path):
    draw = random.Random(3)
    w = [[draw.gauss(0, 1) / math.sqrt(18) for _ in range(12)] for _ in range(18)]
    columns = list(zip(*w))
    with open(path, "w") as file:
        for _ in range(15000):
            x = [draw.gauss(0, 1) for _ in range(18)]
            waves = sum(math.sin(1.3 * sum(a * b for a, b in zip(x, column))) for column in columns) / 3
            y = waves + x[0] / 2 + math.tanh(x[1] * x[2]) + 0.3 * draw.gauss(0, 1)
            file.write(",".join(map(repr, [*x, y])) + "\n")


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.evaluate, self.command = (str(options.build / name) for name in ("bench/scaling", "oatgp"))
        self.path = options.out / "scaling.json"
        self.began, self.late, self.lock = time.monotonic(), False, threading.Lock()
        self.waiting = []  # fits on one thread, for the end
        self.results = self.begin_or_continue()

    def begin_or_continue(self):
        programs = b"".join(pathlib.Path(name).read_bytes() for name in (self.evaluate, self.command, __file__))
        about = {"cpu": cpu(), "cores": os.cpu_count(), "key": hashlib.sha256(programs).hexdigest()}
        if self.path.exists():
            earlier = json.loads(self.path.read_text())
            if all(earlier["about"][key] == value for key, value in about.items()):
                return earlier
            print(f"scaling: {self.path} is of other programs or of another machine, and is begun again", file=sys.stderr)
        return {"about": {**about, "date": datetime.date.today().isoformat()}, "cases": {}}

    def over(self):
        self.late = self.late or time.monotonic() - self.began > self.options.seconds
        return self.late

    def save(self, case, threads, seconds, same):
        """Whole or not at all. Of several times the shortest counts."""
        kept = self.kept(case)
        kept["seconds"].setdefault(str(threads), []).append(seconds)
        kept["same"] = kept["same"] and same
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.results, indent=1) + "\n")
        beside.rename(self.path)
        print(f"scaling: {case[0]}, {threads} thread{'s' if threads > 1 else ''}: {seconds:.4g} s", file=sys.stderr, flush=True)

    def kept(self, case):
        return self.results["cases"].setdefault(case[0], {"title": case[1], "seconds": {}, "same": True})

    def measured(self, case, threads):
        return len(self.results["cases"].get(case[0], {"seconds": {}})["seconds"].get(str(threads), []))

    def run(self, words):
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env={"GOMP_SPINCOUNT": "1000", **os.environ})
        if done.returncode != 0:
            sys.exit(f"scaling: '{' '.join(words)}' ended with {done.returncode}")
        return done.stdout

    def evaluation(self, case):
        """All numbers of threads take turns in one process. Existing results are measured again, so that ratios are from one run."""
        wanted = self.options.threads
        if all(self.measured(case, threads) for threads in wanted) or self.over():
            return
        self.results["cases"].pop(case[0], None)
        for line in self.run([self.evaluate, case[2], ",".join(map(str, wanted)), str(self.options.each)]).splitlines():
            found = json.loads(line)
            self.save(case, found["threads"], found["seconds"], found["same"])

    def fit(self, case):
        """The numbers of threads take turns."""
        table, words = case[2]
        path = os.path.join(self.folder, "made.csv") if table == "made" else str(self.options.data / table)
        if table != "made" and not os.path.exists(path):
            print(f"scaling: {case[0]} is left out: there is no {path}", file=sys.stderr)
            return
        for number in range(self.options.rounds):
            for threads in self.options.threads:
                if self.measured(case, threads) > number or self.over():
                    continue
                if table == "made" and not os.path.exists(path):
                    made_up(path)
                if threads == 1 and not words and self.options.jobs > 1:
                    self.waiting.append((case, path, words, threads))
                else:
                    self.fit_once(case, path, words, threads)

    def fits_side_by_side(self):
        """Core i has fit i: none of them waits for another."""
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(self.fit_once, *fit, core) for core, fit in enumerate(self.waiting)]:
                done.result()

    def fit_once(self, case, path, words, threads, core=None):
        model = os.path.join(self.folder, f"{case[0]}-{threads}.oatgp")
        if self.over():
            return
        place = [] if core is None else ["taskset", "-c", str(cores()[core % len(cores())])]
        began = time.monotonic()
        line = self.run([*place, self.command, "fit", path, "--target", "last", "--header", "no", "-o", model, "--threads", str(threads), "--device", "cpu", "--json",
                         "--quiet", *words])
        seconds = time.monotonic() - began
        objective = json.loads(line)["objective"]
        with self.lock:
            self.save(case, threads, seconds, objective == self.kept(case).setdefault("objective", objective))


def cores():
    return sorted(os.sched_getaffinity(0))


def cpu():
    with open("/proc/cpuinfo") as facts:
        return next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), "unknown")


def shortest(case):
    """Threads -> seconds, by the number of threads."""
    return dict(sorted((int(threads), min(seconds)) for threads, seconds in case["seconds"].items()))


def table(results):
    counts = sorted({threads for case in results["cases"].values() for threads in shortest(case)})
    yield "| | " + " | ".join(f"{t} thread{'s' if t > 1 else ''}" for t in counts) + " | same bits |"
    yield "|---" * (len(counts) + 2) + "|"
    for name, *_ in CASES:
        if name in results["cases"]:
            case = results["cases"][name]
            times = shortest(case)
            cells = [cell(times, t) for t in counts]
            yield f"| {case['title']} | " + " | ".join(cells) + f" | {'yes' if case['same'] else 'no'} |"


def cell(times, threads):
    if threads not in times:
        return "-"
    ratio = f" ({times[1] / times[threads]:.2f})" if 1 in times and threads > 1 else ""
    return number(times[threads]) + ratio


def number(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


# ---- the figure: speed-up against threads, both on logarithmic scales ----------------------------------------------------------------

WIDTH, LEFT, TOP, SIDE, LINE = 480, 60, 12, 330, 18
COLOURS = ["#2a7fc0", "#d1601f", "#2e8b57", "#a35bc0", "#c84878", "#8f7c10", "#0f8f8f", "#7a7a7a", "#c08000"]  # for light and dark pages
STYLE = """<style>
#scaling text{font:12px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1b1b1b}
#scaling .bg{fill:#ffffff}
#scaling .grid{stroke:#e4e4e4}
#scaling .ideal{stroke:#8c8c8c;stroke-dasharray:4 4}
@media screen and (prefers-color-scheme:dark){
#scaling text{fill:#e8e8e8}
#scaling .bg{fill:#15171b}
#scaling .grid{stroke:#32363d}
}
</style>"""
DASHES = ["none", "7 3", "2 3"]


def figure(results):
    drawn = [(name, results["cases"][name]) for name, *_ in CASES if name in results["cases"]]
    drawn = [(case["title"], shortest(case)) for _, case in drawn if 1 in shortest(case) and len(case["seconds"]) > 1]
    most = max([2] + [threads for _, times in drawn for threads in times])
    lowest = min([1.0] + [times[1] / seconds for _, times in drawn for seconds in times.values()])
    low = math.floor(math.log2(lowest) + 1e-9)
    scale = (lambda t: LEFT + SIDE * math.log2(t) / math.log2(most)), (lambda r: TOP + SIDE * (1 - (math.log2(r) - low) / (math.log2(most) - low)))
    parts = [*axes(most, low, scale)]
    for i, (title, times) in enumerate(drawn):
        parts += curve(i, title, times, scale)
    label = "Speed-up against the number of threads: " + "; ".join(
        f"{title}: {times[1] / times[max(times)]:.3g} with {max(times)} threads" for title, times in drawn)
    height = TOP + SIDE + 60 + LINE * len(drawn)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" id="scaling" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">'
            f'<title>{escape(label)}</title>')
    return "\n".join([head, STYLE, f'<rect class="bg" width="{WIDTH}" height="{height}"/>', *parts, "</svg>", ""])


def axes(most, low, scale):
    x, y = scale
    for power in range(int(math.log2(most)) + 1):
        yield line(x(2**power), y(2.0**low), x(2**power), y(most), "grid")
        yield text(x(2**power), y(2.0**low) + 18, f"{2 ** power}", "middle")
    for power in range(low, int(math.log2(most)) + 1):
        yield line(x(1), y(2.0**power), x(most), y(2.0**power), "grid")
        yield text(x(1) - 8, y(2.0**power) + 4, f"{2.0 ** power:g}", "end")
    yield line(x(1), y(1), x(most), y(most), "ideal")
    yield text(LEFT + SIDE / 2, TOP + SIDE + 42, "threads", "middle")
    yield f'<text transform="translate(18 {TOP + SIDE / 2:.0f}) rotate(-90)" text-anchor="middle">times faster than one thread</text>'


def curve(i, title, times, scale):
    x, y = scale
    colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
    points = " ".join(f"{x(t):.1f},{y(times[1] / s):.1f}" for t, s in times.items())
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    yield from (f'<circle cx="{x(t):.1f}" cy="{y(times[1] / s):.1f}" r="3" fill="{colour}"/>' for t, s in times.items())
    height = TOP + SIDE + 62 + LINE * i
    yield f'<line x1="10" y1="{height}" x2="38" y2="{height}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    yield text(46, height + 4, f"{title}: {times[1] / times[max(times)]:.3g} with {max(times)}", "start")


def line(x1, y1, x2, y2, kind):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x, y, words, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


# ---- the program -----------------------------------------------------------------------------------------------------------------------


def read_options():
    numbers = lambda given: sorted({int(t) for t in given.split(",")})
    parser = argparse.ArgumentParser(prog="script/bench scaling", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=numbers, default=[1, 2, 4, 8, 16])
    parser.add_argument("--only", default=",".join(case[0] for case in CASES), help="cases: %(default)s")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after so many no measurement begins")
    parser.add_argument("--each", type=float, default=2, help="seconds for an evaluation's rounds, at least three (default: 2)")
    parser.add_argument("--rounds", type=int, default=1, help="of each fit (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="automatic fits on one thread side by side (default: 1)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="where the programs are")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "scaling")
    options = parser.parse_args()
    options.only = options.only.split(",")
    unknown = set(options.only) - {case[0] for case in CASES}
    if unknown:
        parser.error(f"there is no case '{sorted(unknown)[0]}'; the cases are {', '.join(case[0] for case in CASES)}")
    return options


def main():
    options = read_options()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for case in CASES:
            if case[0] in options.only:
                (bench.evaluation if isinstance(case[2], str) else bench.fit)(case)
        bench.fits_side_by_side()
    print("\n".join(table(bench.results)))
    (options.out / "scaling.svg").write_text(figure(bench.results))
    if bench.late:
        print(f"scaling: {options.seconds:g} seconds are over; the same command goes on from here", file=sys.stderr)


if __name__ == "__main__":
    main()
