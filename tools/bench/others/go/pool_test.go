// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"testing"
)

// BenchmarkExchange: one operation is one round, 100,000 objects of every goroutine got and put.
func BenchmarkExchange(b *testing.B) {
	for _, threads := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("goroutines=%d", threads), func(b *testing.B) {
			plans := makePlans(threads, b.N, 100_000)
			b.ResetTimer()
			exchangeAll(plans)
		})
	}
}

func TestObjectsAreDistinct(t *testing.T) {
	plans := makePlans(4, 3, 10_000)
	exchangeAll(plans)
	if !plans[0].distinct() {
		t.Fatal("an object was handed out twice")
	}
}
