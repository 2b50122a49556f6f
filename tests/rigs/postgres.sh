#!/bin/bash
# A private PostgreSQL 15 that listens on a unix socket in DIR only, for tests.
#
#     postgres.sh start DIR [durable]     then PGHOST=DIR PGUSER=euvyra PGDATABASE=postgres
#     postgres.sh stop DIR
#
# PostgreSQL refuses to run as root: then it runs as the user nobody, who must be able to reach DIR.
# Durability is off, as nothing here is to be kept; "durable" is for figures.
set -euo pipefail
verb=${1:?start or stop}
dir=$(realpath -m "${2:?folder}")
bin=$(find /usr/lib/postgresql -path '*/bin/initdb' | sort -V | tail -n 1 | xargs dirname)
run=()
[ "$(id -u)" != 0 ] || run=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
settings="-k $dir -c listen_addresses=''"
[ "${3:-}" = durable ] || settings+=" -c fsync=off -c synchronous_commit=off -c full_page_writes=off"

case $verb in
start)
    mkdir -p "$dir"
    [ "$(id -u)" != 0 ] || chown nobody:nogroup "$dir"
    cd "$dir" # initdb warns where it cannot read the caller's folder
    if [ ! -e data/PG_VERSION ]; then
        "${run[@]}" "$bin/initdb" -D data -U euvyra -A trust -E UTF8 --locale=C --no-sync >initdb.log
    fi
    "${run[@]}" "$bin/pg_ctl" -D data -l server.log -w -t 30 -s -o "$settings" start </dev/null
    ;;
stop)
    cd "$dir"
    "${run[@]}" "$bin/pg_ctl" -D data -m immediate -s stop
    ;;
*)
    echo "postgres.sh: start or stop, not $verb" >&2
    exit 2
    ;;
esac
