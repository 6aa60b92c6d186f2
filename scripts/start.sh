#!/bin/sh
# The server, after the console has been built if its sources are newer than the last build.
# Called by `npm start`, through scripts/setup.sh.
set -eu
cd "$(dirname "$0")/.."

# In the background, because a waiting shell would only see a signal when the build is done.
node scripts/build-console.ts --if-stale &
building=$!
trap 'kill "$building" 2>/dev/null; wait "$building" || :; exit 143' TERM INT HUP
wait "$building" || echo "braid: the console could not be built; the server starts without it" >&2
trap - TERM INT HUP

exec bin/braid serve "$@"
