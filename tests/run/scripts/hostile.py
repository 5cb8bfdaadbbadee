# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tries to get at what is not its business; prints whatever it got.

Arguments: what to do, a directory of the caller's that it should not see, the
number of a process outside, a port on the host's 127.0.0.1, the name of an
abstract socket of the host's, the path of a socket.  Every find is a line
"GOT what"; the last line is "done".

To do is "look", for a run that nothing holds: no attempt to change anything;
"all"; or "files", all but what the system call filter is for.
"""
import ctypes
import errno
import os
import socket
import struct
import sys

SECRET = b"hunter2"
libc = ctypes.CDLL(None, use_errno=True)


def got(what):
    print("GOT", what, flush=True)


def attempt(what, function, *arguments):
    """@function must fail, or return nothing."""
    try:
        result = function(*arguments)
    except (OSError, ValueError):
        return
    if result:
        got(what)


def read(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(64)


def names(path):
    return os.listdir(path)


def write(path):
    fd = os.open(path, os.O_WRONLY)
    os.close(fd)
    return "opened for writing"


def make(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.close(fd)
    return "made"


def system_call(name, number, *arguments):
    """A call that has to fail."""
    if libc.syscall(number, *arguments) >= 0:
        got(name)


def look_for_files(private):
    for path in "/etc/shadow", "/etc/shadow-", "/etc/gshadow":
        attempt(path, read, path)
    for path in "/root", "/home", private, "/run", "/var/run":
        attempt(path, names, path)
    attempt("the caller's file", read, os.path.join(private, "secret"))
    for fd in range(3, 300):
        attempt(f"descriptor {fd}", os.fstat, fd)
    # The root must be the top of everything.
    top = os.stat("/")
    os.chdir("/")
    for _ in range(20):
        os.chdir("..")
    here = os.stat(".")
    if (top.st_dev, top.st_ino) != (here.st_dev, here.st_ino):
        got("a way up")


def try_to_write():
    for path in ("/etc/passwd", "/usr/bin/env", "/proc/sysrq-trigger",
                 "/proc/sys/kernel/core_pattern", "/proc/1/mem"):
        attempt(path, write, path)
    for path in ("/x", "/etc/x", "/usr/x", "/home/x", "/root/x", "/run/x",
                 "/proc/x", "/dev/x", "/sys/x", "/var/x", "/var/tmp/x"):
        attempt(path, make, path)


def look_at_processes(caller):
    for name in "environ", "maps", "mem", "auxv", "stack", "syscall":
        attempt("/proc/1/" + name, read, "/proc/1/" + name)
    for name in "root", "cwd", "exe":
        attempt("/proc/1/" + name, os.readlink, "/proc/1/" + name)
    # Their numbers may be seen, but not what they are.
    for fd in range(300):
        attempt(f"/proc/1/fd/{fd}", os.readlink, f"/proc/1/fd/{fd}")
    attempt("/proc/1/root", names, "/proc/1/root/home")
    for pid in names("/proc"):
        if pid.isdigit() and int(pid) not in (1, os.getpid()):
            got(f"process {pid}")
        if pid.isdigit():
            try:
                if SECRET in read(f"/proc/{pid}/environ"):
                    got(f"the secret of {pid}")
            except OSError:
                pass
    if SECRET.decode() in repr(os.environ):
        got("the secret in the environment")
    # To PID 1 only what it handles, to others nothing.
    for pid in caller, os.getppid():
        if pid > 1:
            attempt(f"kill {pid}", lambda: os.kill(pid, 0) is None)
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(0x4206, 1, None, None) >= 0:
        got("ptrace of 1")
    buffer = ctypes.create_string_buffer(8)
    vector = struct.pack("PP", ctypes.addressof(buffer), 8)
    # EFAULT would mean that only the address was wrong.
    if libc.process_vm_readv(1, vector, 1, vector, 1, 0) >= 0 or \
            ctypes.get_errno() == errno.EFAULT:
        got("process_vm_readv of 1")


def look_for_network(port, abstract, path):
    attempt("127.0.0.1", socket.create_connection, ("127.0.0.1", port), 2)
    attempt("network", socket.create_connection, ("192.0.2.1", 53), 2)
    with socket.socket(socket.AF_UNIX) as client:
        attempt("abstract socket",
                lambda: client.connect("\0" + abstract) is None)
    with socket.socket(socket.AF_UNIX) as client:
        attempt("socket", lambda: client.connect(path) is None)


def try_system_calls():
    if os.uname().machine != "x86_64":
        return
    for family, kind, protocol in ((17, 3, 0), (16, 3, 9), (40, 1, 0),
                                   (38, 5, 0), (2, 3, 1), (44, 3, 0)):
        attempt(f"family {family}", socket.socket, family, kind, protocol)
    null = ctypes.c_void_p()
    system_call("unshare", 272, 0x10000000)
    system_call("unshare of mounts", 272, 0x20000)
    system_call("mount", 165, b"t", b"/tmp", b"tmpfs", 0, null)
    system_call("umount2", 166, b"/tmp", 2)
    system_call("pivot_root", 155, b".", b".")
    system_call("chroot", 161, b".")
    system_call("setns", 308, 0, 0)
    system_call("open_tree", 428, -100, b"/", 1)
    system_call("fsopen", 430, b"tmpfs", 0)
    system_call("mount_setattr", 442, -100, b"/", 0,
                struct.pack("QQQQ", 0, 1, 0, 0), 32)
    system_call("setuid", 105, 0)
    system_call("bpf", 321, 0, null, 0)
    system_call("perf_event_open", 298, null, 0, -1, -1, 0)
    system_call("io_uring_setup", 425, 8, null)
    system_call("userfaultfd", 323, 1)
    system_call("keyctl of the session", 250, 0, -3, 0)
    system_call("add_key", 248, b"user", b"sbx", b"x", 1, -2)
    system_call("open_by_handle_at", 304, -100, null, 0)
    system_call("sethostname", 170, b"x", 1)
    system_call("mknod", 133, b"/tmp/null", 0o20666, 0x103)
    system_call("personality", 135, 0x0400000)
    system_call("syslog", 103, 3, null, 0)
    system_call("pidfd_getfd", 438, 0, 0, 0)


def main():
    to_do, private, caller, port, abstract, path = sys.argv[1:]
    look_for_files(private)
    look_at_processes(int(caller))
    look_for_network(int(port), abstract, path)
    if to_do != "look":
        try_to_write()
    if to_do == "all":
        try_system_calls()
    print("done")


if __name__ == "__main__":
    main()
