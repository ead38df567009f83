#!/usr/bin/env python3
"""Runs every test: `make test` calls this after the release build. Ends with `N passed, N failed`.

Each step is a command; its passes and failures are counted from cmocka's and pytest's own closing
lines, or as one test by its exit code. A failing step prints its output; the others go on.

Two lanes run beside each other, so that no core waits for the last test of a step: the builds and tests in C,
and pytest. What they share: the release build, made once with warnings as errors, is what the C tests link and what the
command and the Python package are tested with; build/tidy remembers the files in which clang-tidy found nothing,
build/test_seconds.json how long each file of Python tests took, so that the longest begin first.
A line has the seconds of a step and those of the processors.

    tests/run.py --module walk   tests/walk/test_*.c and the Python tests of MODULE_TESTS, on the build that is there
    tests/run.py --quick         the checks of the tree, and the tests in C of the modules with changed files
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = sys.executable
# What `make test` leaves to `make test-long`: under clang all tests but those of vector kernels and of
# exact bits, which the compiler can change; under the address sanitizer those that only take time.
UNDER_CLANG = {"test_base", "test_random", "test_sample", "test_program", "test_grid_scheme", "test_data",
               "test_metrics", "test_metrics_images", "test_net", "test_net_bits", "test_train"}
SLOW_UNDER_ASAN = {"test_walk_problems", "test_walk_reversed", "test_walk", "test_particles",
                   "test_study_planar", "test_study_dimension", "test_study_drift", "test_mean", "test_cubature",
                   "test_model_generate", "test_train_drift", "test_trajectories", "test_metrics_images",
                   "test_generate_samples", "test_losses", "test_sampling", "test_grid", "test_null_vector"}
# Networks under every instruction set of oneDNN, the vector kernels under every one of ours.
OF_PRODUCTS = {"test_net_rows", "test_net", "test_net_bits", "test_net_copies", "test_classifier", "test_model",
               "test_losses"}
LONG_OF_PRODUCTS = {"test_train", "test_train_drift", "test_model_generate"}
OF_KERNELS = {"test_random", "test_sample", "test_program", "test_grid_scheme", "test_data", "test_metrics",
              "test_net_rows", "test_optimiser", "test_classifier", "test_model"}
# Python tests of a module: names of files under tests/, * for any text. Other modules have tests in C only.
MODULE_TESTS = {
    "ball": "python/test_closed_forms.py python/test_sampler_laws.py",
    "bridge": "python/test_*bridges.py",
    "certify": "python/test_certify.py cli/test_cli_certify.py",
    "cli": "cli/test_*.py",
    "data": "python/test_data_*.py python/test_column_names.py cli/test_cli_data.py cli/test_cli_images.py",
    "file": "cli/test_cli_files.py",
    "generate": "python/test_log_likelihood.py python/test_sampler_laws.py cli/test_cli_generate.py",
    "grid": "python/test_grid_*.py python/test_tensor_*.py",
    "guide": "python/test_guided.py",
    "metrics": "python/test_*judge*.py cli/test_cli_evaluate*.py",
    "mean": "python/test_identities.py python/test_own_network.py",
    "net": "python/test_net_torch.py python/test_models.py python/test_rows_alone.py",
    "particle": "python/test_particle_bias.py python/test_solve_paths.py python/test_degenerate_noise.py",
    "problem": "python/test_facts.py python/test_starts.py python/test_broken_noise.py python/test_budget_window.py",
    "python": "python/test_*.py",
    "random": "python/test_random_draws.py",
    "sampling": "python/test_solve_coverage.py cli/test_cli_sampling.py",
    "solve": "python/test_solve*.py cli/test_cli_solve.py cli/test_cli_times.py",
    "studies": "studies/test_*.py",
    "train": "python/test_train_*.py python/test_settings.py cli/test_cli_train.py",
    "tree": "tree/test_*.py",
    "walk": "python/test_walk_*.py python/test_solve_linear.py",
}
passed = failed = skipped = 0
failures = []  # names of the steps that failed
processor = {}  # seconds by kind of step
lock = threading.Lock()  # of these four and of the output


def git_files(*patterns):
    """Tracked and new files (none of those that git ignores) that match."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(f for f in set(listed.stdout.split()) if os.path.exists(os.path.join(ROOT, f)))


def count_cmocka(output):
    good = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test", output, re.M))
    bad = sum(int(n) for n in re.findall(r"^\[  FAILED  \] (\d+) test", output, re.M))
    return good, bad, 0


def count_pytest(output):
    line = (output.strip().splitlines() or [""])[-1]
    def find(word):
        match = re.search(r"(\d+) " + word, line)
        return int(match.group(1)) if match else 0
    return find("passed"), find("failed") + find("error"), find("skipped")


class Done:
    """A command that has ended: what it printed, its exit code, its seconds and those of the processors."""

    def __init__(self, command, environment=None):
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
                                       env={**os.environ, **(environment or {})})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = self.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            self.stdout = output.read().decode(errors="replace")
        self.seconds = time.monotonic() - start
        self.processor = usage.ru_utime + usage.ru_stime


