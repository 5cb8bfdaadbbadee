# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manual pages say what the tables of the program say."""
import os
import re
import subprocess

COMMAND_PAGE = "man/sbx-launch.1"
PROFILE_PAGE = "man/sbx-launch.ini.5"

# An option in a list of sbx-launch(1), a key in one of sbx-launch.ini(5).
OPTION_ITEM = re.compile(r"^\.It Fl (-[a-z0-9-]+)(?: (.*))?$")
KEY_ITEM = re.compile(r"^\.It (?:Cm ([a-z0-9-]+)|Ar NAME) Li =(?: (.*))?$")
SECTION = re.compile(r"^\.Ss \[([a-z-]+)\] section$")
# What stands before a mount in [mounts] and modifies it.
MODIFIERS = ["overlay-src", "perms", "size"]
# A call that gives a reason; the words in it are the reasons.
REASON_CALL = re.compile(r"\berror_reason\s*\(([^;]*)\)\s*;")
REASON = re.compile(r'"([a-z0-9-]+)"')
# Of what has no explanation but where it happened.
REASON_ROW = re.compile(r'\{ (?:0|E[A-Z]+), (?:NULL|"[a-z-]+"), '
                        r'"([a-z-]+)" \}')
REASON_STEP = re.compile(r'\bstep\(run, .*?, "([a-z-]+)", err\)', re.S)
# A row of the catalogue; a part of a word that varies is in braces.
CONDITION = re.compile(r'\[CONDITION_\w+\] = \{ "([a-z0-9:{}-]+)",')
CONDITIONS = "src/engine/conditions.c"


def rows(context, kind):
    """The rows of one kind that the program prints, split into columns."""
    if not hasattr(context, "table_rows"):
        text = subprocess.run([context.tables], check=True, text=True,
                              capture_output=True).stdout
        context.table_rows = [line.split("\t") for line in text.splitlines()]
    return [row[1:] for row in context.table_rows if row[0] == kind]


def difference(left, left_name, right, right_name):
    complaints = [f"{item}: in {left_name}, not in {right_name}"
                  for item in sorted(set(left) - set(right))]
    complaints += [f"{item}: in {right_name}, not in {left_name}"
                   for item in sorted(set(right) - set(left))]
    for name, items in (left_name, left), (right_name, right):
        complaints += [f"{item}: twice in {name}"
                       for item in sorted(set(items))
                       if list(items).count(item) > 1]
    return complaints


def words_of(macros):
    """The plain words of a macro line: operands as --help writes them."""
    text = re.sub(r"\s+Ns\s+", "", macros or "")
    text = re.sub(r"\b(?:Ar|Cm|Li|Op|Oo|Oc|Ns|Fl)\b", " ", text)
    return text.split()


def page_options(context):
    """(name, its operands) for each option of the page, in order."""
    for line in context.read(COMMAND_PAGE).splitlines():
        match = OPTION_ITEM.match(line)
        if match:
            yield "-" + match[1], words_of(match[2])


def page_keys(context):
    """(section.key, text of its item) for each key of the page."""
    text = context.read(PROFILE_PAGE).replace("\\\n", "")
    section = item = None
    for line in text.splitlines():
        if line.startswith((".Ss ", ".Sh ")):
            if item:
                yield item
            match = SECTION.match(line)
            section, item = match[1] if match else None, None
        elif section and KEY_ITEM.match(line):
            if item:
                yield item
            key = KEY_ITEM.match(line)[1] or "*"
            item = [section + "." + key, ""]
        elif item:
            item[1] += line + "\n"


