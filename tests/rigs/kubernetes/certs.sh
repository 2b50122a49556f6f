#!/bin/sh
# certs.sh FOLDER API_URL BRIDGE_ADDRESS: a throw-away CA, certificates and kubeconfigs for one cluster.
set -eu
api=$2 bridge=$3
mkdir -p "$1"
cd "$1"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

cert() { # cert NAME SUBJECT USAGE [NAMES]
    key "$1"
    openssl req -new -key "$1.key" -subj "$2" -out "$1.csr" 2>/dev/null
    {
        echo "extendedKeyUsage=$3"
        echo "keyUsage=digitalSignature"
        [ -z "${4:-}" ] || echo "subjectAltName=$4"
    } >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" \
        -out "$1.crt" 2>/dev/null
    rm -f "$1.csr" "$1.ext"
}

user() { # user NAME SUBJECT: a certificate and a kubeconfig with it
    cert "$1" "$2" clientAuth
    cat >"$1.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: rig, cluster: {server: "$api", certificate-authority-data: $(base64 -w0 ca.crt)}}]
users:
- name: u
  user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}
contexts: [{name: rig, context: {cluster: rig, user: u}}]
current-context: rig
END
}

key ca
openssl req -x509 -new -key ca.key -days 30 -subj /CN=rig-ca -out ca.crt 2>/dev/null
key sa
openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
cert apiserver /CN=kube-apiserver serverAuth \
    "IP:127.0.0.1,IP:10.96.0.1,IP:$bridge,DNS:localhost,DNS:kubernetes.default.svc"
cert kubelet-client /O=system:masters/CN=apiserver-kubelet-client clientAuth
cert kubelet-server /O=system:nodes/CN=system:node:127.0.0.1 serverAuth "IP:127.0.0.1"
cert euvyrad /CN=euvyrad serverAuth "IP:127.0.0.1,IP:$bridge"
user admin /O=system:masters/CN=admin
user controller-manager /CN=system:kube-controller-manager
user scheduler /CN=system:kube-scheduler
user kubelet /O=system:nodes/CN=system:node:127.0.0.1
