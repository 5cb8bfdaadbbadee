#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Look around: what may this process do here?

    sbx-launch --profile py.ini look.py
"""
import os
import socket
import sys
import tempfile


def can_write(directory):
    try:
        with tempfile.TemporaryFile(dir=directory):
            return "writable"
    except OSError as error:
        return error.strerror


def can_connect(family, address):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(2)
            sock.connect(address)
            return "reachable"
    except OSError as error:
        return error.strerror or str(error)


print("python      ", sys.version.split()[0], sys.executable)
print("ids         ", os.getuid(), os.getgid())
print("processes   ", sum(name.isdigit() for name in os.listdir("/proc")))
print("environment ", " ".join(sorted(os.environ)))
print("descriptors ", " ".join(sorted(
    fd for fd in os.listdir("/proc/self/fd")
    if os.path.exists("/proc/self/fd/" + fd))))
for place in os.getcwd(), "/tmp", "/home", "/etc":
    print("%-12s %s" % (place, can_write(place)))
print("/home holds ", len(os.listdir("/home")), "entries")
print("an address  ", can_connect(socket.AF_INET, ("192.0.2.1", 53)))
print("system bus  ", can_connect(
    socket.AF_UNIX, "/run/dbus/system_bus_socket"))
