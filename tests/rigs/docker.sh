#!/bin/bash
# A private Docker engine for tests: its own socket, images, containerd and network namespace, so that
# neither the host's interfaces and firewall nor another engine notice it. Needs root.
#
#     docker.sh start DIR     then DIR/docker.sock answers; DIR/gpu-hook.log tells what GPUs were asked for
#                             with a file DIR/subids (lines of /etc/subuid) users are remapped by it
#     docker.sh kill DIR      kill -9 of the engine alone; its containers go on (start brings it back)
#     docker.sh stop DIR      removes all containers, ends everything, unmounts; DIR may be deleted then
#     docker.sh image DIR TAG a Debian image with python3, without a registry
#
# The namespace is entered with nsenter: `ip netns exec` mounts another /sys, in which a cgroup v1
# hierarchy is missing. containerd is a process of its own, as on a real host: one that the engine
# starts would die with it, and take a moment that a restart does not wait for.
set -euo pipefail
verb=${1:?start, kill, stop or image}
dir=$(realpath -m "${2:?folder}")
here=$(dirname "$(readlink -f "$0")")
namespace=euvyra$(printf %s "$dir" | cksum | cut -d' ' -f1)
export PATH=$PATH:/usr/sbin:/sbin

fail() {
    echo "docker.sh: $1" >&2
    [ ! -e "${2:-}" ] || tail -n 20 "$2" >&2
    exit 1
}
is_alive() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }
is_gone() { ! is_alive "$1"; }
wait_for() { # wait_for SECONDS COMMAND...
    local round rounds=$(($1 * 20))
    shift
    for ((round = 0; round < rounds; round++)); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.05
    done
    return 1
}
api() { # api METHOD PATH [CURL OPTION...]
    local method=$1 path=$2
    shift 2
    curl -fsS --unix-socket "$dir/docker.sock" -X "$method" "$@" "http://engine$path"
}
end() { # end PID_FILE
    is_alive "$1" || return 0
    kill "$(cat "$1")"
    wait_for 15 is_gone "$1" || kill -9 "$(cat "$1")"
}

start_containerd() {
    is_gone "$dir/containerd.pid" || return 0
    cat >"$dir/containerd.toml" <<END
version = 2
root = "$dir/data/containerd"
state = "$dir/exec/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
address = "$dir/containerd.sock"
END
    local apart=()
    if [ -s "$dir/subids" ]; then # in a mount namespace of their own, in which these are the machine's
        apart=(unshare --mount --propagation slave bash -c
            'mount --bind "$0" /etc/subuid; mount --bind "$0" /etc/subgid; exec "$@"' "$dir/subids")
    fi
    setsid "${apart[@]}" containerd --config "$dir/containerd.toml" --log-level warn \
        >>"$dir/containerd.log" 2>&1 </dev/null &
    echo $! >"$dir/containerd.pid"
    wait_for 30 test -S "$dir/containerd.sock" ||
        fail "containerd does not come up" "$dir/containerd.log"
}

start_engine() {
    rm -f "$dir/docker.pid" # a killed engine leaves it, and the next one refuses to start beside it
    local more=()
    [ ! -s "$dir/subids" ] || more=(--userns-remap "$(cut -d: -f1 "$dir/subids")")
    # The engine offers GPUs when it finds NVIDIA's hook in its PATH: ours is a stand-in.
    PATH=$here/docker/bin:$PATH GPU_HOOK_LOG=$dir/gpu-hook.log GPU_HOOK_FAIL=$dir/gpu-hook.fail \
        setsid nsenter --net="/run/netns/$namespace" --mount="/proc/$(cat "$dir/containerd.pid")/ns/mnt" \
        dockerd --host "unix://$dir/docker.sock" "${more[@]}" \
        --containerd "$dir/containerd.sock" --data-root "$dir/data" --exec-root "$dir/exec" \
        --pidfile "$dir/docker.pid" --storage-driver overlay2 --live-restore --log-level warn \
        >>"$dir/docker.log" 2>&1 </dev/null &
    wait_for 60 api GET /_ping || fail "the engine does not come up" "$dir/docker.log"
}

case $verb in
start)
    mkdir -p "$dir"
    [ -e "/run/netns/$namespace" ] || ip netns add "$namespace"
    ip -n "$namespace" link set lo up
    printf %s "/run/netns/$namespace" >"$dir/namespace"
    start_containerd
    is_alive "$dir/docker.pid" || start_engine
    ;;
kill)
    kill -9 "$(cat "$dir/docker.pid")"
    wait_for 10 is_gone "$dir/docker.pid"
    ;;
stop)
    if is_alive "$dir/docker.pid"; then
        for id in $(api GET '/containers/json?all=1' | grep -o '"Id":"[0-9a-f]*"' | cut -d'"' -f4); do
            api DELETE "/containers/$id?force=1&v=1" >/dev/null || true # may be on its way out
        done
    fi
    end "$dir/docker.pid"
    end "$dir/containerd.pid"
    awk -v d="$dir/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n1 umount -l
    ip netns del "$namespace" 2>/dev/null || true # it was never made
    ;;
image)
    tag=${3:?TAG}
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/euvyra/rigs/debian-bookworm-python3.tar.zst
    if [ ! -s "$cache" ]; then
        mkdir -p "$(dirname "$cache")"
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        debootstrap --variant=minbase --include=python3,ca-certificates bookworm "$work/root" \
            >"$work/log" 2>&1 || fail "debootstrap failed" "$work/log"
        rm -rf "$work"/root/var/{cache/apt,lib/apt/lists,log}/* \
            "$work"/root/usr/share/{doc,man,locale,info}
        tar -C "$work/root" --sort=name --mtime=@0 --numeric-owner --exclude=./dev --exclude=./proc \
            --exclude=./sys -c . | zstd -q -3 -T0 >"$cache.$$"
        mv "$cache.$$" "$cache"
    fi
    name=${tag%:*}
    zstd -dcq "$cache" | api POST "/images/create?fromSrc=-&repo=$name&tag=${tag##*:}$(
        )&changes=ENV%20PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
        -H 'Content-Type: application/x-tar' -H 'Expect:' -T - >/dev/null
    ;;
*)
    echo "docker.sh: start, kill, stop or image, not $verb" >&2
    exit 2
    ;;
esac
