#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Look around: what may this process do here?
#
#     sbx-launch --profile sh.ini look.sh

can_write() {
	if (: >"$1/.look.$$") 2>/dev/null; then
		rm -f "$1/.look.$$"
		echo writable
	else
		echo "not writable"
	fi
}

echo "ids          $(id -u) $(id -g)"
echo "host name    $(uname -n)"
for place in "$PWD" /tmp /home /etc; do
	echo "$place: $(can_write "$place")"
done
echo "environment:"
env | sort
