"""The command as a user types it, for tests: where it is, a run of it, and what it prints when all is well or not."""

import json
import os
import pathlib
import re
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("HEATBALL_BUILD", ROOT / "build"))
COMMAND = os.environ.get("HEATBALL_COMMAND", str(BUILD / "heatball"))


def run(*arguments, text=True, timeout=300, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([COMMAND, *map(str, arguments)], stderr=subprocess.PIPE, text=text, timeout=timeout, **options)


def without_progress(text):
    """What stands on stderr without the lines of progress that a slow machine adds."""
    return re.sub(r"^heatball \w+: .* left\n", "", text, flags=re.MULTILINE)


def run_quietly(*arguments, **options):
    done = run(*arguments, **options)
    done.stderr = without_progress(done.stderr)
    return done


def succeed(*arguments, **options):
    """What is printed; nothing but progress may stand on stderr."""
    done = run_quietly(*arguments, **options)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
    return done.stdout


def complaint(done, code=2, command=r"\w+"):
    """The one line on stderr of a run that failed with this exit code."""
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), done.stderr
    assert re.match(rf"heatball( {command})?: ", done.stderr), done.stderr
    assert done.stdout in ("", None)
    return done.stderr[:-1]


def metadata(path):
    """The texts in the header of a .safetensors file."""
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]


def idx(values):
    """The bytes of an IDX file, the format of MNIST."""
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()
