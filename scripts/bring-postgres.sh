#!/bin/sh
# The studies' tests start a PostgreSQL server of their own from the system's binaries: use those that are here, or bring
# them by the system's package manager where that is allowed. Without them those tests are skipped, loudly; in CI they fail.
command -v postgres >/dev/null 2>&1 && exit 0
for folder in /usr/lib/postgresql/*/bin; do
    [ -x "$folder/postgres" ] && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "bringing PostgreSQL by apt-get"
    apt-get update -qq && apt-get install -qq -y --no-install-recommends postgresql >/dev/null && exit 0
fi
echo "WARNING: no PostgreSQL here and none could be installed; its tests will be SKIPPED." >&2
[ "${CI:-}" = true ] && exit 1
exit 0
