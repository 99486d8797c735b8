#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs commands in a minimal Debian 12, on a copy of the last commit.
#
#   sudo tools/bare_debian.sh FOLDER                 README's two commands
#   sudo tools/bare_debian.sh FOLDER COMMAND...      others, such as
#                                    './bazelw test //tests:size_test'
#
# A machine of a developer has programs that nothing here installs, so that a
# missing package shows only on a machine that has none of them.
#
# debootstrap makes the system below FOLDER (2 minutes), with this machine's
# package sources. Later runs use it again, with what they have installed and
# built. Delete it for a clean one. The mounts below it are in a namespace of
# this script and end with it, even if it is killed.
# README's commands take 3 and 15 minutes on two cores. The exit status is that
# of the first command that fails; 2: there is no system to run them in.
set -euo pipefail

fail() {
  echo "bare_debian: $*" >&2
  exit 2
}

[ $# -gt 0 ] || fail "give the folder for the system: $0 FOLDER [COMMAND...]"
[ "$(id -u)" = 0 ] || fail "chroot needs root; run it with sudo"
# With mounts that are left behind, deleting the system would delete what the
# machine has in /dev.
[ -n "${BARE_DEBIAN_NAMESPACE-}" ] ||
  BARE_DEBIAN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
project=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
system=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- './bazelw run //experiments:moons' './bazelw test //...'

# Runs a command of the system, in the project, with a new user's environment.
inside() {
  chroot "$system" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /root/project && $1" </dev/null
}

# A server of Bazel keeps the namespace, and with it the mounts.
leave() {
  ! mountpoint -q "$system/proc" ||
    inside '! command -v bazel >/dev/null || bazel shutdown' >&2 || true
}
trap leave EXIT

if [ ! -e "$system/complete" ]; then
  command -v debootstrap >/dev/null || apt-get install -y debootstrap ||
    fail "cannot install debootstrap"
  # The mirror that this machine uses, in either format of the list.
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -v '^ *#' | grep -oE '[a-z]+://[^ ]+/debian/?( |$)' | head -1) || true
  # shellcheck disable=SC2086  # the address ends in a blank
  debootstrap --variant=minbase bookworm "$system" \
    ${mirror:-http://deb.debian.org/debian} >&2 || fail "debootstrap failed"
  # Proxies and certificates of this machine hold there too.
  rm -f "$system/etc/apt/sources.list"
  for file in apt/sources.list apt/sources.list.d/debian.sources \
    apt/apt.conf.d resolv.conf hosts; do
    [ ! -e "/etc/$file" ] ||
      cp -rL "/etc/$file" "$(dirname "$system/etc/$file")/"
  done
  touch "$system/complete"
fi
for mounted in proc dev sys; do
  mount --bind "/$mounted" "$system/$mounted"
done

rm -rf "$system/root/project"
mkdir -p "$system/root/project"
git -C "$project" archive HEAD | tar -x -C "$system/root/project"

for command in "$@"; do
  echo "bare_debian: $command" >&2
  start=$SECONDS status=0
  inside "$command" || status=$?
  echo "bare_debian: status $status after $((SECONDS - start)) s: $command" >&2
  [ "$status" = 0 ] || exit "$status"
done
