#!/bin/sh
# mkroot.sh ROOT PROGRAM...: copies programs of this machine, with the libraries that they load, into a root
# folder.
set -eu
root=$1
shift
for program in "$@"; do
    for file in "$program" $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*'); do
        mkdir -p "$root$(dirname "$file")"
        [ -e "$root$file" ] || cp -L "$(readlink -f "$file")" "$root$file"
    done
done
