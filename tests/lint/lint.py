#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks of the tree itself: what a compiler does not see.

    lint.py --source DIR [--tables PROGRAM] [--binary PROGRAM]

Each check is a function in one of the modules beside this file; it returns
complaints, one string each.  PROGRAM of --tables prints the option and key
tables (tables.c), that of --binary is sbx-launch.  The last line of the
output is "N passed, N failed".
"""
import argparse
import os
import sys

import check_completions
import check_manual
import check_profiles
import check_shell
import check_tree


class Context:
    """What the checks look at."""

    def __init__(self, arguments):
        self.source = os.path.realpath(arguments.source)
        self.tables = arguments.tables
        self.binary = arguments.binary
        self.files = check_tree.list_files(self.source)

    def read(self, name):
        with open(os.path.join(self.source, name), encoding="utf-8") as file:
            return file.read()

    def matching(self, *suffixes):
        return [name for name in self.files if name.endswith(suffixes)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--tables")
    parser.add_argument("--binary")
    context = Context(parser.parse_args())

    passed = failed = 0
    for module in (check_tree, check_shell, check_manual, check_profiles,
                   check_completions):
        for check in module.CHECKS:
            if check in module.NEED_PROGRAM and not context.binary:
                continue
            complaints = check(context)
            print("not ok" if complaints else "ok", check.__doc__)
            for complaint in complaints:
                print("    " + complaint)
            if complaints:
                failed += 1
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
