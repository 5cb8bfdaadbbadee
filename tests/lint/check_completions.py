# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shells' completions know the options that the program has."""
import os
import re
import shutil
import subprocess

from check_manual import difference, rows

FOLDER = "packaging/completions/"
BASH = FOLDER + "sbx-launch.bash"
ZSH = FOLDER + "_sbx-launch"
FISH = FOLDER + "sbx-launch.fish"

BASH_ROW = re.compile(r"^\t\[(--[a-z0-9-]+)\]='([^']*)'$", re.M)
ZSH_ROW = re.compile(r"^\t'\*?(--[a-z0-9-]+)(=-)?\[((?:\\.|[^\]])*)\](.*)' \\$",
                     re.M)
FISH_ROW = re.compile(r"^complete -c sbx-launch -l (\S+)( -[rx])?.* -d '(.*)'$",
                      re.M)

# What is completed behind which words, for bash.
BASH_CASES = [
    (["--ro-b"], "--ro-bind"),
    (["--die-with-parent", "--unshare-a"], "--unshare-all"),
    (["--ro-bind", "--dev", "--pro"], None),
    (["--ro-bind", "/", "/et"], "/etc"),
    (["--set", "limits.timeout", "=", "3s", "--check"], "--check"),
    (["--explain", "=", "js"], "json"),
    (["--", "--ro-b"], None),
    (["--unshare-pid", "tru"], "true"),
    (["true", "--ro-b"], None),
]


def table(context):
    """name -> (number of operands, help) of each option."""
    return {row[1]: (int(row[2]), row[4]) for row in rows(context, "option")}


def compare(context, name, found):
    """@found: name -> (number of operands or None, help or None)."""
    wanted = table(context)
    complaints = difference(wanted, "the tables", found, name)
    for option, (count, text) in found.items():
        if option not in wanted:
            continue
        if count is not None and count != wanted[option][0]:
            complaints.append(f"{name}: {option} takes {wanted[option][0]}, "
                              f"not {count}")
        if text is not None and text != wanted[option][1]:
            complaints.append(f"{name}: {option}: {text!r} is not what "
                              "--help says")
    return complaints


def check_bash(context):
    """completions for bash: each option, with its operands"""
    found = BASH_ROW.findall(context.read(BASH))
    return compare(context, BASH, {name: (len(kinds.split()), None)
                                   for name, kinds in found})


def check_zsh(context):
    """completions for zsh: each option, with its operands and help"""
    found = {}
    for name, glued, text, operands in ZSH_ROW.findall(context.read(ZSH)):
        text = re.sub(r"\\(.)", r"\1", text.replace("'\\''", "'"))
        plain = re.sub(r"\\.", "", operands)
        count = 0 if glued else plain.count(":") // 2
        found[name] = (count, text)
    return compare(context, ZSH, found)


def check_fish(context):
    """completions for fish: each option, with its help"""
    wanted = table(context)
    found = {}
    complaints = []
    for name, takes, text in FISH_ROW.findall(context.read(FISH)):
        name = "--" + name
        found[name] = (None, text.replace("\\'", "'"))
        if name in wanted and bool(takes) != bool(wanted[name][0]):
            complaints.append(f"{FISH}: {name} takes {wanted[name][0]}")
    return complaints + compare(context, FISH, found)


def check_values(context):
    """completions: the formats of --explain and --check"""
    complaints = []
    for row in rows(context, "option"):
        formats = row[3][2:-1].split("|") if row[3][:2] == "[=" else []
        for name in (BASH, ZSH, FISH) if formats else ():
            text = context.read(name)
            here = " ".join(row[1] + "=" + word for word in formats)
            if " ".join(formats) not in text and here not in text:
                complaints.append(f"{name}: {row[1]}={'|'.join(formats)}")
    return complaints


def check_syntax(context):
    """completions: each shell can read its own"""
    complaints = []
    for shell, name in ("bash", BASH), ("zsh", ZSH), ("fish", FISH):
        if not shutil.which(shell):
            continue
        done = subprocess.run([shell, "-n", name], cwd=context.source,
                              text=True, capture_output=True)
        if done.returncode or done.stderr:
            complaints.append(f"{name}: {done.stderr.strip()}")
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "--format=gcc", BASH],
                              cwd=context.source, text=True,
                              stdout=subprocess.PIPE)
        complaints += done.stdout.splitlines()
    return complaints


def check_behaviour(context):
    """completions for bash: what they offer"""
    script = ("compopt() { :; }; . \"$0\"; COMP_WORDS=(\"$@\"); "
              "COMP_CWORD=$(($# - 1)); _sbx_launch; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    complaints = []
    for words, wanted in BASH_CASES:
        done = subprocess.run(
            ["bash", "--norc", "-c", script, os.path.join(context.source, BASH),
             context.binary] + words, text=True, capture_output=True)
        offered = done.stdout.split()
        if done.stderr or (wanted not in offered if wanted else offered):
            complaints.append(f"{' '.join(words)}: {offered} {done.stderr}")
    return complaints


CHECKS = [check_bash, check_zsh, check_fish, check_values, check_syntax,
          check_behaviour]
NEED_PROGRAM = [check_bash, check_zsh, check_fish, check_values,
                check_behaviour]
