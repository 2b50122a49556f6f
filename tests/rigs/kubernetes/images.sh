#!/bin/sh
# images.sh OUT: the images of the tests, made of this machine's programs, as archives in OUT: pause and box
# (busybox), foreign (box with a program of another machine type), py (Python with the package of euvyra),
# tools (euvyra-agent and euvyra of BUILD). PACKAGE: the folder of the Python package. What is there stays.
set -eu
out=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

image() { # image NAME [COMMAND]
    [ -e "$out/$1.tar" ] || sh "$here/mkimage.sh" "$root" "rig.local/$1:1" "$out/$1.tar" ${2:+"$2"}
}

chmod 755 "$root"
for folder in bin tmp etc proc sys dev usr/bin usr/local/bin; do mkdir -p "$root/$folder"; done
chmod 1777 "$root/tmp"
cp /bin/busybox "$root/bin/busybox"
for name in $(/bin/busybox --list); do
    [ "$name" = busybox ] || ln -sf busybox "$root/bin/$name"
done
printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
image pause '["/bin/busybox","sleep","2147483647"]'
image box
# A program of another machine type: an ELF header of aarch64 and nothing behind it.
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\267\0\1\0\0\0' >"$root/bin/foreign"
chmod 755 "$root/bin/foreign"
image foreign
rm "$root/bin/foreign"
python=$(readlink -f /usr/bin/python3)
version=$(basename "$python")
sh "$here/mkroot.sh" "$root" "$python" $(find "/usr/lib/$version/lib-dynload" -name '*.so')
tar -C /usr/lib --exclude=__pycache__ --exclude=test -cf - "$version" | tar -C "$root/usr/lib" -xf -
ln -sf "$version" "$root/usr/bin/python3"
mkdir -p "$root/usr/lib/python3/dist-packages"
tar -C "$(dirname "$PACKAGE")" --exclude=__pycache__ -cf - euvyra |
    tar -C "$root/usr/lib/python3/dist-packages" -xf -
image py
rm -rf "${root:?}/usr" "$root/lib" "$root/lib64"
mkdir -p "$root/usr/local/bin"
for program in euvyra-agent euvyra; do
    sh "$here/mkroot.sh" "$root" "$(readlink -f "$BUILD/$program")"
    mv "$root$(readlink -f "$BUILD/$program")" "$root/usr/local/bin/$program"
done
image tools