def outcome(done, count):
    """Tests that passed, that failed and that were skipped in a command."""
    good, bad, missed = count(done.stdout) if count else (0, 0, 0)
    if done.returncode != 0 and bad == 0:
        bad = 1  # a crash, or a tool that says no
    if done.returncode == 0 and not count:
        good = 1
    if done.returncode == 0 and count and good == 0:
        bad = 1  # no test ran: that is a failure too
    return good, bad, missed


def report(kind, name, done, count=None):
    """Counts the tests of a command, prints one line (and the output when it failed)."""
    global passed, failed, skipped
    good, bad, missed = outcome(done, count)
    with lock:
        passed, failed, skipped = passed + good, failed + bad, skipped + missed
        processor[kind] = processor.get(kind, 0) + done.processor
        print(f"{'ok  ' if bad == 0 else 'FAIL'} {name:<44} {good:4d} passed {bad:3d} failed "
              f"{done.seconds:6.1f} s {done.processor:6.1f} of processors", flush=True)
        for place, reason in sorted(set(re.findall(r"^SKIPPED \[\d+\] (\S+?):\d+: (.*)", done.stdout, re.M))):
            print(f"     skipped in {place}: {reason}", flush=True)
        if bad:
            failures.append(name)
            print(done.stdout[-40000:], flush=True)
    return bad == 0


def step(kind, name, command, count=None, environment=None):
    return report(kind, name, Done(command, environment), count)


def configure(preset):
    """The release build is in build/ itself; it may have been made for a user, without warnings as errors."""
    return ["cmake", "--preset", preset, *(["-DHEATBALL_WERROR=ON"] if preset == "release" else [])]


def build(preset, targets=()):
    make = ["cmake", "--build", "--preset", preset, "--parallel", str(os.cpu_count())]
    if targets:
        make += ["--target", *targets]
    script = " ".join(configure(preset)) + " > /dev/null && " + " ".join(make)
    return step("builds", f"{preset}: builds without a warning", ["sh", "-c", script])


def test_names():
    return {os.path.basename(source)[:-2] for source in git_files("tests/*/test_*.c")}


def narrower_sets():
    """The instruction sets of oneDNN, and of our kernels, below those that this machine takes by itself."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = set(re.search(r"^flags\s*:(.*)$", file.read() + "\nflags:", re.M).group(1).split())
    wide = [flag in flags for flag in ("avx", "avx2", "avx512f")]
    return ["SSE41", "AVX", "AVX2"][:sum(wide)], ["scalar", "sse2", "avx2"][:1 + sum(wide[1:])]


def instruction_sets(preset, is_long):
    """What the ordinary run leaves out: products and kernels narrower than the machine's own."""
    products, kernels = narrower_sets()
    for name in products:
        c_tests(preset, OF_PRODUCTS | (LONG_OF_PRODUCTS if is_long else set()),
                {"ONEDNN_MAX_CPU_ISA": name}, f" (oneDNN {name})")
    for name in kernels:
        c_tests(preset, OF_KERNELS, {"HEATBALL_TEST_ISA": name}, f" (kernels {name})")


def c_tests(preset, names=None, environment=None, note=""):
    """As many at once as there are cores; reported in the order of their names."""
    directory = os.path.join(ROOT, "build", "" if preset == "release" else preset, "tests")
    tests = sorted(test_names() if names is None else names)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(Done, [os.path.join(directory, name)], environment) for name in tests]
        for name, finished in zip(tests, runs):
            report("tests in C", f"{preset}: {name}{note}", finished.result(), count_cmocka)


def must_fail(preset, bug, environment=None):
    """The seeded bug has to be caught: proves that the sanitizer is on."""
    program = os.path.join(ROOT, "build", preset, "tests", "seeded_bug")
    step("tests in C", f"{preset}: catches a seeded {bug} bug",
         ["sh", "-c", f"! {program} {bug} > /dev/null 2>&1"], environment=environment)


def sources(files=None):
    """The checks of the tree; formatting of all C files, or of these."""
    files = git_files("*.c", "*.h") if files is None else files
    if files:
        step("sources", "every file is formatted", ["clang-format", "--dry-run", "--Werror", *files])
    step("sources", "includes go downward only", [PYTHON, "tools/check_rooms.py"])
    step("sources", "polynomials are those of tools/coefficients.py",
         [PYTHON, "tools/coefficients.py", "--check"])
    step("sources", "names are unique, files open with a comment", [PYTHON, "tools/check_names.py"])
    step("sources", "texts keep to the words of the field", [PYTHON, "tools/check_words.py"])


def analyser(paths):
    """clang-tidy over the library, the command and the studies; .clang-tidy lists the checks. Those that
    follow paths are slow and left to `make test-long`."""
    step("sources", "clang-tidy finds nothing", [PYTHON, "tools/tidy.py", *(["--paths"] if paths else [])])


