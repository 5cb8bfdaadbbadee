#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What developers' tools do: git, a compiler, archivers, pip with a wheel.
set -eu
mkdir tools
cd tools

export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main one
echo text >one/file
git -C one add file
git -C one commit -q -m message
git clone -q "file://$PWD/one" two
echo more >>two/file
git -C two commit -q -a -m more
git -C two push -q origin HEAD:other
git -C one gc -q
[ "$(git -C one log --oneline other | wc -l)" = 2 ]

cat >p.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *run(void *p) { puts("thread"); return p; }
int main(void)
{
	pthread_t t;
	return pthread_create(&t, 0, run, 0) || pthread_join(t, 0);
}
END
cc -O2 -g -pipe -pthread -flto -o p p.c
[ "$(./p)" = thread ]

tar cf t.tar two
mkdir x
tar xf t.tar -C x
cmp two/file x/two/file
cp -a x y
gzip -k t.tar
find y -name file -exec touch {} +
sort -o sorted two/file
(sleep 60 & kill $!; wait) 2>/dev/null

pip=$(echo /usr/share/python-wheels/pip-*.whl)
mkdir -p package-1.dist-info
echo 'print("imported")' >package.py
printf 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n' \
	>package-1.dist-info/WHEEL
printf 'Metadata-Version: 2.1\nName: package\nVersion: 1\n' \
	>package-1.dist-info/METADATA
printf 'package.py,,\npackage-1.dist-info/WHEEL,,\npackage-1.dist-info/METADATA,,\npackage-1.dist-info/RECORD,,\n' \
	>package-1.dist-info/RECORD
python3 -m zipfile -c package-1-py3-none-any.whl package.py package-1.dist-info
rm package.py
python3 "$pip/pip" -q --no-cache-dir --disable-pip-version-check install \
	--no-index --target into package-1-py3-none-any.whl
[ "$(PYTHONPATH=into python3 -c 'import package')" = imported ]

cd ..
rm -rf tools
echo ok
