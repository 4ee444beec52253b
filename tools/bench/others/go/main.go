// SPDX-License-Identifier: MIT

// W4 with Go's sync.Pool: the exchange of w4_exchange, objects of 64 bytes.
//
// `w4_sync_pool [THREADS [ROUNDS [COUNT]]]`: in every round every goroutine gets COUNT objects and
// puts them back in shuffled order, by a permutation prepared beforehand. "ms" is the whole time of
// all goroutines, from the common start until the last one has ended. The garbage collector is as
// Go sets it. `go test -bench .` measures the same for several numbers of goroutines.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func argument(index, defaultValue int) int {
	if index >= len(os.Args) {
		return defaultValue
	}
	value, err := strconv.Atoi(os.Args[index])
	if err != nil || value <= 0 {
		fmt.Fprintln(os.Stderr, "usage: w4_sync_pool [THREADS [ROUNDS [COUNT]]]")
		os.Exit(2)
	}
	return value
}

func main() {
	plans := makePlans(argument(1, 1), argument(2, 50), argument(3, 100_000))
	ms := exchangeAll(plans).Seconds() * 1e3
	if !plans[0].distinct() {
		fmt.Fprintln(os.Stderr, "w4_sync_pool: an object was handed out twice")
		os.Exit(1)
	}
	fmt.Printf("{\"command\": \"%s\", \"ms\": %.3f}\n", strings.Join(os.Args, " "), ms)
}
