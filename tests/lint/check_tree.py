# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules for every file of the tree."""
import os
import re
import subprocess

LICENCE = "SPDX-License-Identifier: LGPL-2.1-or-later"

# Files that cannot or need not carry a licence line.
BARE_NAMES = {"COPYING"}
BARE_DIRECTORIES = ("tests/golden/", "tests/fuzz/corpus/",
                    "packaging/debian/")  # formats of their own

# A header of a third party is one file's business.
FOREIGN_HEADERS = ("ini.h", "cap-ng.h", "libmount/libmount.h", "seccomp.h")

LINES_MOST = 600
TEST_LINES_MOST = 800  # a list of cases may be longer
FUNCTION_LINES_MOST = 100
FUNCTION_LINES_GOOD = 70


def list_files(source):
    """What belongs to the project, relative to its directory, sorted."""
    if os.path.exists(os.path.join(source, ".git")):
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", source, "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout
        names = {os.fsdecode(name) for name in listed.split(b"\0") if name}
    else:
        names = set()
        for directory, _, files in os.walk(source):
            names.update(os.path.relpath(os.path.join(directory, name),
                                         source) for name in files)
    return sorted(name for name in names
                  if os.path.isfile(os.path.join(source, name)))


def is_bare(name):
    return (os.path.basename(name) in BARE_NAMES or name.endswith(".md")
            or name.startswith(BARE_DIRECTORIES))


def read_bytes(context, name):
    with open(os.path.join(context.source, name), "rb") as file:
        return file.read()


def check_licence(context):
    """each file says its licence in the first lines"""
    complaints = []
    for name in context.files:
        if is_bare(name):
            continue
        lines = read_bytes(context, name).decode("utf-8", "replace")
        lines = lines.split("\n", 4)[:4]
        if name.endswith((".c", ".h")):
            if lines[0] != "/* " + LICENCE + " */":
                complaints.append(f"{name}:1: not the licence line")
        elif not any(LICENCE in line for line in lines):
            complaints.append(f"{name}:1: no licence line")
    return complaints


def check_text(context):
    """text is UTF-8, without trailing blanks, with a last newline"""
    complaints = []
    for name in context.files:
        if is_bare(name):
            continue
        try:
            text = read_bytes(context, name).decode("utf-8")
        except UnicodeDecodeError as error:
            complaints.append(f"{name}: {error}")
            continue
        if text and not text.endswith("\n"):
            complaints.append(f"{name}: no newline at the end")
        if text.endswith("\n\n"):
            complaints.append(f"{name}: empty lines at the end")
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                complaints.append(f"{name}:{number}: trailing blanks")
    return complaints


def check_includes(context):
    """an include names a folder below, never one above"""
    complaints = []
    pattern = re.compile(r'^\s*#\s*include\s+"([^"]*)"', re.M)
    for name in context.matching(".c", ".h"):
        text = context.read(name)
        for match in pattern.finditer(text):
            number = text.count("\n", 0, match.start(1)) + 1
            if match[1].startswith(".") or "/../" in match[1]:
                complaints.append(f"{name}:{number}: {match[1]}")
            elif name.startswith("src/") and "/" not in match[1] \
                    and not match[1].endswith((".inc", "config.h")):
                complaints.append(
                    f"{name}:{number}: {match[1]} without its folder")
    return complaints


def check_foreign_headers(context):
    """a third-party header is included by one file"""
    complaints = []
    for header in FOREIGN_HEADERS:
        pattern = re.compile(
            r"^\s*#\s*include\s+[<\"]" + re.escape(header) + r"[>\"]", re.M)
        users = [name for name in context.matching(".c", ".h")
                 if name.startswith("src/")
                 and pattern.search(context.read(name))]
        if len(users) > 1:
            complaints.append(f"{header}: {', '.join(users)}")
    return complaints


def check_local_paths(context):
    """no path of the machine on which it was written"""
    patterns = [re.escape(context.source) + r"\b",
                r"(?<![\w.}*$-])/" + r"(?:work|Users)/\w"]
    pattern = re.compile("|".join(patterns))
    complaints = []
    for name in context.files:
        text = read_bytes(context, name).decode("utf-8", "replace")
        for number, line in enumerate(text.split("\n"), 1):
            match = pattern.search(line)
            if match:
                complaints.append(f"{name}:{number}: {match[0]}")
    return complaints


def check_file_length(context):
    """a source file reads in one sitting"""
    complaints = []
    for name in context.matching(".c", ".h", ".py", ".sh"):
        count = context.read(name).count("\n")
        most = TEST_LINES_MOST if name.startswith("tests/") else LINES_MOST
        if count > most:
            complaints.append(f"{name}: {count} lines, {most} at most")
    return complaints


def functions(text):
    """Yield (name, first line, number of lines) for kernel-shaped C."""
    lines = text.split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            first = start - 1
            while first > 1 and lines[first - 2] \
                    and not lines[first - 2].endswith((";", "}", "*/")):
                first -= 1
            head = " ".join(lines[first - 1:start - 1])
            match = re.search(r"(\w+)\s*\(", head)
            yield match[1] if match else "?", first, number - first + 1
            start = None


def check_function_length(context):
    """a function is one screen"""
    complaints = []
    for name in context.matching(".c", ".h"):
        for function, line, count in functions(context.read(name)):
            where = f"{name}:{line}: {function}() has {count} lines"
            if count > FUNCTION_LINES_MOST:
                complaints.append(where)
            elif count > FUNCTION_LINES_GOOD:
                print("# " + where)
    return complaints


def check_launch_order(context):
    """what src/launch.ld lays out is mostly still there"""
    names = re.findall(r"^\t\t\*\(\.text\.(?:startup\.)?(\w+) ",
                       context.read("src/launch.ld"), re.MULTILINE)
    words = set()
    for name in context.files:
        if name.startswith("src/") and name.endswith(".c"):
            words.update(re.findall(r"\w+", context.read(name)))
    gone = [name for name in names if name not in words]
    # Each costs a launch a little; all of them, a tenth of its time.
    if len(gone) * 10 <= len(names) and len(names) >= 100:
        return []
    return [f"{len(gone)} of {len(names)} are gone, "
            "run tests/bench/order: " + " ".join(gone[:10])]


CHECKS = [check_licence, check_text, check_includes, check_foreign_headers,
          check_local_paths, check_file_length, check_function_length,
          check_launch_order]
NEED_PROGRAM = []
