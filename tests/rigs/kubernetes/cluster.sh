#!/bin/bash
# cluster.sh start|stop FOLDER, cluster.sh run|end FOLDER NAME: a real Kubernetes of one node on this
# machine, for tests.
#
# start     etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, a kubelet and a device
#           plugin with 8 GPUs that are none; then FOLDER/pki/admin.kubeconfig, FOLDER/kubectl, FOLDER/ctr,
#           FOLDER/etcdctl and FOLDER/env are there. Builds what is missing (build.sh).
# end NAME  kills one of them (SIGKILL), run NAME starts it again: etcd, apiserver, controller-manager,
#           scheduler, containerd, kubelet, gpus.
#
# All listen on loopback, on ports that the kernel chose; pods reach this machine at the bridge's address,
# BRIDGE_ADDRESS in FOLDER/env. One cluster at a time on a machine (the kubelet's folder of device plugins is
# fixed): a second start waits. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
verb=$1
run=$(mkdir -p "$2" && cd "$2" && pwd)
bridge=euvyra0
bridge_address=10.88.0.1
lock=/tmp/euvyra-test-kubernetes.lock

command_of() { # command_of NAME: fills `command`
    local pki=$run/pki
    case $1 in
    etcd) command=("$kube" etcd --data-dir "$run/etcd" --unsafe-no-fsync --log-level warn
        --listen-client-urls "http://127.0.0.1:$ETCD" --advertise-client-urls "http://127.0.0.1:$ETCD"
        --listen-peer-urls "http://127.0.0.1:$PEER" --initial-advertise-peer-urls "http://127.0.0.1:$PEER"
        --initial-cluster "default=http://127.0.0.1:$PEER") ;;
    apiserver) command=("$kube" kube-apiserver
        --etcd-servers="http://127.0.0.1:$ETCD" --bind-address=127.0.0.1 --secure-port="$PORT"
        --advertise-address=$bridge_address --endpoint-reconciler-type=none
        --service-cluster-ip-range=10.96.0.0/24 --authorization-mode=Node,RBAC
        --client-ca-file="$pki/ca.crt"
        --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key"
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/sa.pub"
        --service-account-signing-key-file="$pki/sa.key"
        --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key"
        --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP
        --default-not-ready-toleration-seconds=2 --default-unreachable-toleration-seconds=2
        --enable-admission-plugins=NodeRestriction) ;;
    controller-manager) command=("$kube" kube-controller-manager
        --kubeconfig="$pki/controller-manager.kubeconfig"
        --authentication-kubeconfig="$pki/controller-manager.kubeconfig"
        --authorization-kubeconfig="$pki/controller-manager.kubeconfig"
        --bind-address=127.0.0.1 --secure-port="$KCM" --leader-elect=false
        --use-service-account-credentials=true
        --node-monitor-period=1s --node-monitor-grace-period=8s
        --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt"
        --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key") ;;
    scheduler) command=("$kube" kube-scheduler --kubeconfig="$pki/scheduler.kubeconfig"
        --authentication-kubeconfig="$pki/scheduler.kubeconfig"
        --authorization-kubeconfig="$pki/scheduler.kubeconfig"
        --bind-address=127.0.0.1 --secure-port="$SCHED" --leader-elect=false) ;;
    containerd) command=(containerd --config "$run/containerd.toml") ;;
    kubelet) command=("$kube" kubelet --config="$run/kubelet.yaml" --kubeconfig="$pki/kubelet.kubeconfig"
        --hostname-override=127.0.0.1 --root-dir="$run/kubelet" --cert-dir="$run/kubelet/pki" --v=1) ;;
    gpus) command=("$kube" fake-gpu nvidia.com/gpu 8) ;;
    *) echo "cluster.sh: no part is named $1" >&2 && exit 2 ;;
    esac
}

launch() { # launch NAME
    command_of "$1"
    if [ "$1" = containerd ]; then # holds the lock as long as it lives
        setsid "${command[@]}" >>"$run/log/$1.log" 2>&1 </dev/null &
    else
        setsid "${command[@]}" >>"$run/log/$1.log" 2>&1 </dev/null 9>&- &
    fi
    echo $! >"$run/$1.pid"
}

alive() { [ -e "$run/$1.pid" ] && kill -0 "$(cat "$run/$1.pid")" 2>/dev/null; }

wait_for() { # wait_for PART SECONDS COMMAND...
    local part=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ! alive "$part" || [ $SECONDS -ge $end ]; then
            tail -n 20 "$run/log/$part.log" >&2
            echo "cluster.sh: $part is not ready" >&2
            exit 1
        fi
        sleep 0.1
    done
}

of_node() { "$run/kubectl" get node 127.0.0.1 -o "jsonpath={.status.$1}"; }
node_ready() { [ "$(of_node 'conditions[?(@.type=="Ready")].status')" = True ]; }
has_gpus() { [ "$(of_node 'allocatable.nvidia\.com/gpu')" = 8 ]; }
has_accounts() { "$run/kubectl" get serviceaccount default; }

ready() { # ready NAME: waits for it
    local pki=$run/pki
    case $1 in
    apiserver) wait_for apiserver 60 curl -fsS --max-time 5 --cacert "$pki/ca.crt" --cert "$pki/admin.crt" \
        --key "$pki/admin.key" "https://127.0.0.1:$PORT/readyz" ;;
    controller-manager) wait_for "$1" 60 curl -fsSk --max-time 5 "https://127.0.0.1:$KCM/healthz" ;;
    scheduler) wait_for "$1" 60 curl -fsSk --max-time 5 "https://127.0.0.1:$SCHED/healthz" ;;
    containerd) wait_for "$1" 60 "$run/ctr" version ;;
    kubelet) wait_for "$1" 90 node_ready ;;
    gpus) wait_for "$1" 60 has_gpus ;;
    esac
}

