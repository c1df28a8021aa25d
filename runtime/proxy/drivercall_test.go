package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"maps"
	"slices"
	"testing"
	"unsafe"
)

// TestDriverCalls: before each driver call the engine has noted its purpose and its PE, because the
// driver may block that call.
func TestDriverCalls(t *testing.T) {
	const n = 3 * layout.MessageSize
	for name, want := range map[string]map[string][2]string{
		"atomics": {
			"a put from main memory": {"", "for a put, a signal or an atomic operation of PE 0"},
			"a put from GPU memory":  {"for a put to PE 1", "for a put, a signal or an atomic operation of PE 0"},
			"a get into main memory": {"", "for a get of PE 0"},
			"a get into GPU memory":  {"for a get from PE 1", "for a get of PE 0"},
			"an atomic operation":    {"", "for a put, a signal or an atomic operation of PE 0"},
			"a small put":            {"", "for a put, a signal or an atomic operation of PE 0"},
		},
		"mapped": {
			"a put from main memory": {"for a put to PE 1", ""},
			"a put from GPU memory":  {"for a put to PE 1", ""},
			"a get into main memory": {"for a get from PE 1", ""},
			"a get into GPU memory":  {"for a get from PE 1", ""},
			"a small put":            {"for a put to PE 1", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := modes[0], gpuModels[name]
			m.gpus = &g
			j := newJob(t, m, 1, 2, 1<<16)
			a := j.pes[0]
			var said [2]map[string]bool
			for i, p := range j.pes {
				p.card.asked = func() { said[i][p.stage.DriverCall()] = true }
			}
			device, _ := a.card.local(make([]byte, n))
			host := make([]byte, n)
			for what, do := range map[string]func(){
				"a put from main memory": func() { a.put(1, 0, host, true) },
				"a put from GPU memory":  func() { a.do(func(r *Request) Status { return a.Put(1, 0, device, n, r) }) },
				"a get into main memory": func() { a.get(1, 0, host, true) },
				"a get into GPU memory":  func() { a.do(func(r *Request) Status { return a.Get(1, 0, device, n, r) }) },
				"an atomic operation": func() {
					var old uint64
					a.do(func(r *Request) Status {
						return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&old), r)
					})
				},
				"a small put": func() { a.put(1, 0, host[:100], true) },
			} {
				wanted, ok := want[what]
				if !ok {
					continue
				}
				said = [2]map[string]bool{{}, {}}
				do()
				a.quiet()
				for i, w := range wanted {
					var all []string
					if w != "" {
						all = []string{w, "to mark the end of its copies"}
					}
					if got := slices.Sorted(maps.Keys(said[i])); !slices.Equal(got, all) {
						t.Errorf("%s: the streams of PE %d are asked %q, want %q", what, i, got, all)
					}
				}
			}
			j.close()
		})
	}
}

// TestLockOfOneWhoIsHeld: the explanation of a wait takes the lock, or goes on without it.
func TestLockOfOneWhoIsHeld(t *testing.T) {
	j := newJob(t, modes[0], 1, 1, 4096)
	e := j.pes[0].Engine
	called := false
	if !e.TryWithLock(0, func() { called = true }) || !called {
		t.Error("the lock is free, and cannot be taken")
	}
	e.WithLock(func() {
		if e.TryWithLock(0, func() { t.Error("two have the lock") }) {
			t.Error("the lock is had, and said to be had again")
		}
	})
	if !e.TryWithLock(0, func() {}) {
		t.Error("the lock was given back, and cannot be had")
	}
	j.close()
}
