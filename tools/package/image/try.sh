#!/bin/sh
# SPDX-License-Identifier: MIT
# try.sh IMAGE [aarch64]: uses it as its Containerfile says, in a small Debian that mmdebstrap makes: copied into another
# image, as an init container, and as a sidecar that reads the statistics of a container whose process
# ids it shares. Says what is missing where containers cannot be run, and is content. Of one for another
# processor its programs are run by the emulator of single ones.
set -eu
image=$1
work=$(mktemp -d)
containers="" images=""
clean() {
  for name in $containers; do podman rm --force --time 0 "$name" > /dev/null 2>&1 || true; done
  for name in $images; do podman rmi --force "$name" > /dev/null 2>&1 || true; done
  rm -rf "$work"
}
trap clean EXIT
left_out() { echo "try.sh: left out: $*"; exit 0; }

for tool in podman mmdebstrap; do
  command -v "$tool" > /dev/null || left_out "$tool is not installed; Debian has it"
done
if test -n "${2:-}"; then
  mkdir "$work/root"
  container=$(podman create "$image")
  containers=$container
  podman export "$container" | tar --extract --directory "$work/root"
  "qemu-$2" "$work/root/usr/local/bin/pktmalloc" --version
  mkdir "$work/copies"
  "qemu-$2" -L "$work/root" "$work/root/usr/local/bin/copy-pktmalloc" "$work/copies"
  cmp "$work/root/usr/local/lib/libpktmalloc.so" "$work/copies/libpktmalloc.so"
  echo "emulated: its programs run"
  exit
fi
unshare --map-root-user --pid --fork true 2> /dev/null || left_out "this system allows no name spaces"
# Without a network, which nothing here needs, and within limits that need no privilege.
run() {
  podman --runtime "$runtime" run --network none --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 "$@"
}
for runtime in crun runc none; do
  test "$runtime" != none || left_out "no container can be run here: $(tail -n 1 "$work/told")"
  run --rm --entrypoint /usr/local/bin/pktmalloc "$image" --version > "$work/version" 2> "$work/told" && break
done
echo "in scratch: $(cat "$work/version")"

mmdebstrap --quiet --variant=essential bookworm "$work/base.tar"
podman import --quiet "$work/base.tar" localhost/pktmalloc-base > /dev/null
images="localhost/pktmalloc-app localhost/pktmalloc-base"

cat > "$work/Containerfile" <<END
FROM localhost/pktmalloc-base
COPY --from=$image / /
ENV LD_PRELOAD=/usr/local/lib/libpktmalloc.so
CMD ["perl", "-e", "\$held{\$_} = [\$_] for 1 .. 100_000; print qq(ready\\\\n); sleep 1000"]
END
podman build --quiet --network none --tag localhost/pktmalloc-app "$work" > /dev/null
run --rm --env PKTMALLOC_STATS=1 localhost/pktmalloc-app perl -e 'print "out\n"' > "$work/out" 2> "$work/err"
grep -q '^out$' "$work/out"
grep -q 'in live objects' "$work/err"
echo "copied: an application runs under the library"

mkdir "$work/shared"
run --rm --volume "$work/shared:/pktmalloc" "$image"
run --rm --volume "$work/shared:/pktmalloc:ro" --env LD_PRELOAD=/pktmalloc/libpktmalloc-hardened.so \
  --env PKTMALLOC_STATS=1 localhost/pktmalloc-base perl -e '1' 2> "$work/err"
grep -q 'in live objects' "$work/err"
! run --rm "$image" /nowhere 2> "$work/err"
grep -q 'copy-pktmalloc: .* cannot be copied to /nowhere: No such file or directory' "$work/err"
echo "init container: its libraries are used by another one"

app=$(run --detach localhost/pktmalloc-app)
containers=$app
for _ in $(seq 100); do
  podman logs "$app" 2> /dev/null | grep -q ready && break
  sleep 0.1
done
run --rm --pid "container:$app" --cap-add SYS_PTRACE --entrypoint /usr/local/bin/pktmalloc "$image" \
  stat --json 1 > "$work/statistics"
grep -q '"program": *"perl"' "$work/statistics"
echo "sidecar: statistics are read"
