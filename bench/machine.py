"""The machine that a benchmark ran on, in words: processor, instruction set, cores, compiler, and whether it was quiet."""
import os
import platform
import re
import subprocess

import instruction_set

WIDE = {"AVX-512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "AVX2": {"avx2", "fma"}, "SSE2": {"sse2"}}


def cpuinfo():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return dict(re.findall(r"^([\w ]+?)\s*: (.*)$", file.read(), re.M))


def compiler():
    try:
        line = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
        return "gcc " + line.split()[-1] if "GCC" in line or line.startswith("cc ") else line
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "an unknown compiler"


def describe():
    """{processor, isa, cores, load, text}; load: processes that ran in the last minute, this one not counted."""
    info = cpuinfo()
    flags = set(info.get("flags", "").split())
    isa = next((name for name, needed in WIDE.items() if needed <= flags), "plain C")
    if instruction_set.chosen() and instruction_set.SETS[instruction_set.chosen()] != isa:
        isa = f"{instruction_set.SETS[instruction_set.chosen()]} of its {isa}"
    name = re.sub(r"\((R|TM)\)|\bCPU\b|@.*", "", info.get("model name", platform.machine())).split()
    numbers = ", ".join(f"{word} {info[key]}" for word, key in (("family", "cpu family"), ("model", "model")) if key in info)
    processor = " ".join(name) + (f" ({numbers})" if numbers else "")
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    return {"processor": processor, "isa": isa, "cores": cores, "compiler": compiler(), "load": round(load, 2),
            "text": f"{processor}, {isa}, {cores} core{'' if cores == 1 else 's'}, {compiler()}"}


def warning(machine):
    """A sentence when other work took part of the cores, else nothing."""
    if machine["load"] <= 0.5:
        return ""
    return (f"not quiet: {machine['load']} processes ran beside this in the minute before; ratios of rows that use all cores, "
            "and all times, may be wrong")
