/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing to what the caller may read, or not: records and the log.
 */
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Write @text to @fd: to a file in one write(2), else in parts as there is
 * room, since the run has to be supervised whether somebody reads or not.
 * Returns how much was written, or a negative errno if that is nothing:
 * -ETIMEDOUT when there was no room for five seconds.
 */
ssize_t record_write(int fd, const char *text, size_t size);

#endif
