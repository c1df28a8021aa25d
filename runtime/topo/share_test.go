package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// generate makes a machine from a seed: sockets, NUMA nodes, root complexes and
// switches, some cascaded, with GPUs and NICs anywhere, some in no known place.
func generate(seed uint64) (m *Machine, users, nics []Place) {
	r := rand.New(rand.NewPCG(seed, 7))
	m = &Machine{}
	var places []Place
	cpu, bus := 0, 0
	id := func() string { bus++; return fmt.Sprintf("%04x:00:00.0", bus) }
	for range 1 + r.IntN(2) {
		var socket []int
		for range 1 + r.IntN(2) {
			cpus := NewSet(cpu, cpu+1)
			socket = append(socket, cpu, cpu+1)
			cpu += 2
			m.Nodes = append(m.Nodes, Node{len(m.Nodes), cpus})
			for range r.IntN(3) {
				root := id()
				for range 1 + r.IntN(2) {
					chain := []string{root, id()}
					for range r.IntN(3) {
						chain = append(chain, id(), id())
						places = append(places, Place{cpus, slices.Clone(chain)})
					}
					places = append(places, Place{cpus, slices.Clone(chain)})
				}
			}
		}
		m.Packages = append(m.Packages, NewSet(socket...))
		places = append(places, Place{CPUs: NewSet(socket...)})
		m.CPUs = NewSet(append(m.CPUs.List(), socket...)...)
	}
	places = append(places, Place{}, Place{CPUs: m.CPUs})
	pick := func(n int) (list []Place) {
		for range n {
			list = append(list, places[r.IntN(len(places))])
		}
		return list
	}
	return m, pick(1 + r.IntN(5)), pick(1 + r.IntN(5))
}

// check compares the promises of Share with every other way to deal.
func check(m *Machine, users, nics []Place, all bool) error {
	got := m.Share(users, nics, all)
	load := make([]int, len(nics))
	for u, list := range got {
		if len(list) == 0 || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			return fmt.Errorf("user %d has NICs %v", u, list)
		}
		for _, n := range list {
			load[n]++
		}
	}
	enough := len(nics) >= len(users)
	if enough && slices.Max(load) > 1 {
		return fmt.Errorf("there are enough NICs and loads are %v", load)
	}
	if !enough && slices.Max(load)-slices.Min(load) > 1 {
		return fmt.Errorf("loads are %v", load)
	}
	if all && slices.Min(load) == 0 {
		return fmt.Errorf("a NIC of the list is not used: %v", load)
	}
	for u := range got {
		for v := range u {
			alike := !slices.ContainsFunc(nics, func(n Place) bool { return m.Distance(users[u], n) != m.Distance(users[v], n) })
			if d := len(got[u]) - len(got[v]); alike && (d < -1 || d > 1) {
				return fmt.Errorf("users %d and %d are alike and have NICs %v and %v", u, v, got[u], got[v])
			}
		}
	}
	// The multiset of distances, worst first, is the least of all that are so even.
	near := func(u, n int) Class { return m.Distance(users[u], nics[n]) }
	var mine cost
	for u, list := range got {
		c := OtherSocket
		for _, n := range list {
			c = min(c, near(u, n))
		}
		mine[c]++
	}
	best, found := cost{}, false
	var try func(u int, load []int, c cost)
	try = func(u int, load []int, c cost) {
		if u == len(users) {
			if slices.Max(load)-slices.Min(load) <= 1 && (!found || c.less(best)) {
				best, found = c, true
			}
			return
		}
		for n := range nics {
			load[n]++
			d := c
			d[near(u, n)]++
			try(u+1, load, d)
			load[n]--
		}
	}
	try(0, make([]int, len(nics)), cost{})
	if best.less(mine) {
		return fmt.Errorf("users are %v far, and %v is possible", mine, best)
	}
	return nil
}

func TestShare(t *testing.T) {
	for seed := range uint64(3000) {
		m, users, nics := generate(seed)
		if err := check(m, users, nics, seed%2 == 1); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func FuzzShare(f *testing.F) {
	f.Add(uint64(1), false)
	f.Fuzz(func(t *testing.T, seed uint64, all bool) {
		m, users, nics := generate(seed)
		if err := check(m, users, nics, all); err != nil {
			t.Error(err)
		}
	})
}

// TestDistance holds Distance's promises about trees.
func TestDistance(t *testing.T) {
	for seed := range uint64(500) {
		m, users, nics := generate(seed)
		all := slices.Concat(users, nics)
		for _, a := range all {
			for _, b := range all {
				if m.Distance(a, b) != m.Distance(b, a) {
					t.Fatalf("seed %d: %v from %v to %v, %v back", seed, m.Distance(a, b), a, b, m.Distance(b, a))
				}
			}
		}
	}
}

// TestShareOfMany: a thousand PEs on two nodes are dealt at once.
func TestShareOfMany(t *testing.T) {
	m := &Machine{CPUs: NewSet(0, 1), Packages: []Set{NewSet(0), NewSet(1)}, Nodes: []Node{{0, NewSet(0)}, {1, NewSet(1)}}}
	users := make([]Place, 1000)
	for i := range users {
		users[i].CPUs = NewSet(i % 2)
	}
	nics := []Place{{CPUs: NewSet(0)}, {CPUs: NewSet(1)}, {CPUs: NewSet(1)}}
	load := map[int]int{}
	far := 0
	for u, list := range m.Share(users, nics, false) {
		load[list[0]]++
		if m.Distance(users[u], nics[list[0]]) != SameNode {
			far++
		}
	}
	if load[0] != 334 || load[1]+load[2] != 666 || far != 166 {
		t.Errorf("loads %v, %d far", load, far)
	}
}
