#!/usr/bin/env python3
"""Makes python/heatball/_native_tables.py, what ctypes must know, from the headers include/heatball/*.h.

    tools/native_bindings.py            write the file
    tools/native_bindings.py --check    fail when the file differs from what would be written

The file is kept in the tree, so that building and importing need no parser. The parser reads the style
of our headers only, and stops with the declaration at anything else. What it makes of them:
    typedef enum hb_x {...} hb_x;      IntEnum X, IntFlag when all values are powers of two; HB_A becomes A
    typedef struct hb_x {...} hb_x;    Structure X, with the fields in their order
    typedef struct hb_x hb_x;          Structure X without fields: opaque
    typedef int (*hb_x_callback)(...)  CFUNCTYPE X; a function pointer inside a struct has the field's name
    HB_API result hb_f(...);           a row of SIGNATURES, of MPI_SIGNATURES for mpi.h
    #define HB_X number                X
"""
import argparse
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "python/heatball/_native_tables.py"
PLAIN = {"int": "c_int", "double": "c_double", "float": "c_float", "char": "c_char", "size_t": "c_size_t",
         "uint32_t": "c_uint32", "uint64_t": "c_uint64", "unsigned char": "c_ubyte",
         "unsigned": "c_uint"}
HEAD = '''"""Constants, enums, structs, callbacks and functions of include/heatball/*.h, as ctypes takes them.

Made by tools/native_bindings.py: do not edit. Tests compare all of it with what the C compiler says.
"""

import enum
from ctypes import ({used})
'''


class Headers:
    """All declarations of the headers, in their order."""

    def __init__(self, paths):
        self.constants, self.enums, self.structs, self.callbacks, self.functions = {}, {}, {}, {}, {}
        self.lists = {}
        texts = [(path, code_of(path.read_text(), self.constants, self.lists)) for path in paths]
        for path, text in texts:  # names first: base.h names the team of team.h
            for kind, name in re.findall(r"typedef (enum|struct) (hb_\w+)", text):
                (self.enums if kind == "enum" else self.structs)[name] = None
            self.callbacks.update((name, None) for name in re.findall(r"\(\*(hb_\w+)\)\(", text))
        for path, text in texts:
            for declaration in declarations(text):
                if not self.read(path, declaration):
                    raise SystemExit(f"native_bindings: {path.name} has a declaration that is not read: {declaration}")

    def read(self, path, text):
        """Read one declaration; False: its form is not known."""
        if found := re.fullmatch(r"typedef enum (\w+) \{(.*)\} \1", text):
            self.enums[found[1]] = self.members(found[2])
        elif found := re.fullmatch(r"typedef struct (\w+) \{(.*)\} \1", text):
            self.structs[found[1]] = [pair for field in found[2].split(";") if field.strip()
                                      for pair in self.fields(field.strip())]
        elif found := re.fullmatch(r"typedef struct (\w+) \1", text):
            self.structs[found[1]] = self.structs[found[1]] or []
        elif found := re.fullmatch(r"typedef (.+?)\(\*(\w+)\)\((.*)\)", text):
            self.callbacks[found[2]] = self.callback(found[1], found[3])
        elif found := re.fullmatch(r"HB_API (.+?)\b(hb_\w+)\((.*?)\)(?: HB_PRINTF\(.*\))?", text):
            table = self.functions.setdefault("MPI_" if path.name == "mpi.h" else "", {})
            table[found[2]] = (self.ctype(found[1]), self.arguments(found[3]))
        else:
            return False
        return True

    def members(self, text):
        """[(name, value)] of the body of an enum, which may be one of our lists."""
        for name, rows in self.lists.items():
            text = re.sub(rf"{name}\(\w+\)", rows, text)
        found = []
        for member in filter(None, map(str.strip, text.split(","))):
            name, _, value = member.partition(" = ")
            found.append((name.removeprefix("HB_"), int(value) if value else found[-1][1] + 1 if found else 0))
        return found

    def fields(self, text):
        """[(name, ctype)] of one line of a struct: of several declarators, arrays and function pointers too."""
        if found := re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", text):
            name = found[2].upper()
            if name in map(short_callback, self.callbacks):
                raise SystemExit(f"native_bindings: two callbacks have the name {name}")
            self.callbacks[name] = self.callback(found[1], found[3])
            return [(found[2], name)]
        base, rest = re.fullmatch(r"((?:const |struct |unsigned )*\w+) (.*)", text).groups()
        pairs = []
        for declarator in rest.split(","):
            stars, name, count = re.fullmatch(r"((?:\* ?(?:const )?)*)(\w+)(?:\[(\d+)\])?", declarator.strip()).groups()
            kind = self.ctype(f"{base} {stars}")
            pairs.append((name, f"{kind} * {count}" if count else kind))
        return pairs

    def callback(self, result, arguments):
        return f"CFUNCTYPE({', '.join([self.ctype(result), *self.arguments(arguments)])})"

    def arguments(self, text):
        """The ctypes of a list of arguments; those of ... are not known."""
        found = []
        for argument in [] if text == "void" else text.split(","):
            argument = re.sub(r"(\w+)\[\d*\]$", r"*\1", argument.strip())  # shape[4] is a pointer
            if argument != "...":
                found.append(self.ctype(re.sub(r"\w+$", "", argument)))
        return found

    def ctype(self, text):
        """The ctypes type of a C type: text and bytes are read as they are, all other pointers have a type."""
        text = re.sub(r"\s+", " ", re.sub(r"\b(struct)\b", "", text).replace("*", " * ")).strip()
        if text in ("void *", "const void *"):
            return "c_void_p"
        if text == "const char *":
            return "c_char_p"
        if text.endswith("*"):
            return f"POINTER({self.ctype(re.sub(r' const$', '', text[:-1].strip()))})"
        text = text.removeprefix("const ")
        if text in self.structs:
            return short(text)
        if text in self.callbacks:
            return short_callback(text)
        if text == "void" or text in self.enums:
            return "None" if text == "void" else "c_int"
        if text not in PLAIN:
            raise SystemExit(f"native_bindings: a type that is not known: {text}")
        return PLAIN[text]


