# SPDX-License-Identifier: LGPL-2.1-or-later
"""The profiles that are shipped."""
import os
import re

from check_manual import COMMAND_PAGE, rows


def profiles(context):
    return [name for name in context.matching(".ini")
            if name.startswith("conf/")]


def profile_keys(context, name):
    """(line, section, key, value) of each line that has a key."""
    section = None
    for number, line in enumerate(context.read(name).splitlines(), 1):
        line = line.strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line and line[0] not in ";#":
            key, _, value = line.partition("=")
            yield number, section, key.strip(), value.strip()


def check_known(context):
    """profiles: every key is in the table"""
    table = {tuple(row[:2]) for row in rows(context, "key")}
    complaints = [] if profiles(context) else ["no profile was found"]
    for name in profiles(context):
        for number, section, key, _ in profile_keys(context, name):
            if (section, key) not in table and (section, "*") not in table:
                complaints.append(f"{name}:{number}: [{section}] {key}")
    return complaints


def check_described(context):
    """profiles: each is described, installed and listed in sbx-launch(1)"""
    build = context.read("conf/meson.build")
    page = context.read(COMMAND_PAGE)
    complaints = []
    for name in profiles(context):
        base = os.path.basename(name)
        if not any(key == "description" and value
                   for _, _, key, value in profile_keys(context, name)):
            complaints.append(f"{name}: no description")
        if f"'{base}'" not in build:
            complaints.append(f"{name}: not in conf/meson.build")
        if not re.search(rf"^\.It Pa (?:.* )?{re.escape(base)}\b", page,
                         re.M):
            complaints.append(f"{name}: not in {COMMAND_PAGE}")
    return complaints


def check_examples(context):
    """profiles: what their comments run is there"""
    complaints = []
    for name in context.files:
        if not name.startswith("conf/") or name.endswith("meson.build"):
            continue
        for match in re.finditer(r"--profile ([\w.-]+)", context.read(name)):
            if "conf/" + match[1] not in context.files \
                    and match[1] != "NAME":
                complaints.append(f"{name}: --profile {match[1]}")
    return complaints


CHECKS = [check_known, check_described, check_examples]
NEED_PROGRAM = CHECKS[:1]
