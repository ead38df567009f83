#!/usr/bin/env python3
"""Fail when an #include goes upward in the order of the rooms.

    tools/check_rooms.py [ROOT]

Rules (the rooms are described in ARCHITECTURE.md):
  src/ROOM          "room/header.h" of the same room or of one below it, <heatball/...> likewise,
                    and any system header
  include/heatball  <heatball/...> of the same room or below, and the C library
  cli, studies      <heatball/...>, headers of their own directory, study.h, jansson, zlib, the C
                    library and POSIX
Prints one line per violation, `file:line: what is wrong`, and exits 1 when there is one.
"""

import pathlib
import re
import sys

ROOMS = ("base file plot random ball formula problem data metrics path grid chain mean sampling particle lag bridge walk guide net train solve generate certify").split()
LEVEL = {room: level for level, room in enumerate(ROOMS)}

# Public headers that are not named after their room. heatball.h and compat.h are above all rooms.
PUBLIC_ROOM = {"balls": "mean", "budget": "problem", "classify": "train", "field": "problem",
               "images": "data", "judge": "metrics", "model": "net", "mpi": "base", "team": "base", "settings": "base", "solve": "sampling", "estimate": "mean"}
UMBRELLAS = ("heatball", "compat")

LIBC = set("""assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h
    locale.h math.h setjmp.h signal.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h
    stdio.h stdlib.h stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h wchar.h
    wctype.h""".split())
POSIX = set("""dirent.h dlfcn.h fcntl.h fnmatch.h ftw.h getopt.h glob.h libgen.h poll.h pthread.h pwd.h
    regex.h sched.h semaphore.h spawn.h strings.h sys/file.h sys/ioctl.h sys/mman.h sys/resource.h
    sys/select.h sys/stat.h sys/statvfs.h sys/time.h sys/times.h sys/types.h sys/uio.h
    sys/utsname.h sys/wait.h syslog.h termios.h unistd.h utime.h wordexp.h""".split())
PROGRAM_LIBRARIES = {"jansson.h", "zlib.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>|(\S+))', re.MULTILINE)


def without_comments(text):
    """Blank out comments, keeping the lines."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.DOTALL)


def includes(path):
    """Yield (line, name, quoted) for each #include of a file."""
    text = without_comments(path.read_text(encoding="utf-8"))
    for match in INCLUDE.finditer(text):
        quoted, angled, other = match.groups()
        yield text.count("\n", 0, match.start()) + 1, quoted or angled or other, bool(quoted)


def public_level(name):
    """Return (room, level) of heatball/X.h, or None when no room is known for it."""
    stem = name.removeprefix("heatball/").removesuffix(".h")
    if stem in UMBRELLAS:
        return stem, len(ROOMS)
    room = PUBLIC_ROOM.get(stem, stem)
    return (room, LEVEL[room]) if room in LEVEL else None


def upward(room, level, name):
    """Say what is wrong with a public header seen from a room, or return None."""
    target = public_level(name)
    if target is None:
        return f"<{name}> belongs to no room; name its room in PUBLIC_ROOM of this script"
    if target[1] > level:
        return f"{room} includes <{name}> of {target[0]}, which is above it"
    return None


def check_src(root, path, name, quoted):
    parts = path.relative_to(root / "src").parts
    room = parts[0]
    if len(parts) < 2 or room not in LEVEL:
        return f"src/{room} is not a room; the rooms are {', '.join(ROOMS)}"
    if not quoted:
        return upward(room, LEVEL[room], name) if name.startswith("heatball/") else None
    if ".." in pathlib.PurePosixPath(name).parts:
        return f'"{name}" climbs with ..; write "room/header.h"'
    if "/" not in name:
        return None if (path.parent / name).is_file() else f'"{name}" is not in src/{room}'
    target = name.split("/")[0]
    if target not in LEVEL:
        return f'"{name}" names no room; the rooms are {", ".join(ROOMS)}'
    if LEVEL[target] > LEVEL[room]:
        return f'{room} includes "{name}" of {target}, which is above it'
    return None


def check_public(root, path, name, quoted):
    if quoted:
        return f'a public header includes "{name}"; only <heatball/...> is installed'
    own = public_level(f"heatball/{path.name}")
    if own is None:
        return f"{path.name} belongs to no room; name its room in PUBLIC_ROOM of this script"
    if name.startswith("heatball/"):
        return upward(own[0], own[1], name)
    return None if name in LIBC else f"a public header includes <{name}>, which users may not have"


def check_program(root, path, name, quoted):
    top = path.relative_to(root).parts[0]
    if not quoted:
        if name.startswith("heatball/") and (root / "include" / name).is_file():
            return None
        if name in LIBC | POSIX | PROGRAM_LIBRARIES:
            return None
        return (f"{top} includes <{name}>; it may include <heatball/...>, the C library, POSIX and "
                "jansson and zlib")
    places = [path.parent, root / top]
    if any((place / name).is_file() for place in places) and ".." not in name:
        return None
    if name == "study.h":
        return None
    return (f'{top} includes "{name}"; it may include <heatball/...> and headers of its own '
            "directory")


CHECKS = (("src", check_src), ("include/heatball", check_public), ("cli", check_program),
          ("studies", check_program))


def violations(root):
    """Yield `file:line: what is wrong` for every include that breaks a rule."""
    for directory, check in CHECKS:
        for path in sorted((root / directory).rglob("*.[ch]")):
            for line, name, quoted in includes(path):
                wrong = check(root, path, name, quoted)
                if wrong:
                    yield f"{path.relative_to(root)}:{line}: {wrong}"


def main(arguments):
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else here
    if not (root / "src").is_dir():
        print(f"{root} has no src directory; give the root of the tree", file=sys.stderr)
        return 2
    found = list(violations(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
