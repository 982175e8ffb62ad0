# Runs a command like a container of the chart: in a root file system that is read-only except for
# /data, as user 1000 without capabilities. Run it with `unshare --mount`.
# image-root.sh ROOT NODE COMMAND…
set -eu
root=$1 node=$2
shift 2
mount --bind "$root" "$root"
mount --bind "$root/data" "$root/data"
for folder in bin etc lib lib64 usr; do
  if [ -d "/$folder" ]; then
    mkdir -p "$root/$folder"
    mount --bind -o ro "/$folder" "$root/$folder"
  fi
done
mkdir -p "$root/dev" "$root/proc" "$root/tmp" "$root/node"
chmod 1777 "$root/tmp"
mount --rbind /dev "$root/dev"
mount --bind /proc "$root/proc"
mount --bind -o ro "$(dirname "$node")" "$root/node"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid=1000 --regid=1000 --clear-groups --bounding-set=-all --inh-caps=-all \
  --no-new-privs env --chdir=/app "$@"
