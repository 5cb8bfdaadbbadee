/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a program that was found does not start, looked up inside, with the
 * payload's rights.  The kernel says ENOENT for an interpreter that is not
 * there, EACCES for a mount that is noexec, ENOEXEC for what it cannot read:
 * none of them names what is meant.
 */
#include "engine/child.h"
#include "engine/conditions.h"

#include "base/text.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* As of exec(2): more of a first line is not read. */
enum { FIRST_LINE_MOST = 256 };

const struct op *program_op_showing(const struct plan *plan, const char *path)
{
	const struct op *shows = NULL;

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.at[i];

		if (path_is_below(path, op_place(op)))
			shows = op;
	}
	return shows;
}

/* The directory that has to be shown for @path to be seen. */
static const char *directory_of(struct arena *arena, const char *path,
				const struct op *mask)
{
	const char *slash = strrchr(path, '/');
	char *directory = arena_strndup(arena, path, (size_t)(slash - path));

	return path_depth(directory) > path_depth(op_place(mask)) ?
	       directory : path;
}

static const struct op *mask_over(const struct child *child, const char *path)
{
	const struct op *op = *path == '/' && path_is_normal(path) ?
			      program_op_showing(child->plan, path) : NULL;

	return op && op->role == ROLE_MASK && strcmp(path, op_place(op)) != 0 ?
	       op : NULL;
}

bool program_explain_hidden(const struct child *child, const char *path,
			    struct error *err)
{
	const struct op *mask = mask_over(child, path);

	if (!mask)
		return false;
	error_reason(err, "hidden");
	if (child_is_bwrap(child))
		return true;
	error_say(err, "'%s' is hidden by mask %s (%s)", path, mask->dest,
		   origin_text(child->arena, &mask->origin));
	err->is_complete = true;
	error_remedy(err, "add 'layer = %s' to [layers]",
		     directory_of(child->arena, path, mask));
	return true;
}

/* ---- what the file says of itself ------------------------------------------ */

struct program {
	char head[FIRST_LINE_MOST + 1];
	ssize_t size;          /* of the head; 0: empty, or not readable */
	const char *interpreter; /* NULL: none */
	const char *named_by;
};

static bool is_elf(const struct program *program)
{
	return program->size > EI_NIDENT &&
	       !memcmp(program->head, ELFMAG, SELFMAG);
}

static void read_first_line(struct arena *arena, struct program *program)
{
	char *word = program->head + 2;

	word[strcspn(word, "\n")] = '\0';
	word += strspn(word, " \t");
	word[strcspn(word, " \t")] = '\0';
	program->interpreter = arena_strdup(arena, word);
	program->named_by = "of its #! line";
}

/* The loader that an ELF file of this machine's class names. */
static void read_loader(struct arena *arena, int fd, struct program *program)
{
	char path[PATH_MAX];
	Elf64_Ehdr header;
	Elf64_Phdr part;

	if (program->head[EI_CLASS] != ELFCLASS64 ||
	    pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return;
	for (size_t i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + i * sizeof(part));
		ssize_t length;

		if (pread(fd, &part, sizeof(part), at) != sizeof(part))
			return;
		if (part.p_type != PT_INTERP || !part.p_filesz ||
		    part.p_filesz >= sizeof(path))
			continue;
		length = pread(fd, path, part.p_filesz, (off_t)part.p_offset);
		if (length <= 0)
			return;
		path[length] = '\0';
		program->interpreter = arena_strdup(arena, path);
		program->named_by = "the loader of its ELF header";
		return;
	}
}

static void read_program(struct arena *arena, const char *path,
			 struct program *ret_program)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct program program = { .size = 0 };

	if (fd >= 0)
		program.size = read(fd, program.head, FIRST_LINE_MOST);
	if (program.size > 2 && !memcmp(program.head, "#!", 2))
		read_first_line(arena, &program);
	else if (fd >= 0 && is_elf(&program))
		read_loader(arena, fd, &program);
	*ret_program = program;
}

/* ---- what is wrong with it --------------------------------------------------- */

static void explain_interpreter(const struct child *child,
				const struct program *program,
				struct error *err)
{
	struct condition_words words = {
		.name = program->interpreter ? program->interpreter : "",
		.value = program->named_by ? program->named_by :
			 "of its #! line or ELF header",
	};
	const struct op *mask = mask_over(child, words.name);

	if (mask) {
		words.path = directory_of(child->arena, words.name, mask);
		words.value = arena_printf(child->arena, "%s (%s)", mask->dest,
					   origin_text(child->arena,
						       &mask->origin));
	}
	condition_apply(child->plan, mask ? CONDITION_INTERPRETER_HIDDEN :
			CONDITION_INTERPRETER_MISSING, &words, err);
}

static const char *machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} machines[] = {
		{ EM_386, "x86" }, { EM_X86_64, "x86-64" }, { EM_ARM, "ARM" },
		{ EM_AARCH64, "AArch64" }, { EM_RISCV, "RISC-V" },
		{ EM_PPC64, "PowerPC" }, { EM_S390, "S/390" },
		{ EM_MIPS, "MIPS" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			return machines[i].name;
	return "ELF";
}

static void explain_format(const struct child *child,
			   const struct program *program, struct error *err)
{
	struct condition_words words = { 0 };
	Elf64_Half machine;

	if (is_elf(program) && program->size >= (ssize_t)sizeof(Elf64_Ehdr)) {
		memcpy(&machine, program->head +
		       offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
		words.value = machine_name(machine);
	}
	condition_apply(child->plan, words.value ? CONDITION_MACHINE :
			CONDITION_FORMAT, &words, err);
}

/* EACCES: of the file, of a directory, of the mount. */
static void explain_denied(const struct child *child, const char *path,
			   struct error *err)
{
	const struct condition_words none = { 0 };
	struct statvfs mount;
	struct stat status;

	if (stat(path, &status) < 0)
		return;
	if (S_ISDIR(status.st_mode))
		error_remedy(err, "it is a directory: name the program in it");
	else if (!statvfs(path, &mount) && mount.f_flag & ST_NOEXEC)
		condition_apply(child->plan, CONDITION_NOEXEC, &none, err);
	else if (!faccessat(AT_FDCWD, path, R_OK, 0))
		error_remedy(err, "it may be read, but not executed: chmod "
			     "+x, or write its interpreter before it");
}

void program_explain(const struct child *child, const char *path,
		     struct error *err)
{
	struct program program;

	switch (err->code) {
	case ENOENT:
		if (faccessat(AT_FDCWD, path, F_OK, 0) < 0) {
			program_explain_hidden(child, path, err);
			break;
		}
		read_program(child->arena, path, &program);
		explain_interpreter(child, &program, err);
		error_status(err, ERROR_STATUS_NOT_EXECUTABLE);
		break;
	case ENOEXEC:
		read_program(child->arena, path, &program);
		explain_format(child, &program, err);
		break;
	case EACCES:
		explain_denied(child, path, err);
		break;
	default:
		break;
	}
}
