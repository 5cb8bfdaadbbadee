/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a fuzzer's function over the files of a directory, in any compiler. */
#include "fuzz.h"

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void replay(const char *directory, const char *name)
{
	char path[4096];
	uint8_t *data = NULL;
	size_t size = 0, room = 0, got;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	if (!file)
		err(1, "%s", path);
	do {
		room = room ? room * 2 : 4096;
		data = realloc(data, room);
		if (!data)
			err(1, "%s", path);
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (size == room);
	fclose(file);
	/* Read if this input ends the process. */
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	unsigned count = 0;
	DIR *directory;

	if (argc != 2)
		errx(1, "usage: %s CORPUS-DIRECTORY", argv[0]);
	directory = opendir(argv[1]);
	if (!directory)
		err(1, "%s", argv[1]);
	while ((entry = readdir(directory))) {
		if (*entry->d_name == '.')
			continue;
		replay(argv[1], entry->d_name);
		count++;
	}
	closedir(directory);
	printf("%u inputs\n", count);
	return count ? 0 : 1;
}
