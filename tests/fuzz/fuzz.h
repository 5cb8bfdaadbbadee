/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry; replay.c calls it for each file of a corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