def check_mandoc(context):
    """mandoc has nothing to say about the manual pages"""
    pages = context.matching(".1", ".5", ".7", ".8")
    if not pages:
        return ["no manual page was found"]
    complaints = []
    for page in pages:
        try:
            # Its standard error is about the machine's index of pages.
            done = subprocess.run(
                ["mandoc", "-T", "lint", page], cwd=context.source,
                text=True, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            return ["mandoc is not installed"]
        # Which other pages this machine has is not the page's fault.
        complaints += [line for line in done.stdout.splitlines()
                       if "referenced manual not found" not in line]
    return complaints


def check_references(context):
    """a page of ours that another refers to is there"""
    pages = context.matching(".1", ".5", ".7", ".8")
    names = {os.path.basename(page) for page in pages}
    complaints = []
    for page in pages:
        for match in re.finditer(r"^\.Xr (sbx-launch\S*) (\d)",
                                 context.read(page), re.M):
            if f"{match[1]}.{match[2]}" not in names:
                complaints.append(f"{page}: {match[1]}({match[2]})")
    return complaints


def check_options(context):
    """options: the tables, sbx-launch(1) and --help agree"""
    # Both languages have --help and --version.
    table = sorted({row[1] for row in rows(context, "option")})
    page = [name for name, _ in page_options(context)]
    done = subprocess.run([context.binary, "--help"], text=True,
                          capture_output=True)
    shown = re.findall(r"^\s+(--[a-z0-9-]+)", done.stdout, re.M)
    complaints = difference(table, "the tables", page, COMMAND_PAGE)
    complaints += difference(table, "the tables", shown, "--help")
    if done.returncode or done.stderr:
        complaints.append(f"--help: status {done.returncode}, "
                          f"{done.stderr!r}")
    return complaints


def check_operands(context):
    """options: sbx-launch(1) shows as many operands as are taken"""
    taken = {row[1]: int(row[2]) for row in rows(context, "option")}
    complaints = []
    for name, words in page_options(context):
        if name in taken and len(words) < taken[name]:
            complaints.append(f"{name}: {taken[name]} in the table, "
                              f"{' '.join(words)!r} in {COMMAND_PAGE}")
        if taken.get(name) == 0 and words and not words[0].startswith("="):
            complaints.append(f"{name}: takes nothing, {words} in "
                              f"{COMMAND_PAGE}")
    return complaints


def check_help_texts(context):
    """options and keys: each row has its line of help"""
    complaints = []
    for language, name, _, _, text in rows(context, "option"):
        if text in ("", "-"):
            complaints.append(f"{language} {name}")
    for section, name, _, _, text in rows(context, "key"):
        if text in ("", "-"):
            complaints.append(f"{section}.{name}")
    return complaints


def check_keys(context):
    """keys: the table and sbx-launch.ini(5) agree"""
    table = [f"{row[0]}.{row[1]}" for row in rows(context, "key")]
    table.remove("mounts.*")
    table += ["mounts." + row[0] for row in rows(context, "mount")]
    table += ["mounts." + name for name in MODIFIERS]
    page = [name for name, _ in page_keys(context)]
    return difference(table, "the table", page, PROFILE_PAGE)


def check_repeats(context):
    """keys: sbx-launch.ini(5) says which may be repeated"""
    repeats = {f"{row[0]}.{row[1]}": row[2] == "repeats"
               for row in rows(context, "key")}
    complaints = []
    for name, text in page_keys(context):
        if name.startswith(("mounts.", "setenv.")):
            continue
        says = "May be repeated." in text
        if name in repeats and says != repeats[name]:
            complaints.append(f"{name}: repeats in "
                              f"{PROFILE_PAGE if says else 'the table'} only")
    return complaints


def check_reasons(context):
    """reasons: the source and sbx-launch(1) agree"""
    source = {"other"}
    for name in context.matching(".c"):
        if name.startswith("src/"):
            for call in REASON_CALL.findall(context.read(name)):
                source.update(REASON.findall(call))
            if name.startswith("src/engine/"):
                source.update(REASON_ROW.findall(context.read(name)))
                source.update(REASON_STEP.findall(context.read(name)))
    source.update(re.sub(r"\{\w+\}", "*", reason) for reason
                  in CONDITION.findall(context.read(CONDITIONS)))
    page = re.search(r"begin reasons.*?end reasons",
                     context.read(COMMAND_PAGE).replace("\\&", ""), re.S)
    if not page:
        return [f"{COMMAND_PAGE}: no list of reasons"]
    listed = re.findall(r"^\.It Cm ([a-z0-9:-]+(?: Ns Ar \w+)?)$", page[0],
                        re.M)
    listed = [re.sub(r" Ns Ar \w+$", "*", reason) for reason in listed]
    return difference(sorted(source), "the source", listed, COMMAND_PAGE)


CHECKS = [check_mandoc, check_references, check_options, check_operands,
          check_help_texts, check_keys, check_repeats, check_reasons]
NEED_PROGRAM = CHECKS[2:7]