def code_of(text, constants, lists):
    """A header without comments and directives, with single blanks; its constants and lists are noted."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif", "", text, flags=re.S | re.M)
    constants.update((name, int(value)) for name, value in re.findall(r"^#define HB_(\w+) +(\d+)\s*$", text, re.M))
    for name, rows in re.findall(r"^#define (HB_\w+_LIST)\(X\)(.*)$", text, re.M):
        lists[name] = ", ".join(f"{row} = {value}" for row, value in re.findall(r"X\((\w+), (-?\d+),", rows))
    return re.sub(r"\s+", " ", re.sub(r"^\s*#.*$", "", text, flags=re.M))


def declarations(text):
    """The declarations of a header, without their semicolons."""
    return [found.strip() for found in re.findall(r"((?:[^;{]|\{[^}]*\})+);", text)]


def short(name):
    """hb_ball_constants -> BallConstants"""
    return "".join(word.capitalize() for word in name.removeprefix("hb_").split("_"))


def short_callback(name):
    """hb_score_callback -> SCORE; the name of a field in capitals is its own."""
    return name.removeprefix("hb_").removesuffix("_callback").upper()


def filled(start, items, end):
    """start, the items with commas, end: in lines of at most 100 columns."""
    return textwrap.fill(start + ", ".join(items) + end, 100, subsequent_indent="    " + " " * (start[:4] == "    "),
                         break_long_words=False, break_on_hyphens=False)


def enum_text(name, members):
    flags = all(value > 0 and value & (value - 1) == 0 for _, value in members)
    return "\n".join([f"\n\nclass {short(name)}(enum.{'IntFlag' if flags else 'IntEnum'}):",
                      *(f"    {member} = {value}" for member, value in members)])


def table(name, names, value):
    return [f"\n{name} = {{", *(f'    "{each}": {value(each)},' for each in names), "}"]


def bindings(headers):
    """The text of the file. All structs are named before the fields of any: they point at each other."""
    opaque = [name for name, fields in headers.structs.items() if not fields]
    lines = ["", *(f"{name} = {value}" for name, value in headers.constants.items())]
    lines += [enum_text(name, members) for name, members in headers.enums.items()]
    for name, fields in headers.structs.items():
        lines.append(f'\n\nclass {short(name)}(Structure):\n    """{name}{"" if fields else ": opaque"}."""')
    lines.append("\n")
    lines += [filled(f"{short_callback(name)} = ", [value], "") for name, value in headers.callbacks.items()]
    for name, fields in headers.structs.items():
        if fields:
            lines += [f"\n{short(name)}._fields_ = [", *(f'    ("{field}", {kind}),' for field, kind in fields), "]"]
    lines += table("ENUMS", headers.enums, short)
    lines += table("STRUCTS", [name for name in headers.structs if name not in opaque], short)
    lines += table("OPAQUE", opaque, short)
    lines += table("CALLBACKS", [name for name in headers.callbacks if name.startswith("hb_")], short_callback)
    for prefix, functions in headers.functions.items():
        lines.append(f"\n{prefix}SIGNATURES = {{")
        lines += [filled(f'    "{name}": ({result}, (', [argument + "," * (len(arguments) == 1) for argument in arguments],
                         ")),") for name, (result, arguments) in functions.items()]
        lines.append("}")
    text = "\n".join(lines) + "\n"
    used = ["CFUNCTYPE", "POINTER", "Structure", *sorted({*PLAIN.values(), "c_char_p", "c_void_p"})]
    return HEAD.format(used=textwrap.fill(", ".join(used), 79, subsequent_indent=" " * 20).lstrip()) + text


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail when the file is not what would be written")
    check = parser.parse_args().check
    paths = sorted((path for path in (ROOT / "include/heatball").glob("*.h") if path.name != "compat.h"), key=lambda path: (path.name != "base.h", path.name))
    text = bindings(Headers(paths))
    if check and TARGET.read_text() != text:
        sys.exit(f"native_bindings: {TARGET.relative_to(ROOT)} is not what the headers say; run tools/native_bindings.py")
    if not check:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
