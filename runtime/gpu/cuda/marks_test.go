package cuda

import (
	"os"
	"slices"
	"sync"
	"testing"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestCalls: code that does not call the driver sees the calls that it holds, with the name of the
// function and of the caller, the same ones until they return, and then none.
func TestCalls(t *testing.T) {
	log := cudatest.Set(t, "")
	hold := cudatest.NewHolder(t)
	t.Setenv("FAKE_CUDA_HOLD", hold.Dir)
	v := mustDevice(t, cudatest.Build(t))
	proxy := v.For("a proxy")
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if calls := v.Calls(nil); len(calls) != 0 {
		t.Errorf("nothing is under way: %+v", calls)
	}
	// More threads of one caller than it has marks.
	const threads = 11
	held := func() (all []Call) {
		t.Helper()
		var done sync.WaitGroup
		hold.Hold(os.Getpid(), "cuStreamQuery")
		ask := func(v *Device) {
			if done, err := v.StreamDone(s); !done || err != nil {
				t.Errorf("a call that was held: %v, %v", done, err)
			}
		}
		done.Go(func() { ask(proxy) })
		for range threads {
			done.Go(func() { ask(v) })
		}
		need.Eventually(t, "nine calls that are held", func() bool {
			all = v.Calls(all[:0])
			return len(all) >= 9
		})
		if again := proxy.Calls(nil); !slices.Equal(again, all) {
			t.Errorf("a second look sees %+v, the first saw %+v", again, all)
		}
		hold.Release(os.Getpid())
		done.Wait()
		if calls := v.Calls(nil); len(calls) != 0 {
			t.Errorf("all have returned: %+v", calls)
		}
		return all
	}
	first, second := held(), held()
	seen := map[Call]bool{}
	for _, c := range slices.Concat(first, second) {
		if c.Name != "cuStreamQuery" || c.By != "" && c.By != "a proxy" || seen[c] {
			t.Errorf("%+v is not a call that was made, or was seen before", c)
		}
		seen[c] = true
	}
	if n := slices.IndexFunc(first, func(c Call) bool { return c.By == "a proxy" }); n < 0 {
		t.Errorf("the other caller is missing in %+v", first)
	}
	if err := v.CloseStream(s); err != nil {
		t.Error(err)
	}
	// The name ends with the GPU, for all its callers.
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	if _, err := v.StreamDone(s); err == nil {
		t.Error("a GPU that another caller has closed is asked")
	}
	if calls := v.Calls(nil); calls != nil {
		t.Errorf("after Close: %+v", calls)
	}
	log.Check()
}

// BenchmarkMarks is a call of a driver that does next to nothing, watched and not, and a look at
// the calls under way.
func BenchmarkMarks(b *testing.B) {
	cudatest.Set(b, "")
	b.Setenv("FAKE_CUDA_LOG", "")
	os.Unsetenv("FAKE_CUDA_LOG")
	v := mustDevice(b, cudatest.Build(b))
	unseen := v.For("unseen")
	unseen.driver.table.marks = nil
	for _, c := range []struct {
		name string
		v    *Device
	}{{"unseen", unseen}, {"seen", v}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.v.StreamDone(gpu.Stream(0)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("look", func(b *testing.B) {
		var calls []Call
		for b.Loop() {
			calls = v.Calls(calls[:0])
		}
	})
	if err := v.Close(); err != nil {
		b.Error(err)
	}
}
