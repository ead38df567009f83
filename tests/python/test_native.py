"""The tables made from the headers against the headers, the library's symbols and the C compiler."""

import ctypes
import os
import re
import shutil
import subprocess
import sys

import pytest

import heatball
from heatball import _native, _native_mpi
from command_line import ROOT

MPI_HEADER = ROOT / "include/heatball/mpi.h"  # of a library of its own
OLD_NAMES = ROOT / "include/heatball/compat.h"  # for programs of 0.2, not for bindings
HEADERS = sorted(set((ROOT / "include/heatball").glob("*.h")) - {MPI_HEADER, OLD_NAMES})


def code_of_headers(headers=HEADERS):
    """Return the text of headers, without comments, directives and the list of status codes."""
    text = "\n".join(path.read_text() for path in headers)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)


def declarations(headers=HEADERS):
    """Return {name: (result, [argument types])} of every HB_API function, types as C text."""
    found = {}
    for result, name, arguments in re.findall(
            r"HB_API\s+([\w\s*]+?)\b(hb_\w+)\s*\(([^)]*)\)", code_of_headers(headers)):
        found[name] = (squeeze(result), [argument_type(a) for a in arguments.split(",")
                                         if squeeze(a) != "void"])
    return found


def squeeze(text):
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text)).strip()


def argument_type(text):
    text = re.sub(r"(\w+)\[\d*\]$", r"*\1", squeeze(text))  # shape[4] is a pointer
    return text if text == "..." else squeeze(re.sub(r"\w+$", "", text))


def ctype_of(c_type):
    """Return the ctypes type that a C type of the headers must have in the table."""
    plain = {"void": None, "int": ctypes.c_int, "double": ctypes.c_double,
             "size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64,
             "const char *": ctypes.c_char_p,
             "const void *": ctypes.c_void_p, "void *": ctypes.c_void_p, "float": ctypes.c_float,
             "uint32_t": ctypes.c_uint32, "unsigned char": ctypes.c_ubyte, "char": ctypes.c_char,
             "const char *const *": ctypes.POINTER(ctypes.c_char_p)}
    if c_type in plain:
        return plain[c_type]
    if c_type in _native.ENUMS:
        return ctypes.c_int
    if c_type in _native.CALLBACKS:
        return _native.CALLBACKS[c_type]
    if c_type.endswith("*"):
        target = c_type[:-1].strip()
        target = target.removeprefix("const ") if "*" not in target else target
        structs = {**_native.STRUCTS, **_native.OPAQUE}
        return ctypes.POINTER(structs[target] if target in structs else ctype_of(target))
    raise AssertionError(f"a C type that this test does not know: {c_type}")


def test_the_tables_are_those_of_the_headers():
    subprocess.run([sys.executable, ROOT / "tools/native_bindings.py", "--check"], check=True)


@pytest.mark.parametrize("line, says", [
    ("typedef long hb_long;", "base.h has a declaration that is not read: typedef long hb_long"),
    ("HB_API long hb_long(void);", "a type that is not known: long"),
    ("typedef struct hb_two { int (*log)(void); } hb_two;", "two callbacks have the name LOG"),
    ("typedef int (*hb_log_callback)(void *user);", "two callbacks have the name LOG"),
    ("HB_API void hb_new(int n);", "_native_tables.py is not what the headers say")])
def test_the_tool_refuses_what_it_cannot_read(tmp_path, line, says):
    for name in ["tools/native_bindings.py", "python/heatball/_native_tables.py", "include/heatball"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    header = tmp_path / "include/heatball/base.h"
    header.write_text(header.read_text().replace("#define HB_MAX_THREADS 1024", line))
    done = subprocess.run([sys.executable, tmp_path / "tools/native_bindings.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 1 and says in done.stderr


def test_the_parser_sees_the_headers():
    found = declarations()
    assert len(found) == code_of_headers().count("HB_API")
    assert found["hb_ball_kernel"] == ("hb_status", [
        "hb_context *", "hb_kernel", "int", "size_t", "double", "const double *", "const double *",
        "double *"])
    assert found["hb_version"] == ("const char *", [])
    assert found["hb_writer_printf"][1][-1] == "..."


@pytest.mark.parametrize("headers, table", [(HEADERS, _native.SIGNATURES), ([MPI_HEADER], _native_mpi.SIGNATURES)])
def test_every_declared_function_is_in_the_table_with_its_types(headers, table):
    for name, (result, arguments) in declarations(headers).items():
        assert name in table, f"{name} is missing in SIGNATURES"
        restype, argtypes = table[name]
        fixed = [a for a in arguments if a != "..."]
        assert restype == ctype_of(result), name
        assert list(argtypes) == [ctype_of(a) for a in fixed], name


def plug_in():
    """Return the path of libheatball-mpi.so, which is built where MPI is."""
    for _, path in _native_mpi.candidates():
        if os.sep in path and os.path.exists(path):
            return path
    pytest.skip("libheatball-mpi.so is missing: it is built where Open MPI is")


@pytest.mark.parametrize("which", ["libheatball", "libheatball-mpi"])
def test_every_exported_symbol_is_in_the_table_and_the_reverse(which):
    alone = which == "libheatball"
    path, table = (_native.library._name, _native.SIGNATURES) if alone else (plug_in(), _native_mpi.SIGNATURES)
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True,
                         text=True).stdout
    exported = {line.split()[-1] for line in out.splitlines() if " T hb_" in line}
    assert exported, "nm saw no symbol"
    assert exported - set(table) == set(), "exported, but not in SIGNATURES"
    assert set(table) - exported == set(), "in SIGNATURES, but not exported"
    assert exported == set(declarations(HEADERS if alone else [MPI_HEADER])), "exported and declared symbols differ"


def test_every_struct_and_enum_of_the_headers_is_here():
    text = code_of_headers()
    assert set(re.findall(r"typedef struct (\w+)\s*\{", text)) == set(_native.STRUCTS)
    assert set(re.findall(r"typedef struct (\w+) \w+;", text)) == set(_native.OPAQUE)
    assert set(re.findall(r"typedef enum (\w+)\s*\{", text)) == set(_native.ENUMS)


def c_says(tmp_path, body):
    """Compile and run a C program with this body of main; return its lines."""
    source = tmp_path / "layout.c"
    source.write_text("#include <heatball/heatball.h>\n#include <stdio.h>\n"
                      f"int main(void)\n{{\n{body}    return 0;\n}}\n")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'include'}", source, "-o",
                    tmp_path / "layout"], check=True)
    out = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout
    return out.splitlines()


