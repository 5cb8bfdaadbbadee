# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules for shell and Python scripts."""
import os
import re
import subprocess

SHEBANG = re.compile(rb"#!\s*/(?:usr/)?bin/(?:env )?(sh|bash|dash)\b")


def shell_scripts(context):
    for name in context.files:
        with open(os.path.join(context.source, name), "rb") as file:
            if name.endswith(".sh") or SHEBANG.match(file.readline(80)):
                yield name


def check_shellcheck(context):
    """shellcheck has nothing to say about shell scripts"""
    scripts = list(shell_scripts(context))
    if not scripts:
        return ["no shell script was found"]
    try:
        done = subprocess.run(
            ["shellcheck", "--format=gcc", "--"] + scripts, text=True,
            cwd=context.source, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
    except FileNotFoundError:
        return ["shellcheck is not installed"]
    return done.stdout.splitlines() if done.returncode else []


def check_python(context):
    """Python scripts compile"""
    complaints = []
    for name in context.matching(".py"):
        try:
            compile(context.read(name), name, "exec")
        except SyntaxError as error:
            complaints.append(f"{name}:{error.lineno}: {error.msg}")
    return complaints


CHECKS = [check_shellcheck, check_python]
NEED_PROGRAM = []
