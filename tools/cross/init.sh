#!/bin/sh
# SPDX-License-Identifier: MIT
# init.sh COMMAND...: the first process of the emulated machine (run.sh): mounts what programs
# expect, runs the command on the project's folder, leaves its exit status there, and switches off.
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /pktmalloc
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=loose pktmalloc /pktmalloc
cd /pktmalloc
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
"$@"
echo $? > /status
sync
echo o > /proc/sysrq-trigger
sleep 60