KINDS = {ctypes.c_int: "int", ctypes.c_double: "double"}


def test_structs_are_laid_out_as_in_c(tmp_path):
    body, expected = "", []
    for c_name, struct in _native.STRUCTS.items():
        body += f'    printf("{c_name} %zu\\n", sizeof({c_name}));\n'
        expected.append(f"{c_name} {ctypes.sizeof(struct)}")
        for field, kind in struct._fields_:
            member = f"(({c_name} *)0)->{field}"
            body += (f'    printf("{c_name}.{field} %zu %zu %s\\n", offsetof({c_name}, {field}), '
                     f'sizeof {member}, _Generic({member}, int: "int", double: "double", '
                     'default: "pointer"));\n')
            place = getattr(struct, field)
            expected.append(f"{c_name}.{field} {place.offset} {place.size} "
                            f"{KINDS.get(kind, 'pointer')}")
    assert c_says(tmp_path, body) == expected


def test_enums_have_the_values_of_c(tmp_path):
    body, expected = "", []
    for enum in _native.ENUMS.values():
        for member in enum:
            body += f'    printf("HB_{member.name} %d\\n", (int)HB_{member.name});\n'
            expected.append(f"HB_{member.name} {int(member)}")
    body += '    printf("%d %d\\n", HB_MAX_DIM, HB_MAX_THREADS);\n'
    expected.append(f"{_native.MAX_DIM} {_native.MAX_THREADS}")
    assert c_says(tmp_path, body) == expected


def test_every_member_of_the_enums_of_c_is_here():
    text = code_of_headers()
    for c_name, enum in _native.ENUMS.items():
        if c_name == "hb_status":  # made by a macro from the one list
            listed = re.findall(r"X\((HB_\w+),", (ROOT / "include/heatball/base.h").read_text())
        else:
            listed = re.findall(r"HB_\w+", re.search(f"enum {c_name} " + r"\{([^}]*)\}", text,
                                                     re.MULTILINE).group(1))
        assert listed == [f"HB_{member.name}" for member in enum]


def test_versions_agree():
    header = re.search(r'HB_VERSION "([^"]+)"', (ROOT / "include/heatball/base.h").read_text())
    assert heatball.__version__ == header.group(1) == _native.library.hb_version().decode()


def in_new_process(script, **env):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **env})


def test_a_missing_library_is_an_import_error_that_says_what_was_tried():
    done = in_new_process("import heatball", HEATBALL_LIBRARY="/nowhere/libheatball.so")
    assert "ImportError: the C library libheatball was not found" in done.stderr
    assert "/nowhere/libheatball.so (the environment variable HEATBALL_LIBRARY): no such file" \
        in done.stderr


def test_a_file_that_is_no_library_is_an_import_error(tmp_path):
    (tmp_path / "libheatball.so").write_text("not an ELF file")
    done = in_new_process("import heatball", HEATBALL_LIBRARY=str(tmp_path / "libheatball.so"))
    assert "ImportError: the C library libheatball was not found" in done.stderr
    assert "invalid ELF header" in done.stderr or "file too short" in done.stderr


@pytest.mark.parametrize("source, says", [
    ("int unrelated;", "has no function hb_version"),
    (None, "is version 99.0.0 of libheatball, but this package is version"),
])
def test_another_library_is_an_import_error(tmp_path, source, says):
    if source is None:
        source = 'const char *hb_version(void) { return "99.0.0"; }\n' + "".join(
            f"void {name}(void) {{}}\n" for name in _native.SIGNATURES if name != "hb_version")
    (tmp_path / "other.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "other.c", "-o", tmp_path / "other.so"],
                   check=True)
    done = in_new_process("import heatball", HEATBALL_LIBRARY=str(tmp_path / "other.so"))
    assert "ImportError" in done.stderr and says in done.stderr


def test_importing_needs_no_compiler():
    done = in_new_process("import heatball; print(heatball.ball.constants(2)['dim'])", PATH="/nowhere",
                          HEATBALL_LIBRARY=os.path.abspath(_native.library._name))
    assert done.stdout == "2\n", done.stderr
