"""oatgp: evaluations by the C program oatgp_eval, fits and predictions by the command."""

import json
import pathlib
import subprocess
import tempfile

import numpy as np

from peer import JITTER, Interface

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "bench"
COMMAND, EVAL = BUILD / "oatgp", BUILD / "bench" / "oatgp_eval"


class Peer(Interface):
    memory = 0  # of the caches, in bytes; 0 is the default of oatgp

    def __init__(self, threads):
        super().__init__(threads)
        self.process, self.peak = None, None
        self.folder = tempfile.TemporaryDirectory()
        self.model = pathlib.Path(self.folder.name) / "model.oatgp"

    def versions(self):
        return "oatgp " + run("--version").split()[1]

    def load(self, problem):
        """A fit starts anew by itself; only the program that evaluates holds a problem."""
        if self.process is not None and problem.folder != self.problem.folder:
            self.process.stdin.close()
            self.process.wait()
            self.process = None
        self.problem = problem

    def value_and_gradient(self):
        answer = self._evaluate(0)
        return answer["elbo"], np.array([answer["knot_gradient_norm"]])

    def time_evaluations(self, least_seconds):
        answer = self._evaluate(least_seconds)
        return answer["count"], answer["seconds"]

    def peak_kib(self):
        return self.peak

    def objective_of(self, approx):
        """What `oatgp objective` says: the number that all others are held against."""
        return json.loads(run("objective", *self._data(), *self._model(approx), "--json"))["objective"]

    def fit(self, optimizer, seconds):
        trace = pathlib.Path(self.folder.name) / "trace.jsonl"
        limit = ("--prior", "none", "--time-limit", str(seconds))  # the others have no priors
        said = json.loads(run("fit", *self._data(), *self._model("vfe"), *limit, "--trace", str(trace), "-o", str(self.model), "--json"))
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        steps = [event for event in events if "best" in event]  # an evaluation that takes long tells how far it is
        return dict(
            trace=[(step["seconds"], step["best"]) for step in steps],
            evaluations=said["evaluations"],
            first=steps[0]["seconds"],
            seconds=said["seconds"],
            stop="time limit" if said["stop"] == "time" else "converged",
            elbo=said["objective"],
        )

    def predict(self, x):
        rows, out = pathlib.Path(self.folder.name) / "rows.npy", pathlib.Path(self.folder.name) / "predictions.csv"
        np.save(rows, x)
        run("predict", str(self.model), str(rows), "-o", str(out), "--threads", str(self.threads))
        table = np.genfromtxt(out, delimiter=",", names=True)
        return table["mean"], np.square(table["sd"])

    def _data(self):
        return str(self.problem.train_file), "--target", "last", "--no-scale", "--mean", "0", "--threads", str(self.threads)

    def _model(self, approx):
        problem = self.problem
        start = (
            "--sigma",
            repr(problem.sigma),
            "--tau",
            repr(problem.tau),
            "--lengthscale",
            ",".join(map(repr, map(float, problem.lengthscales))),
        )
        knots = () if approx == "full" else ("--knots", str(problem.knots_file), "--jitter-absolute", repr(JITTER))
        return "--approx", approx, "--kernel", "se-ard", *start, *knots

    def _evaluate(self, least_seconds):
        if self.process is None:
            self._start()
        self.process.stdin.write(f"{least_seconds}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"oatgp_eval ended with status {self.process.wait()}")
        answer = json.loads(line)
        self.peak = answer["peak_kib"]
        return answer

    def _start(self):
        problem = self.problem
        numbers = [self.threads, self.memory, problem.sigma, problem.tau, *map(float, problem.lengthscales)]
        words = [str(EVAL), str(problem.train_file), str(problem.knots_file), *map(repr, numbers)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(*words):
    done = subprocess.run([str(COMMAND), *words], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.strip() or f"oatgp ended with status {done.returncode}")
    return done.stdout
