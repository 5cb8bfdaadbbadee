/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdint.h>

Test(mem, an_arena_gives_zeroed_aligned_memory)
{
	auto_arena struct arena *arena = arena_new();

	for (size_t size = 0; size < 5000; size += 7) {
		unsigned char *memory = arena_alloc(arena, size);

		cr_assert_eq((uintptr_t)memory % 16, 0);
		for (size_t i = 0; i < size; i++)
			cr_assert_eq(memory[i], 0);
		memset(memory, 0xaa, size);
	}
}

Test(mem, a_large_object_has_a_block_of_its_own)
{
	auto_arena struct arena *arena = arena_new();
	char *small = arena_strdup(arena, "before");
	char *large = arena_alloc(arena, 10 << 20);

	large[(10 << 20) - 1] = 1;
	cr_expect_str_eq(small, "before");
	cr_expect_str_eq(arena_strdup(arena, "after"), "after");
}

Test(mem, copies)
{
	auto_arena struct arena *arena = arena_new();
	char *copy = arena_memdup(arena, "a\0b", 3);

	cr_expect_eq(memcmp(copy, "a\0b\0", 4), 0);
	cr_expect_str_eq(arena_strndup(arena, "abc", 2), "ab");
	cr_expect_str_eq(arena_strndup(arena, "abc", 9), "abc");
	cr_expect_str_eq(arena_printf(arena, "%s-%d", "x", 5), "x-5");
	cr_expect_str_eq(arena_memdup(arena, NULL, 0), "");
}

Test(mem, a_list_grows_and_keeps_what_it_has)
{
	auto_arena struct arena *arena = arena_new();
	LIST_OF(size_t) list = { 0 };

	for (size_t i = 0; i < 10000; i++)
		*arena_push(arena, &list) = i * i;
	cr_assert_eq(list.count, 10000);
	for (size_t i = 0; i < 10000; i++)
		cr_assert_eq(list.at[i], i * i);
}

Test(mem, descriptors_close_themselves_unless_taken)
{
	int kept, lost;

	{
		auto_close int first = open("/", O_PATH | O_CLOEXEC);
		auto_close int second = open("/", O_PATH | O_CLOEXEC);

		lost = first;
		kept = take_fd(&second);
		cr_expect_eq(second, -EBADF);
	}
	cr_expect_eq(fcntl(lost, F_GETFD), -1);
	cr_expect_neq(fcntl(kept, F_GETFD), -1);
	close(kept);
}

static _Noreturn void leave(void)
{
	_exit(42);
}

Test(mem, the_handler_is_called_when_memory_runs_out, .exit_code = 42)
{
	auto_arena struct arena *arena = arena_new();

	mem_set_oom_handler(leave);
	arena_alloc(arena, SIZE_MAX / 2);
}
