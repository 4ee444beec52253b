#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh ROOT KERNEL COMMAND...: runs a command on this folder on an emulated machine of another
# processor: a whole one with a kernel of its own, since an emulator of programs alone (qemu-user)
# keeps no limits, knows no MAP_FIXED_NOREPLACE, and pays for each page of reserved addresses. KERNEL
# ends the name of one in ROOT/boot, such as "arm64-16k". Words must not hold blanks. Needs root.
set -eu
root=$1
kernel=$(ls "$root"/boot/vmlinuz-*-"$2" | tail -n 1)
shift 2
install -m 755 "$(dirname "$0")/init.sh" "$root/sbin/run-and-stop"
rm -f "$root/status"
share() { echo "-fsdev local,id=$1,path=$2,security_model=passthrough,multidevs=remap -device virtio-9p-pci,fsdev=$1,mount_tag=$1"; }
# shellcheck disable=SC2046  # two words an option
qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -smp 2 -m 8G -nographic -no-reboot -nic none \
  -kernel "$kernel" -initrd "$(echo "$kernel" | sed s/vmlinuz/initrd.img/)" \
  $(share root "$root") $(share pktmalloc .) \
  -append "console=ttyAMA0 quiet panic=-1 root=root rootfstype=9p rw \
rootflags=trans=virtio,version=9p2000.L,msize=1048576,cache=loose init=/sbin/run-and-stop -- $*" < /dev/null
exit "$(cat "$root/status" 2>/dev/null || echo 1)"