def c_lane(is_long):
    """Sources, builds and tests in C; the release build is there."""
    sources()
    c_tests("release")
    instruction_sets("release", is_long)
    under_clang = None if is_long else UNDER_CLANG
    if build("clang", () if is_long else ["heatball_command", *sorted(UNDER_CLANG)]):
        c_tests("clang", under_clang)
        analyser(is_long)
    under_asan = test_names() - (set() if is_long else SLOW_UNDER_ASAN)
    if build("asan", ["seeded_bug", *sorted(under_asan)]):
        for bug in ("address", "undefined"):
            must_fail("asan", bug)
        c_tests("asan", under_asan)
    thread = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1",
              "OMP_TOOL_LIBRARIES": "/usr/lib/llvm-14/lib/libarcher.so"}
    threaded = {"test_base", "test_random", "test_sample", "test_grid_errors"}
    if build("tsan", ["seeded_bug", *sorted(threaded)]):
        must_fail("tsan", "thread", thread)
        c_tests("tsan", threaded, thread)


def python_tests(name, tests, *options):
    environment = {"PYTHONPATH": os.path.join(ROOT, "python"),
                   "HEATBALL_BUILD": os.path.join(ROOT, "build"),
                   "HEATBALL_COMMAND": os.path.join(ROOT, "build", "heatball"),
                   "HEATBALL_TEST_SECONDS": os.path.join(ROOT, "build", "test_seconds.json")}
    step("tests in Python", name,
         [PYTHON, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-n", str(os.cpu_count()),
          "--dist", "loadfile", *options, *tests],
         count_pytest, environment)


def python_lane(is_long):
    python_tests("Python package, command, studies, install", ["tests"], *(["-m", ""] if is_long else []))


def modules():
    """The modules: directories with tests in C, and those with a line in MODULE_TESTS."""
    return {source.split("/")[1] for source in git_files("tests/*/test_*.c")} | set(MODULE_TESTS)


def module_c_tests(names):
    """Builds in the build that is there, as it was configured, and runs the tests in C of modules."""
    tests = sorted(os.path.basename(source)[:-2] for name in names for source in git_files(f"tests/{name}/test_*.c"))
    if tests and step("builds", "builds " + ", ".join(sorted(names)),
                      ["cmake", "--build", "build", "--target", "heatball_command", "heatball_user", *tests]):
        c_tests("release", tests)


def test_module(name):
    if name not in modules():
        sys.exit(f"tests/run.py: there is no module {name}; modules: {', '.join(sorted(modules()))}")
    module_c_tests([name])
    patterns = [f"tests/{pattern}" for pattern in MODULE_TESTS.get(name, "").split()]
    if patterns:
        python_tests(f"Python tests of {name}", git_files(*patterns))


def changed_files():
    """Files that differ from the point where this branch left main (from HEAD where there is no main)."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    base = git("merge-base", "HEAD", "main")
    base = base.stdout.strip() if base.returncode == 0 else "HEAD"
    changed = git("diff", "--name-only", base).stdout.split()
    new = git("ls-files", "--others", "--exclude-standard").stdout.split()
    return sorted(f for f in {*changed, *new} if os.path.exists(os.path.join(ROOT, f)))


def changed_modules(files):
    """Modules of files in src/ and tests/, and of public headers by check_rooms.py's table."""
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import check_rooms
    found = {f.split("/")[1] for f in files if re.match(r"(src|tests)/[^/]+/", f)}
    headers = [re.fullmatch(r"include/heatball/(.*)\.h", f) for f in files]
    return (found | {check_rooms.PUBLIC_ROOM.get(m.group(1), m.group(1)) for m in headers if m}) & modules()


def quick():
    files = changed_files()
    sources([f for f in files if f.endswith((".c", ".h"))])
    module_c_tests(changed_modules(files))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="the long statistical tests as well")
    parser.add_argument("--module", help="only the tests of one module")
    parser.add_argument("--quick", action="store_true", help="only the checks of the tree and of changed modules in C")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # several tests share the cores
    if arguments.module:
        test_module(arguments.module)
    elif arguments.quick:
        quick()
    elif build("release"):
        with concurrent.futures.ThreadPoolExecutor(2) as lanes:
            ends = [lanes.submit(lane, arguments.long) for lane in (python_lane, c_lane)]
            try:
                for end in ends:
                    end.result()
            except KeyboardInterrupt:  # what runs has heard it too; the lanes would go on with the next step
                print("interrupted", flush=True)
                os._exit(130)
    print("seconds of processors:", ", ".join(f"{kind} {seconds:.0f}" for kind, seconds in processor.items()),
          f"; all {sum(processor.values()):.0f}")
    for name in failures:
        print(f"failed: {name}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed != 0


if __name__ == "__main__":
    assert shutil.which("cmake"), "cmake is missing: run `make deps`"
    sys.exit(main())
