/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting for long with as little memory as possible.
 *
 * What a program has touched of its own image stays mapped.  Clean pages of
 * it can be given back at any time, since the kernel reads them again from the
 * page cache when they are needed; and it maps their neighbours along with
 * them, 64 KiB at a time.  So the last instructions before the wait are kept
 * in one place (the "hot" part of the text, which the linker puts together)
 * and call nothing but syscall(2).
 */
#include "sys/proc.h"

#include "base/mem.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct image {
	struct { uintptr_t start, size; } parts[8];
	size_t count;
};

/* The first object is the program itself; only what it cannot write to. */
static int image_find(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct image *image = data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		uintptr_t end = (start + segment->p_memsz) & ~(page - 1);

		start = (start + page - 1) & ~(page - 1);
		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W ||
		    start >= end || image->count == ARRAY_SIZE(image->parts))
			continue;
		image->parts[image->count].start = start;
		image->parts[image->count++].size = end - start;
	}
	return 1;
}

__attribute__((hot, noinline))
static long image_release_and_wait(const struct image *image,
				   struct pollfd *fds, nfds_t count,
				   const sigset_t *mask)
{
	for (size_t i = 0; i < image->count; i++)
		syscall(SYS_madvise, image->parts[i].start,
			image->parts[i].size, MADV_DONTNEED);
	return syscall(SYS_ppoll, fds, count, NULL, mask, _NSIG / 8);
}

int proc_wait_small(struct pollfd *fds, nfds_t count, const sigset_t *mask)
{
	struct image image = { .count = 0 };

	dl_iterate_phdr(image_find, &image);
	return (int)image_release_and_wait(&image, fds, count, mask);
}
