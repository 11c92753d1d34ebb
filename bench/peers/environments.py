"""Makes one virtual environment for each requirements-NAME.txt, so that packages that conflict, or one that cannot be installed, do not
affect the others. Needs only the standard library. An environment whose requirements did not change is kept."""

import hashlib
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"


def names():
    return sorted(path.stem.removeprefix("requirements-") for path in HERE.glob("requirements-*.txt"))


def python_of(name):
    return BUILD / f"peers-venv-{name}" / "bin" / "python"


def failure_of(name):
    """Why the environment could not be made, or None."""
    reason = _folder(name) / "failure.txt"
    return reason.read_text() if reason.exists() else None


def make(name):
    folder = _folder(name)
    requirements = HERE / f"requirements-{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    made = folder / "made-from.txt"
    if made.exists() and made.read_text() == digest:
        return
    print(f"peers: installing {name} (once)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    failure = _install(folder, requirements)
    if failure is None:
        made.write_text(digest)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "failure.txt").write_text(failure)
        print(f"peers: {name} could not be installed: {failure}", flush=True)


def _folder(name):
    return BUILD / f"peers-venv-{name}"


def _install(folder, requirements):
    """None, or the last line of what went wrong."""
    steps = (
        [sys.executable, "-m", "venv", folder],
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements],
    )
    for step in steps:
        done = subprocess.run([str(part) for part in step], capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            return said[-1] if said else f"exit status {done.returncode}"
    return None


if __name__ == "__main__":
    for environment in names():
        make(environment)
    if failure_of("base") is not None:
        sys.exit("peers: without the base environment nothing can be measured")
