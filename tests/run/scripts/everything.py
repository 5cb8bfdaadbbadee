# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a large script does; prints the same in a sandbox and outside of one.

Arguments: NAME=VALUE each, printed back, to see that they arrive as they are.
"""
import hashlib
import json
import multiprocessing
import os
import pathlib
import queue
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import unicodedata

MEGABYTE = 1 << 20
BIG = 100


def digest(number):
    data = str(number).encode()
    for _ in range(200):
        data = hashlib.sha256(data).digest()
    return data.hex()


def pools():
    with multiprocessing.Pool(3) as pool:
        digests = pool.map(digest, range(60))
    print("pool", hashlib.sha256("".join(digests).encode()).hexdigest())
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        print("spawn", pool.apply(digest, (1,)) == digests[1])
    channel = multiprocessing.Queue()
    value = multiprocessing.Value("i", 0)
    workers = [multiprocessing.Process(target=count, args=(channel, value))
               for _ in range(3)]
    for worker in workers:
        worker.start()
    numbers = sorted(channel.get() for _ in workers)
    for worker in workers:
        worker.join()
    print("processes", numbers, value.value)
    threads = queue.Queue()
    pair = [threading.Thread(target=threads.put, args=(n,)) for n in (1, 2)]
    for thread in pair:
        thread.start()
        thread.join()
    print("threads", threads.get() + threads.get())


def count(channel, value):
    with value.get_lock():
        value.value += 1
        channel.put(value.value)


def databases():
    with sqlite3.connect("daten.db") as database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table t (n integer primary key, s text)")
        database.executemany("insert into t values (?, ?)",
                             ((n, "ß" * (n % 7)) for n in range(3000)))
    database.close()
    database = sqlite3.connect("daten.db")
    print("sqlite", *database.execute(
        "select count(*), sum(length(s)), max(s) from t").fetchone())
    database.close()


def files():
    with tempfile.TemporaryDirectory() as top:
        path = pathlib.Path(top, "big")
        with open(path, "wb") as file:
            for _ in range(BIG):
                file.write(bytes(MEGABYTE))
        print("big", path.stat().st_size // MEGABYTE)
        moved = shutil.move(path, pathlib.Path(top, "moved"))
        print("moved", pathlib.Path(moved).name, path.exists())
    with tempfile.NamedTemporaryFile("w+", prefix="präfix-") as file:
        file.write("temporary")
        file.seek(0)
        print("temporary", file.read(), os.path.exists(file.name))
    names = ["ünï-cødé", "日本語", "emoji-🎉", "e\u0301", "blank s", "q'\"",
             "new\nline", "back\\slash", "-dash", b"raw-\xff".decode(
                 "utf-8", "surrogateescape")]
    directory = pathlib.Path("namen")
    directory.mkdir()
    for name in names:
        (directory / name).write_text(name, "utf-8", "surrogateescape")
    found = sorted(os.listdir(directory))
    print("names", len(found), found == sorted(names), ascii(found))
    print("composed", unicodedata.normalize("NFC", "e\u0301") in found)
    os.symlink("日本語", directory / "link")
    os.link(directory / "-dash", directory / "hard")
    os.mkfifo(directory / "fifo", 0o600)
    print("links", (directory / "link").read_text(),
          os.stat(directory / "hard").st_nlink)
    with open(directory / "locked", "w") as file:
        import fcntl
        fcntl.flock(file, fcntl.LOCK_EX)
        os.posix_fallocate(file.fileno(), 0, 4096)
    os.chmod(directory / "locked", 0o640)
    os.utime(directory / "locked", (1, 2))
    stat = os.stat(directory / "locked")
    print("stat", oct(stat.st_mode), stat.st_mtime, stat.st_size)


def programs():
    done = subprocess.run([sys.executable, "-c", "print(6 * 7)"],
                          capture_output=True, text=True, check=True)
    print("child", done.stdout.strip())
    done = subprocess.run("cat | tr a-z A-Z; exit 3", shell=True,
                          input="grün\n", capture_output=True, text=True)
    print("shell", done.returncode, done.stdout.strip())
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        sleeper.send_signal(signal.SIGTERM)
        print("signal", sleeper.wait())
    pid = os.fork()
    if not pid:
        os._exit(9)
    print("fork", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    master, slave = os.openpty()
    os.write(slave, b"x\n")
    print("pty", os.read(master, 9))


def libraries():
    context = ssl.create_default_context()
    print("ssl", context.check_hostname, context.cert_store_stats()["x509"]
          == ssl.create_default_context().cert_store_stats()["x509"])
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="a.example")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        print("hello", outgoing.read()[:1].hex())
    print("random", len(os.urandom(16)), len(hashlib.sha3_256(
        ssl.RAND_bytes(8)).digest()))


def main():
    print("arguments", json.dumps(sys.argv[1:]))
    print("directory", sorted(os.listdir()))
    print("encoding", sys.getfilesystemencoding(), sys.stdout.encoding)
    print("main", __name__, os.path.basename(__file__), sys.flags.isolated)
    pools()
    databases()
    files()
    programs()
    libraries()
    print("after", sorted(os.listdir()))
    print("to stderr", file=sys.stderr)
    sys.exit(17)


if __name__ == "__main__":
    main()
