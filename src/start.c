/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a static image starts: before libc does.
 *
 * Nearly every page of the image that can be written is written within the
 * first hundred microseconds, by the relocation of the image and by libc, and
 * so is the top of the stack.  Each would be a page fault, which costs a
 * virtual machine some ten microseconds; madvise(2) with MADV_POPULATE_WRITE
 * makes them all in one call for less than one each.  Before Linux 5.14 that
 * is EINVAL and the pages come one by one, as ever.
 *
 * Nothing here may use what libc sets up: no errno, no stack protector, no
 * call, and no address that a relocation would have to fill in.
 */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* In the headers of glibc since 2.35. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	/* A launch goes some forty KiB deep; most of it is within these. */
	STACK_BYTES = 32 * 1024,
};

/* The head of this image, from the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

void start_populate(const uintptr_t *stack);

/* Its failure changes nothing. */
static inline void populate(uintptr_t begin, uintptr_t end)
{
#if defined(__x86_64__)
	long number = SYS_madvise;

	__asm__ volatile("syscall" : "+a"(number)
			 : "D"(begin), "S"(end - begin),
			   "d"((long)MADV_POPULATE_WRITE)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_madvise;
	register uintptr_t at __asm__("x0") = begin;
	register uintptr_t size __asm__("x1") = end - begin;
	register long advice __asm__("x2") = MADV_POPULATE_WRITE;

	__asm__ volatile("svc #0" : "+r"(at)
			 : "r"(number), "r"(size), "r"(advice) : "memory");
#endif
}

/* @stack as the kernel leaves it: argc, argv, NULL, environ, NULL, auxv. */
static inline uintptr_t page_size(const uintptr_t *stack)
{
	const ElfW(auxv_t) *aux;

	stack += 1 + stack[0] + 1;
	while (*stack)
		stack++;
	for (aux = (const void *)(stack + 1); aux->a_type != AT_NULL; aux++)
		if (aux->a_type == AT_PAGESZ)
			return aux->a_un.a_val;
	return 4096;
}

__attribute__((used, no_stack_protector))
void start_populate(const uintptr_t *stack)
{
	uintptr_t image = (uintptr_t)&__ehdr_start, top = (uintptr_t)stack;
	uintptr_t mask = ~(page_size(stack) - 1);
	const ElfW(Phdr) *part = (const void *)(image + __ehdr_start.e_phoff);

	for (int i = 0; i < __ehdr_start.e_phnum; i++, part++)
		if (part->p_type == PT_LOAD && part->p_flags & PF_W)
			populate((image + part->p_vaddr) & mask,
				 (image + part->p_vaddr + part->p_memsz +
				  ~mask) & mask);
	populate((top - STACK_BYTES) & mask, top & mask);
}

/*
 * The kernel enters with the stack pointer at argc, and with a register that
 * _start looks at; both go on to it as they were.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text.start_image, \"ax\", @progbits\n"
	".globl start_image\n"
	".hidden start_image\n"
	".type start_image, @function\n"
	"start_image:\n"
	"	endbr64\n"
	"	xor %ebp, %ebp\n"
	"	mov %rdx, %rbx\n"
	"	mov %rsp, %rdi\n"
	"	call start_populate\n"
	"	mov %rbx, %rdx\n"
	"	jmp _start\n"
	".size start_image, . - start_image\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text.start_image, \"ax\", %progbits\n"
	".globl start_image\n"
	".hidden start_image\n"
	".type start_image, %function\n"
	"start_image:\n"
	"	mov x29, xzr\n"
	"	mov x19, x0\n"
	"	mov x0, sp\n"
	"	bl start_populate\n"
	"	mov x0, x19\n"
	"	b _start\n"
	".size start_image, . - start_image\n"
	".popsection\n");
#endif
