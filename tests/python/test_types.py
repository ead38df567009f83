"""A user's script passes mypy --strict, and wrong calls do not."""

import shutil
import subprocess

import pytest
from command_line import ROOT

WRONG = """import heatball
heatball.ball.constants("two")
heatball.dataset("two_moon").smaple(10)
heatball.solve("-x", 1, "gaussian(mean=0, var=1)", 1, [0.0], stder=0.1)
text: str = heatball.train("ring").dim
"""


@pytest.mark.skipif(not shutil.which("mypy"), reason="mypy is not installed")
def test_scripts(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    good = ROOT / "tests" / "python" / "typed_script.py"
    done = subprocess.run(["mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}", good, "wrong.py"],
                          capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"})
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in lines if line.startswith("wrong.py:")] == ["2", "3", "4", "5"], done.stdout
    assert not [line for line in lines if not line.startswith("wrong.py:")], done.stdout
