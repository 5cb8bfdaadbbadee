# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mounts a FUSE file system on its argument and answers nothing but INIT.

What a server that cannot be reached is like: every look into it waits for
ever.  Prints "mounted" and lives until it is killed.
"""
import ctypes
import os
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id={os.getuid()}," \
    f"group_id={os.getgid()}"
if libc.mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
request = os.read(device, 1 << 17)
unique, = struct.unpack_from("Q", request, 8)
# struct fuse_out_header and fuse_init_out of version 7.31
reply = struct.pack("IIIIHHIIHH8I", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 1,
                    0, *[0] * 8)
os.write(device, struct.pack("IiQ", 16 + len(reply), 0, unique) + reply)
print("mounted", flush=True)
while True:
    time.sleep(60)
