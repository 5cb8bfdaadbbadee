# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls that somebody makes who wants out; each that works is a line "GOT".

The argument says which: "kernel" is what the filter keeps from everybody,
"unix" sockets, "setid" files, "capabilities" of files, "terminal" the caller's
terminal on stdin.  The last line is "done".
"""
import ctypes
import mmap
import os
import platform
import signal
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
is_x86 = platform.machine() == "x86_64"
ABOVE = 1 << 32  # beyond what the kernel takes of an int


def got(what):
    print("GOT", what, flush=True)


def call(what, number, *arguments, wanted=lambda r: r >= 0):
    """One system call by number, every argument 64 bits wide."""
    r = libc.syscall(ctypes.c_long(number), *(
        a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_ulong(a)
        for a in arguments))
    if wanted(r):
        got(what)
    return r


def in_child(what, function):
    """@function has to end its process by SIGSYS."""
    pid = os.fork()
    if pid == 0:
        function()
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
        got(what)


def run_machine_code(code):
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE |
                       mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


# x86-64 and the numbers that all machines share, aarch64
def number(x86_64, aarch64=None):
    return x86_64 if is_x86 or aarch64 is None else aarch64


def kernel():
    for family, kind in ((38, 5), (40, 1), (17, 3), (16, 3)):
        for above in 0, ABOVE, ABOVE << 31:
            call(f"socket {family}", number(41, 198), family | above, kind,
                 12 if family == 16 else 0)
    call("inet packet socket", number(41, 198), 2, 10, 0x300)
    call("inet sctp socket", number(41, 198), 2, 1, 132)
    call("io_uring_setup", 425, 8, ctypes.create_string_buffer(256))
    call("keyctl", number(250, 219), 0, -3 & (1 << 64) - 1, 1)
    call("add_key", number(248, 217), b"user", b"a", b"b", 1,
         -3 & (1 << 64) - 1)
    call("userfaultfd", number(323, 282), 1)
    call("fanotify_init", number(300, 262), 0x200, 0)
    call("kcmp", number(312, 272), os.getpid(), os.getpid(), 0, 0, 0)
    pid = os.getpid()
    there, here = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    call("process_vm_readv", number(310, 270), pid,
         struct.pack("QQ", ctypes.addressof(here), 8), 1,
         struct.pack("QQ", ctypes.addressof(there), 8), 1, 0)
    call("pidfd_getfd", 438, os.pidfd_open(pid), 0, 0)
    handle = struct.pack("Ii", 128, 0) + bytes(128)
    call("name_to_handle_at", number(303, 264), 0xffffffffffffff9c, b"/",
         ctypes.create_string_buffer(handle), ctypes.create_string_buffer(8),
         0)
    call("unshare", number(272, 97), 0x10000000 | ABOVE)
    clone_flags = 0x10000000 | signal.SIGCHLD
    for what, clone in (
            ("clone", lambda: libc.syscall(number(56, 220), ctypes.c_ulong(
                clone_flags | ABOVE), 0, 0, 0, 0)),
            ("clone3", lambda: libc.syscall(435, struct.pack(
                "QQQQQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0),
                64))):
        r = clone()
        if r == 0:
            os._exit(0)
        if r > 0:
            got(what)
            os.waitpid(r, 0)
    call("personality", number(135, 92), 0x0040000 | ABOVE)
    if is_x86:
        call("modify_ldt", 154, 0, ctypes.create_string_buffer(64), 64)
        in_child("x32", lambda: libc.syscall(0x40000000 | 39))
        in_child("int 0x80", lambda: run_machine_code(
            b"\xb8\x14\0\0\0\xcd\x80\xc3"))
    for pid in "1", "self":
        with open(f"/proc/{pid}/status") as status:
            if "Seccomp:\t2\n" not in status.read():
                got(f"no filter on {pid}")


def unix():
    for above in 0, ABOVE:
        for kind in 1, 2, 5:
            call(f"unix socket {kind}", number(41, 198), 1 | above, kind, 0)
    for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM:
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        except PermissionError:
            continue
        theirs.close()
        for name in "socket", "datagrams":
            try:
                ours.connect(name)
                ours.send(b"hello")
                got(f"connection of a pair of {kind}")
            except OSError:
                pass


def setid():
    os.umask(0)
    with open("file", "w") as file:
        fd = file.fileno()
        mode = 0o6755
        call("fchmod", number(91, 52), fd, mode | ABOVE)
        call("fchmodat", number(268, 53), 0xffffff9c, b"file", mode)
        call("fchmodat2", 452, 0xffffff9c, b"file", mode, 0)
        call("fchmodat2 by descriptor", 452, fd, b"", mode, 0x1000)
    create = os.O_CREAT | os.O_RDWR
    call("openat", number(257, 56), 0xffffff9c, b"a", create | ABOVE, mode)
    call("openat of nothing", number(257, 56), 0xffffff9c, b".",
         os.O_TMPFILE | os.O_RDWR, mode)
    call("openat2", 437, 0xffffff9c, b"b", struct.pack("QQQ", create, mode, 0),
         24)
    call("mknodat", number(259, 33), 0xffffff9c, b"c", stat.S_IFREG | mode, 0)
    call("io_uring_setup", 425, 8, ctypes.create_string_buffer(256))
    if is_x86:
        call("chmod", 90, b"file", mode)
        call("open", 2, b"d", create, mode)
        call("creat", 85, b"e", mode)
        call("mknod", 133, b"f", stat.S_IFREG | mode, 0)
    for name in os.listdir("."):
        if os.lstat(name).st_mode & 0o6000:
            got(f"{name} with set-id bits")


def capabilities():
    """A capability of a file that is one on the host too."""
    with open("file", "w"):
        pass
    value = struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0)

    def try_in(place):
        try:
            os.setxattr("file", "security.capability", value)
            got("a capability " + place)
        except OSError:
            pass

    try_in("as we are")
    maps = (("setgroups", "deny"), ("uid_map", f"0 {os.getuid()} 1"),
            ("gid_map", f"0 {os.getgid()} 1"))
    if libc.unshare(0x10000000) == 0:
        for name, text in maps:
            with open("/proc/self/" + name, "w") as file:
                file.write(text)
        try_in("in a user namespace of our own")


def terminal():
    for above in 0, ABOVE, ABOVE << 31:
        for byte in b"echo typed\n":
            call("TIOCSTI", number(16, 29), 0, 0x5412 | above, bytes([byte]))
        call("TIOCSETD", number(16, 29), 0, 0x5423 | above, bytes(4))


globals()[sys.argv[1]]()
print("done")
