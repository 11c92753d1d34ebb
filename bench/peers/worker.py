"""One package in one process: worker.py NAME THREADS MEMORY_LIMIT. Reads a JSON command a line, answers with a JSON object a line.
What the package itself prints goes to standard error. Where the limit (bytes) is passed, allocation fails in this process alone."""

import importlib
import json
import os
import resource
import sys

import numpy as np

from problems import Problem


def load(peer, command):
    peer.load(Problem(command["folder"]))
    return {}


def check(peer, command):
    """Also the warm-up: where there is a compiler, it has compiled after this."""
    elbo, gradient = peer.value_and_gradient()
    return dict(elbo=elbo, knot_gradient_norm=None if gradient is None else float(np.linalg.norm(gradient)))


def reference(peer, command):
    return dict(elbo=peer.objective_of(command["approx"]))


def measure(peer, command):
    count, seconds = peer.time_evaluations(command["seconds"])
    return dict(count=count, seconds=seconds)


def fit(peer, command):
    return peer.fit(command["optimizer"], command["seconds"])


def score(peer, command):
    """RMSE, median and mean of the negative log predictive density at the test rows, in the units of the target, and the share of them
    within the central 95 % of their predictions."""
    problem = Problem(command["folder"])
    x, y = problem.test()
    mean, variance = peer.predict(x)
    error = y - mean
    density = 0.5 * np.log(2 * np.pi * variance) + 0.5 * error**2 / variance + np.log(problem.y_scale)
    rmse = np.sqrt(np.mean(error**2)) * problem.y_scale
    inside = float(np.mean(np.abs(error) <= 1.959964 * np.sqrt(variance)))
    return dict(rmse=float(rmse), mnlp=float(np.median(density)), nlp=float(np.mean(density)), coverage=inside)


def memory(peer, command):
    return dict(peak_kib=peer.peak_kib())


def about(peer, command):
    return dict(versions=peer.versions())


COMMANDS = {action.__name__: action for action in (load, check, reference, measure, fit, score, memory, about)}


def serve(peer, answers):
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = COMMANDS[command["do"]](peer, command)
        except NotImplementedError as reason:
            answer = dict(failed=str(reason), memory=False)
        except Exception as error:  # whatever a package throws is its result
            sentence = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            answer = dict(failed=sentence, memory="alloc" in sentence.lower() or "memory" in sentence.lower())
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main(name, threads, limit):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with open("/proc/self/oom_score_adj", "w") as score_file:
        score_file.write("1000")  # if the machine's memory runs out all the same, the kernel ends this process first
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    serve(importlib.import_module(f"peer_{name}").Peer(threads), answers)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
