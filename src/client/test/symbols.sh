#!/bin/sh
# libeuvyra shows euvyra_* alone and needs nothing but libc. Argument: the shared library.
set -eu
foreign=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | grep -v '^euvyra_' || true)
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -Ev '^(libc\.so\.6|ld-linux.*|lib(a|ub|t)san\..*)$' || true)
if [ -n "$foreign$needed" ]; then
    echo "foreign symbols: $foreign; needs: $needed"
    exit 1
fi
