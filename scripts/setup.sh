#!/bin/sh
# Makes a clone ready, then becomes the command it is given:
#
#   sh scripts/setup.sh bin/braid serve --listen 127.0.0.1:0
#
# Installs the packages if they are missing or older than the lockfile, and sees to it that `node` is
# Node 24 or newer: the packaged one (node_modules/.bin/node, by scripts/packaged-node), or the machine's
# where there is no package for the platform. It ends in `exec`, so a signal sent to npm reaches the command itself.
set -eu
cd "$(dirname "$0")/.."

# npm writes the second file last, so an install that was cut short is done again.
if [ ! -e node_modules/.package-lock.json ] ||
  [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "braid: installing packages (once)" >&2
  # No package needs an install script: the native ones bring their binaries with them.
  # In the background, because a waiting shell would only see a signal when npm is done.
  # The packaged Node is for development only, and npm itself may run on an older one.
  npm ci --include=dev --include=optional --engine-strict=false --ignore-scripts --no-audit --no-fund --loglevel=error >&2 </dev/null &
  installing=$!
  trap 'kill "$installing" 2>/dev/null; wait "$installing" || :; exit 143' TERM INT HUP
  wait "$installing" || {
    echo "braid: npm ci failed; its message is above" >&2
    exit 1
  }
  trap - TERM INT HUP
fi

PATH="$PWD/node_modules/.bin:$PATH"
export PATH

version=$(node --version 2>/dev/null || echo none)
major=${version#v}
major=${major%%.*}
case $major in
  '' | *[!0-9]*) major=0 ;;
esac
if [ "$major" -lt 24 ]; then
  echo "braid: needs Node 24 or newer, found $version. There is no packaged Node for $(uname -sm):" >&2
  echo "braid: install Node 24 (https://nodejs.org) and put it first in PATH." >&2
  exit 1
fi

exec "$@"
