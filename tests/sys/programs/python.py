# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Python programs do that asks something of the kernel."""
import asyncio
import concurrent.futures
import ctypes
import fcntl
import http.client
import http.server
import mmap
import multiprocessing
import os
import resource
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import shared_memory


def square(n):
    return n * n


def check_threads():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(square, range(50))) == [n * n for n in range(50)]
    event = threading.Event()
    threading.Timer(0.01, event.set).start()
    assert event.wait(10)


def check_processes():
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(square, [1, 2, 3]) == [1, 4, 9]
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=lambda: theirs.send(os.getpid()))
    child.start()
    assert ours.recv() == child.pid
    child.join()
    block = shared_memory.SharedMemory(create=True, size=4096)
    block.close()
    block.unlink()


def check_subprocess():
    done = subprocess.run(["sh", "-c", "cat; echo err >&2; exit 3"],
                          input=b"in", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"in", b"err\n")
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM
    assert os.waitstatus_to_exitcode(os.system("exit 5")) == 5
    pidfd = os.pidfd_open(os.getpid())
    signal.pidfd_send_signal(pidfd, 0)
    os.close(pidfd)


def check_sqlite(directory):
    database = sqlite3.connect(os.path.join(directory, "data.db"))
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE t (n INTEGER)")
    with database:
        database.executemany("INSERT INTO t VALUES (?)",
                             [(n,) for n in range(1000)])
    assert database.execute("SELECT sum(n) FROM t").fetchone() == (499500,)
    database.close()


def check_asyncio():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"line\n")
        assert await reader.readline() == b"line\n"
        writer.close()
        server.close()
        child = await asyncio.create_subprocess_exec(
            "echo", "x", stdout=subprocess.PIPE)
        assert await child.communicate() == (b"x\n", None)
        await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(100)))

    asyncio.run(main())


def check_http():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"body")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = http.client.HTTPConnection(*server.server_address)
    client.request("GET", "/")
    assert client.getresponse().read() == b"body"
    server.shutdown()


def check_sockets():
    ssl.create_default_context()
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            socket.socket(family, kind).close()
    ours, theirs = socket.socketpair()
    ours.sendall(b"x")
    assert theirs.recv(1) == b"x"
    socket.getaddrinfo("localhost", 80)
    assert socket.if_nameindex() is not None
    if "--no-unix" not in sys.argv:
        socket.socket(socket.AF_UNIX).close()


def check_files(directory):
    path = os.path.join(directory, "datei-\u00e4\u00f6")
    with open(path, "w+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
        file.truncate(8192)
        with mmap.mmap(file.fileno(), 8192) as memory:
            memory[0:3] = b"abc"
            memory.flush()
        os.posix_fallocate(file.fileno(), 0, 16384)
        assert file.read(3) == b"abc"
        os.fsync(file.fileno())
    os.chmod(path, 0o600)
    os.utime(path, (1, 1))
    assert os.stat(path).st_mtime == 1
    os.link(path, path + "2")
    os.symlink(path, path + "3")
    os.replace(path + "2", path)
    with tempfile.TemporaryFile(dir=directory) as file:
        os.copy_file_range(os.open(path, os.O_RDONLY), file.fileno(), 100)
    with tempfile.TemporaryDirectory(dir=directory):
        pass
    assert len(list(os.scandir(directory))) >= 2
    assert os.memfd_create("m") > 2


def check_waiting():
    reader, writer = os.pipe2(os.O_NONBLOCK)
    poll = select.epoll()
    poll.register(reader, select.EPOLLIN)
    os.write(writer, b"x")
    assert poll.poll(10) == [(reader, select.EPOLLIN)]
    assert select.select([reader], [], [], 10)[0] == [reader]
    seen = []
    signal.signal(signal.SIGALRM, lambda *args: seen.append(args))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not seen:
        time.sleep(0.01)
    signal.sigtimedwait([signal.SIGUSR1], 0.001)


def check_system():
    os.uname(), os.getloadavg(), os.cpu_count(), os.sched_getaffinity(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.getrusage(resource.RUSAGE_CHILDREN)
    os.getrandom(16)
    ctypes.CDLL(None).getppid()
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)
    assert callback() == 7  # executable memory
    leader, follower = os.openpty()
    os.write(leader, b"x\n")
    assert os.read(follower, 2) == b"x\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        check_threads()
        check_processes()
        check_subprocess()
        check_sqlite(scratch)
        check_asyncio()
        check_http()
        check_sockets()
        check_files(scratch)
        check_waiting()
        check_system()
    print("ok")