write_config() {
    mkdir -p "$run/cni" "$run/kubelet" "$run/podlogs"
    cat >"$run/cni/10-rig.conflist" <<END
{"cniVersion": "0.4.0", "name": "rig", "plugins": [
 {"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "$run/cni/ipam", "ranges": [[{"subnet": "10.88.0.0/24"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
    cat >"$run/containerd.toml" <<END
version = 2
root = "$run/containerd/root"
state = "$run/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$run/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "rig.local/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$run/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
END
    cat >"$run/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: $KUBELET
healthzBindAddress: 127.0.0.1
healthzPort: $HEALTH
readOnlyPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: "$run/pki/ca.crt"}
authorization: {mode: Webhook}
tlsCertFile: $run/pki/kubelet-server.crt
tlsPrivateKeyFile: $run/pki/kubelet-server.key
containerRuntimeEndpoint: unix://$run/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
podLogsDir: $run/podlogs
resolvConf: ""
protectKernelDefaults: false
localStorageCapacityIsolation: true
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
syncFrequency: 5s
nodeLeaseDurationSeconds: 4
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 2s
maxPods: 60
END
}

choose_ports() {
    python3 - <<'END'
import socket
names = ["PORT", "ETCD", "PEER", "KCM", "SCHED", "KUBELET", "HEALTH"]
sockets = []
for name in names:
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    sockets.append(s)
    print(f"{name}={s.getsockname()[1]}")
END
}

write_tool() { # write_tool NAME WORD...: a command that begins with these words
    local name=$1
    shift
    {
        echo '#!/bin/sh'
        echo "exec $(printf '"%s" ' "$@")\"\$@\""
    } >"$run/$name"
    chmod +x "$run/$name"
}

start() {
    [ "$(id -u)" = 0 ] || { echo "cluster.sh: a kubelet needs root" >&2 && exit 1; }
    kube=$("$here/build.sh")/kube
    exec 9>"$lock"
    flock -w 1800 9 || { echo "cluster.sh: another cluster of the tests runs on this machine" >&2 && exit 1; }
    mkdir -p "$run/log"
    { choose_ports && echo "kube=$kube" && echo "BRIDGE_ADDRESS=$bridge_address"; } >"$run/env"
    . "$run/env"
    write_tool kubectl "$kube" kubectl --kubeconfig "$run/pki/admin.kubeconfig" \
        --cache-dir "$run/kubectl-cache"
    write_tool ctr ctr -a "$run/containerd.sock" -n k8s.io
    write_tool etcdctl env ETCDCTL_API=3 etcdctl --endpoints "http://127.0.0.1:$ETCD"
    sh "$here/certs.sh" "$run/pki" "https://127.0.0.1:$PORT" $bridge_address
    write_config
    if ! ip link show $bridge >/dev/null 2>&1; then
        ip link add $bridge type bridge
        ip addr add $bridge_address/24 dev $bridge
    fi
    ip link set $bridge up
    launch etcd
    launch containerd
    exec 9>&-
    launch apiserver
    ready containerd
    for archive in "$run"/images/*.tar; do
        [ ! -e "$archive" ] || "$run/ctr" images import "$archive" >/dev/null
    done
    ready apiserver
    launch controller-manager
    launch scheduler
    launch kubelet
    ready controller-manager
    ready scheduler
    ready kubelet
    launch gpus
    ready gpus
    wait_for apiserver 60 has_accounts
}

end_all() { # end_all NAME...: SIGTERM to all, a second for all of them together, then SIGKILL
    local name tries=10
    for name in "$@"; do ! alive "$name" || kill "$(cat "$run/$name.pid")" 2>/dev/null || true; done
    while [ $tries -gt 0 ]; do
        local left=
        for name in "$@"; do ! alive "$name" || left=1; done
        [ -n "$left" ] || break
        sleep 0.1
        tries=$((tries - 1))
    done
    for name in "$@"; do
        ! alive "$name" || kill -9 "$(cat "$run/$name.pid")" 2>/dev/null || true
        rm -f "$run/$name.pid"
    done
}

each_of() { # each_of tasks|containers VERB...: ctr does that to each of them
    local what=$1 item
    shift
    for item in $("$run/ctr" "$what" ls -q 2>/dev/null); do
        "$run/ctr" "$what" "$@" "$item" >/dev/null 2>&1 || true
    done
}

stop() {
    [ -e "$run/env" ] || return 0
    . "$run/env"
    end_all gpus kubelet
    if alive containerd; then
        each_of tasks kill -s KILL
        sleep 0.3
        each_of tasks rm -f
        each_of containers rm
    fi
    local shim
    for shim in $(pgrep -f "containerd-shim.*-address $run/containerd.sock" || true); do
        kill -9 "$shim" 2>/dev/null || true
    done
    end_all scheduler controller-manager apiserver etcd containerd
    awk -v under="$run/" 'index($2, under) == 1 { print $2 }' /proc/mounts | tac |
        while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
    local group
    for group in /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods; do
        [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
    ip link del $bridge 2>/dev/null || true
}

case $verb in
start)
    trap '[ $? = 0 ] || stop' EXIT
    start
    ;;
stop) stop ;;
run)
    . "$run/env"
    launch "$3"
    ready "$3"
    if [ "$3" = kubelet ]; then # it has forgotten its device plugins
        end_all gpus
        launch gpus
        ready gpus
    fi
    ;;
end)
    kill -9 "$(cat "$run/$3.pid")"
    ;;
*)
    echo "usage: cluster.sh start|stop FOLDER, cluster.sh run|end FOLDER NAME" >&2
    exit 2
    ;;
esac
