package collective

import (
	"math/bits"
	"sync"
	"testing"
)

// wires carry numbers between n members.
type wires [][]chan int

func newWires(n int) wires {
	w := make(wires, n)
	for i := range w {
		w[i] = make([]chan int, n)
		for k := range w[i] {
			w[i][k] = make(chan int, 64)
		}
	}
	return w
}

// together runs f for each member, and fails unless all end; sent is the messages of all.
func together(n int, w wires, f func(me int)) (sent int) {
	var all sync.WaitGroup
	for me := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			f(me)
		}()
	}
	all.Wait()
	for _, row := range w {
		for _, c := range row {
			sent += len(c)
		}
	}
	return sent // the messages that no member waited for
}

// Every member of an exchange has the sum of all, whether they write to each other or in pairs, and
// every message is awaited.
func TestExchange(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for _, direct := range []int{1, 16, 64} {
			w, sums := newWires(n), make([]int, n)
			left := together(n, w, func(me int) {
				total := me + 1
				Exchange(me, n, direct,
					func(to, _ int) bool { w[me][to] <- total; return true },
					func(from, slot int) bool {
						got := <-w[from][me]
						if n > direct && slot == Whole {
							total = 0
						}
						if n <= direct {
							got = from + 1 // what the member had at first, which it sends to all
						}
						total += got
						return true
					})
				sums[me] = total
			})
			for me, sum := range sums {
				if sum != n*(n+1)/2 || left != 0 {
					t.Fatalf("%d members, direct up to %d: member %d has %d, and %d messages are left", n, direct, me, sum, left)
				}
			}
		}
	}
}

// No member leaves a barrier before all have come: each knows all others by what it was sent.
func TestMeet(t *testing.T) {
	for n := 1; n <= 40; n++ {
		known, w := make([]map[int]bool, n), newWires(n)
		knows := make([][]chan map[int]bool, n)
		for i := range n {
			known[i] = map[int]bool{i: true}
			knows[i] = make([]chan map[int]bool, n)
			for k := range n {
				knows[i][k] = make(chan map[int]bool, 64)
			}
		}
		left := together(n, w, func(me int) {
			messages := 0
			m := Member{Me: me, N: n, Message: func(to int) bool {
				all := map[int]bool{}
				for k := range known[me] {
					all[k] = true
				}
				knows[me][to] <- all
				messages++
				return true
			}, Await: func(from int) bool {
				for k := range <-knows[from][me] {
					known[me][k] = true
				}
				return true
			}}
			m.Meet()
			if want := bits.Len(uint(n - 1)); messages != want {
				t.Errorf("%d members: %d messages of one, want %d", n, messages, want)
			}
		})
		for me := range n {
			if len(known[me]) != n || left != 0 {
				t.Fatalf("%d members: member %d leaves when %d have come", n, me, len(known[me]))
			}
		}
	}
}

// A member ends at once when a function says so.
func TestStop(t *testing.T) {
	for after := range 3 {
		calls := 0
		step := func(int) bool { calls++; return calls <= after }
		m := Member{Me: 1, N: 8, Message: step, Await: step}
		for _, f := range []func() bool{m.Meet, m.AllToAll, m.Prefix} {
			if calls = 0; f() || calls != after+1 {
				t.Errorf("%d calls after the one that said stop", calls-after-1)
			}
		}
	}
}
