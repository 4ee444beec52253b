// SPDX-License-Identifier: MIT

package main

import (
	"math/rand"
	"runtime"
	"sync"
	"time"
)

const objectBytes = 64

type object [objectBytes]byte

var pool = sync.Pool{New: func() any { return new(object) }}

// A plan is what one goroutine does, prepared before time starts.
type plan struct {
	rounds  int
	places  []int // where the i-th object is stored
	objects []*object
}

func makePlans(threads, rounds, count int) []plan {
	plans := make([]plan, threads)
	for i := range plans {
		places := rand.New(rand.NewSource(int64(i))).Perm(count)
		plans[i] = plan{rounds, places, make([]*object, count)}
	}
	return plans
}

func (p *plan) exchange() {
	for round := 0; round < p.rounds; round++ {
		for _, place := range p.places {
			p.objects[place] = pool.Get().(*object)
		}
		for _, o := range p.objects {
			pool.Put(o)
		}
	}
}

// exchangeAll runs the plans, one goroutine each, and returns the time from the common start until
// the last one has ended. They get as many CPUs as they are, if there are as many.
func exchangeAll(plans []plan) time.Duration {
	cpus := runtime.NumCPU()
	if len(plans) < cpus {
		cpus = len(plans)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))

	start := make(chan struct{})
	var running sync.WaitGroup
	running.Add(len(plans))
	for i := range plans {
		go func(p *plan) {
			<-start
			p.exchange()
			running.Done()
		}(&plans[i])
	}
	begin := time.Now()
	close(start)
	running.Wait()
	return time.Since(begin)
}

// distinct tells whether no two of the objects that are handed out now are the same one.
func (p *plan) distinct() bool {
	for i := range p.objects {
		o := pool.Get().(*object)
		p.objects[i] = o
		for byteIndex := 0; byteIndex < 4; byteIndex++ {
			o[byteIndex] = byte(i >> (8 * byteIndex))
		}
	}
	all := true
	for i, o := range p.objects {
		for byteIndex := 0; byteIndex < 4; byteIndex++ {
			all = all && o[byteIndex] == byte(i>>(8*byteIndex))
		}
		pool.Put(o)
	}
	return all
}
