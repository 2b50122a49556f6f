#!/bin/sh
# mkimage.sh ROOT NAME:TAG OUT.tar [COMMAND]: a folder as an image archive of one layer, as
# `ctr images import` takes it. COMMAND is a JSON array.
set -eu
command=${4:-'["/bin/sh"]'}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$1" -cf "$work/layer.tar" .
layer=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
cat >"$work/config.json" <<END
{"architecture": "amd64", "os": "linux", "history": [{"created_by": "mkimage"}],
 "config": {"Env": ["PATH=/usr/local/bin:/bin:/usr/bin"], "Cmd": $command, "WorkingDir": "/"},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
END
config=$(sha256sum "$work/config.json" | cut -d' ' -f1)
mv "$work/config.json" "$work/$config.json"
mkdir "$work/$layer"
mv "$work/layer.tar" "$work/$layer/layer.tar"
cat >"$work/manifest.json" <<END
[{"Config": "$config.json", "RepoTags": ["$2"], "Layers": ["$layer/layer.tar"]}]
END
tar -C "$work" -cf "$3" manifest.json "$config.json" "$layer/layer.tar"
