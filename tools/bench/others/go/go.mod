// SPDX-License-Identifier: MIT
// W4 with Go's sync.Pool. The standard library only, so there is no go.sum.
module pktmalloc/w4_sync_pool

go 1.19
