"""The driver's side of the workers: starts them, calls them, and turns every failure into a reason."""

import dataclasses
import json
import os
import pathlib
import select
import subprocess

import environments

HERE = pathlib.Path(__file__).resolve().parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
PATIENCE = 150  # seconds for an answer, unless it says otherwise
SETTING = dict(
    PYTHONPATH=str(HERE),
    PYTHONDONTWRITEBYTECODE="1",
    GOMP_SPINCOUNT="1000",  # who waits for a turn must not use the processor; a thread spins for some microseconds, as in the command
    TORCHINDUCTOR_CACHE_DIR=str(environments.BUILD / "peers" / "torch"),
)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A package under comparison: its file peer_NAME.py, the environment that it runs in, the objective that it is held against (an
    --approx of oatgp), its usual optimisers, whether its evaluations are timed, its memory is measured, and a quick run has it; and whether
    it is a choice that a user has for a whole fit: one that ends by itself ("once") or when its time is over ("timed")."""

    name: str
    label: str
    environment: str
    objective: str
    optimizers: tuple
    timed: bool = True
    weighed: bool = True
    quick: bool = True
    choice: str = ""


def _choice(name, label, environment, choice):
    """Packages that take part only in the choices."""
    return Entry(name, label, environment, "", (), timed=False, weighed=False, quick=False, choice=choice)


ROSTER = {
    entry.name: entry
    for entry in (
        Entry("oatgp", "oatgp", "base", "vfe", ("L-BFGS",)),
        Entry("oatgp_small", "oatgp, --memory 64M", "base", "vfe", (), timed=False),
        Entry("torch", "plain torch", "torch", "vfe", ("L-BFGS-B",)),
        Entry("torch_compiled", "plain torch, compiled", "torch", "vfe", (), weighed=False, quick=False),
        Entry("gpflow", "GPflow", "gpflow", "vfe", ("L-BFGS-B",)),
        Entry("gpflow_xla", "GPflow, XLA", "gpflow", "vfe", (), weighed=False, quick=False),
        Entry("gpytorch", "GPyTorch", "torch", "vfe", ("L-BFGS", "Adam")),
        Entry("gpy", "GPy", "gpy", "vfe", ("L-BFGS-B",)),
        Entry("sklearn", "scikit-learn, exact", "base", "full", ("L-BFGS-B",), choice="timed"),
        Entry("gpboost", "GPBoost, FITC", "gpboost", "fitc", ("L-BFGS",)),
        _choice("oatgp_auto", "oatgp, automatic", "base", "once"),
        _choice("gpflow_svgp", "GPflow, SVGP", "gpflow", "timed"),
        _choice("gpflow_cglb", "GPflow, CGLB", "gpflow", "timed"),
        _choice("gpboost_full", "GPBoost, full scale", "gpboost", "once"),
        _choice("gpboost_vecchia", "GPBoost, Vecchia", "gpboost", "once"),
        _choice("catboost", "CatBoost", "catboost", "once"),
    )
}


class Failed(Exception):
    """The reason why a peer gave no result."""


def memory_limit():
    """Bytes that one worker may allocate: nine tenths of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 9 // 10


class Worker:
    def __init__(self, name, threads, log):
        reason = environments.failure_of(ROSTER[name].environment)
        if reason is not None:
            raise Failed(f"could not be installed: {reason}")
        setting = dict(os.environ, **SETTING, **dict.fromkeys(THREAD_VARIABLES, str(threads)))
        words = [environments.python_of(ROSTER[name].environment), HERE / "worker.py", name, threads, memory_limit()]
        self.log = open(log, "a")
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=setting
        )

    def ask(self, do, limit=PATIENCE, **arguments):
        """The answer; Failed if there is none within `limit` seconds, or the package cannot or could not."""
        self._send(dict(do=do, **arguments))
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        if not ready:
            used = self._peak()
            self.end()
            raise Failed(f"not done after {limit:.0f} s, with {used:.1f} GiB used by then")
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self._obituary())
        answer = json.loads(line)
        if "failed" in answer:
            raise Failed(answer["failed"] + (f" ({_limit()})" if answer["memory"] else ""))
        return answer

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()

    @property
    def alive(self):
        return self.process.poll() is None

    def _send(self, command):
        try:
            self.process.stdin.write((json.dumps(command) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._obituary()) from None

    def _peak(self):
        """GiB that the process has used at most."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next((int(line.split()[1]) / 2**20 for line in status.splitlines() if line.startswith("VmHWM")), 0)

    def _obituary(self):
        status = self.process.wait()
        return f"the process died (status {status}; {_limit()}); {_last_words(self.log.name)}"


def _limit():
    return f"a process may allocate {memory_limit() / 2**30:.1f} GiB"


def _last_words(log):
    lines = [line.strip() for line in pathlib.Path(log).read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


class Team:
    """Workers that stay while problems change; one that died is started again when it is next needed."""

    def __init__(self, threads, log_folder):
        self.threads, self.log_folder, self.workers = threads, log_folder, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers.values():
            worker.end()

    def worker(self, name):
        worker = self.workers.get(name)
        if worker is None or not worker.alive:
            worker = Worker(name, self.threads, self.log_folder / f"{name}.txt")
            self.workers[name] = worker
        return worker
