"""The interface of a package in the comparison. One file peer_NAME.py for each, with a class Peer of this interface.

All use the squared exponential kernel with a lengthscale for each input, prior mean zero, and JITTER added to the diagonal of the knots'
covariance, so that the evidence lower bound is the same number for all."""

import time

JITTER = 1e-6


class TimeUp(Exception):
    """The fit has used its seconds."""


class Recorder:
    """Follows a fit: call it with every ELBO that the optimiser has computed, and where. Keeps the trace of improvements and the best
    point; raises TimeUp when the seconds are used up."""

    def __init__(self, seconds):
        self.limit, self.began = seconds, time.perf_counter()
        self.trace, self.evaluations, self.first = [], 0, None
        self.best, self.best_point = -float("inf"), None

    def __call__(self, elbo, point=None):
        now = time.perf_counter() - self.began
        self.evaluations += 1
        self.first = now if self.first is None else self.first
        if elbo > self.best:
            self.best, self.best_point = elbo, point() if callable(point) else point
            self.trace.append((now, elbo))
        if now > self.limit:
            raise TimeUp

    def run(self, optimise):
        """Runs the optimiser to its end or to the limit, and returns a summary."""
        stop = "converged"
        try:
            optimise()
        except TimeUp:
            stop = "time limit"
        seconds = time.perf_counter() - self.began
        return dict(trace=self.trace, evaluations=self.evaluations, first=self.first, seconds=seconds, stop=stop, elbo=self.best)


class Interface:
    """Methods that a package cannot offer raise NotImplementedError with the reason."""

    def __init__(self, threads):
        self.threads = threads

    def versions(self):
        """The versions of the package and of its libraries, as text."""
        raise NotImplementedError

    def load(self, problem):
        """Builds the model at the starting point."""
        raise NotImplementedError

    def value_and_gradient(self):
        """(ELBO, its derivative in the knots as an array or None); computes the derivative in all parameters too."""
        raise NotImplementedError

    def fit(self, optimizer, seconds):
        """Optimises parameters and knots; what Recorder.run returns."""
        raise NotImplementedError

    def predict(self, x):
        """(mean, variance of an observation) at the rows of x."""
        raise NotImplementedError

    def time_evaluations(self, least_seconds):
        """(number, seconds of each): evaluates for at least so long."""
        count, began, seconds = 0, time.perf_counter(), 0
        while count == 0 or seconds < least_seconds:
            self.value_and_gradient()
            count += 1
            seconds = time.perf_counter() - began
        return count, seconds / count

    def peak_kib(self):
        """Peak of the resident memory."""
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
