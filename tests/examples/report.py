# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an agent's script typically does, and what it should not be able to.

Works through a small job with several processes, a database in the
workspace, temporary files and a child program, and then reports which doors
of the machine stand open.  Outside of a sandbox most of them do.
"""
import multiprocessing
import os
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile


def square(number):
    return number * number


def work():
    with multiprocessing.Pool(2) as pool:
        squares = pool.map(square, range(100))

    database = sqlite3.connect("report.db")
    database.execute("create table if not exists square (n integer, s integer)")
    database.execute("delete from square")
    database.executemany("insert into square values (?, ?)", enumerate(squares))
    database.commit()
    total, = database.execute("select sum(s) from square").fetchone()
    database.close()

    with tempfile.NamedTemporaryFile("w", suffix="-zusammenfaßung") as file:
        file.write("x" * 1_000_000)
        file.flush()
        size = os.stat(file.name).st_size

    child = subprocess.run([sys.executable, "-c", "print(6 * 7)"],
                           capture_output=True, text=True, check=True)
    return {
        "sum of squares": total,
        "temporary file": f"{size} bytes",
        "child process": child.stdout.strip(),
        "TLS library": ssl.OPENSSL_VERSION.split()[0],
    }


def door(open_it):
    try:
        return open_it()
    except OSError as error:
        return f"closed ({error.strerror or error})"


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    return f"open, {len(content)} bytes" if content else "closed (empty)"


def write(path):
    with open(path, "wb"):
        pass
    os.unlink(path)
    return "open"


def connect():
    with socket.create_connection(("192.0.2.1", 80), timeout=1):
        return "open"


def entries(path):
    found = os.listdir(path)
    return f"open, {len(found)} entries" if found else "closed (empty)"


def doors():
    return {
        "read /etc/shadow": door(lambda: read("/etc/shadow")),
        "write to /usr": door(lambda: write("/usr/report.tmp")),
        "list /home": door(lambda: entries("/home")),
        "list /root": door(lambda: entries("/root")),
        "network": door(connect),
        "environment of process 1": door(lambda: read("/proc/1/environ")),
        "processes in sight": sum(name.isdigit() for name in os.listdir("/proc")),
        "user and host": f"{os.getuid()} on {socket.gethostname()}",
    }


if __name__ == "__main__":
    for title, rows in ("work", work()), ("doors", doors()):
        print(f"{title}:")
        for name, value in rows.items():
            print(f"  {name:26} {value}")
