# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Completion of sbx-launch(1) for bash.

# Each option and what its operands are; tests/lint compares the list with
# the program's.
declare -gA _sbx_launch_operands=(
	[--profile]='profile'
	[--set]='key'
	[--workspace]='directory'
	[--timeout]='word'
	[--env]='variable'
	[--run-id]='word'
	[--handle-id]='word'
	[--status-fd]='descriptor'
	[--audit-file]='path'
	[--explain]=''
	[--check]=''
	[--features]=''
	[--verbose]=''
	[--log-fd]='descriptor'
	[--help]=''
	[--version]=''
	[--args]='descriptor'
	[--argv0]='word'
	[--level-prefix]=''
	[--unshare-all]=''
	[--share-net]=''
	[--unshare-user]=''
	[--unshare-user-try]=''
	[--unshare-ipc]=''
	[--unshare-pid]=''
	[--unshare-net]=''
	[--unshare-uts]=''
	[--unshare-cgroup]=''
	[--unshare-cgroup-try]=''
	[--userns]='descriptor'
	[--userns2]='descriptor'
	[--disable-userns]=''
	[--assert-userns-disabled]=''
	[--pidns]='descriptor'
	[--uid]='word'
	[--gid]='word'
	[--hostname]='word'
	[--chdir]='directory'
	[--clearenv]=''
	[--setenv]='variable word'
	[--unsetenv]='variable'
	[--lock-file]='path'
	[--sync-fd]='descriptor'
	[--bind]='path path'
	[--bind-try]='path path'
	[--dev-bind]='path path'
	[--dev-bind-try]='path path'
	[--ro-bind]='path path'
	[--ro-bind-try]='path path'
	[--bind-fd]='descriptor path'
	[--ro-bind-fd]='descriptor path'
	[--remount-ro]='path'
	[--overlay-src]='path'
	[--overlay]='directory directory path'
	[--tmp-overlay]='path'
	[--ro-overlay]='path'
	[--exec-label]='word'
	[--file-label]='word'
	[--proc]='path'
	[--dev]='path'
	[--tmpfs]='path'
	[--mqueue]='path'
	[--dir]='path'
	[--file]='descriptor path'
	[--bind-data]='descriptor path'
	[--ro-bind-data]='descriptor path'
	[--symlink]='path path'
	[--chmod]='word path'
	[--perms]='word'
	[--size]='word'
	[--seccomp]='descriptor'
	[--add-seccomp-fd]='descriptor'
	[--block-fd]='descriptor'
	[--userns-block-fd]='descriptor'
	[--info-fd]='descriptor'
	[--json-status-fd]='descriptor'
	[--new-session]=''
	[--die-with-parent]=''
	[--as-pid-1]=''
	[--cap-add]='capability'
	[--cap-drop]='capability'
	[--not-a-security-boundary]=''
	[--no-new-privs]=''
)

# The names that --profile finds, without their .ini.
_sbx_launch_profiles()
{
	local directory file

	for directory in "${XDG_CONFIG_HOME:-$HOME/.config}/sbx-launch" \
			'@SYSCONFDIR@' '@DATADIR@'; do
		for file in "$directory"/*.ini; do
			[[ -f $file ]] || continue
			file=${file##*/}
			printf '%s\n' "${file%.ini}"
		done
	done
}

_sbx_launch_lines()
{
	local line

	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done
}

# Fill COMPREPLY with what operand $1 can be, for the word $2.
_sbx_launch_operand()
{
	case $1 in
	path)
		compopt -o filenames
		_sbx_launch_lines < <(compgen -f -- "$2") ;;
	directory)
		compopt -o filenames
		_sbx_launch_lines < <(compgen -d -- "$2") ;;
	profile)
		if [[ $2 == */* ]]; then
			compopt -o filenames
			_sbx_launch_lines < <(compgen -f -- "$2")
		else
			_sbx_launch_lines < <(
				compgen -W "$(_sbx_launch_profiles)" -- "$2")
		fi ;;
	variable)
		_sbx_launch_lines < <(compgen -v -- "$2") ;;
	key)
		compopt -o nospace
		_sbx_launch_lines < <(compgen -S = -W "$("${COMP_WORDS[0]}" \
			--features 2>/dev/null | sed -n 's/^key //p')" -- "$2") ;;
	esac
}

# To the next word of the line; NAME=VALUE is three of bash's.
_sbx_launch_next()
{
	((index++))
	[[ ${COMP_WORDS[index]-} != = ]] || ((index += 2))
	return 0
}

_sbx_launch()
{
	local word=${COMP_WORDS[COMP_CWORD]} index=1 is_over=0 kind operands

	COMPREPLY=()
	# "=" is a word of its own here.
	case "${COMP_WORDS[COMP_CWORD - 1]} ${COMP_WORDS[COMP_CWORD - 2]}" in
	'= --explain' | '--explain '*)
		if [[ $word == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
			_sbx_launch_lines < <(
				compgen -W 'text json bwrap ini' -- "${word#=}")
			return
		fi ;;
	'= --check' | '--check '*)
		if [[ $word == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
			_sbx_launch_lines < <(
				compgen -W 'text json' -- "${word#=}")
			return
		fi ;;
	esac
	# Operands are taken whatever they look like, so count from the front.
	while ((index < COMP_CWORD)) && [[ ${COMP_WORDS[index]} == -?* ]]; do
		operands=${_sbx_launch_operands[${COMP_WORDS[index]}]-}
		[[ ${COMP_WORDS[index]} != -- ]] || is_over=1
		_sbx_launch_next
		for kind in $operands; do
			if ((index >= COMP_CWORD)); then
				_sbx_launch_operand "$kind" "$word"
				return
			fi
			_sbx_launch_next
		done
		((!is_over)) || break
	done
	if ((!is_over && index == COMP_CWORD)) && [[ $word == -* ]]; then
		_sbx_launch_lines < <(
			compgen -W "${!_sbx_launch_operands[*]}" -- "$word")
		return
	fi
	# The command, and what follows it.
	compopt -o filenames
	_sbx_launch_lines < <(compgen -f -- "$word")
	if ((index == COMP_CWORD)); then
		_sbx_launch_lines < <(compgen -c -- "$word")
	fi
}

complete -F _sbx_launch sbx-launch
