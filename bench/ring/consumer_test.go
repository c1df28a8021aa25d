package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/tests/need"
)

// TestRing is a short session with every consumer: all sums must be correct.
func TestRing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	var out bytes.Buffer
	if err := program([]string{"-ops", strconv.Itoa(need.Load("bench/ring")), "-reps", "1", "-seconds", "0.05", "-rates", "0.1", "-slots", "256"}, &out); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var r struct{ Metric, Consumer string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		seen[r.Metric+" "+r.Consumer]++
	}
	for _, who := range consumers {
		for _, metric := range []string{"rate ", "acknowledged ", "paced "} {
			if seen[metric+who] == 0 && (who != "proxy" || metric != "rate ") {
				t.Errorf("no row %q among %v", metric+who, seen)
			}
		}
	}
}

// TestSumIsOfTheFields compares the two decoders with each other and with the expectation.
func TestSumIsOfTheFields(t *testing.T) {
	p := place{producer: hostProducer()}
	for _, load := range []int{loadP, loadBurst, loadPut} {
		for _, who := range []string{"go", "c"} {
			s, err := p.make(1, 256, 1)
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{options: &options{core: -1, seconds: 5}, place: p}
			a := &run{operations: 320}
			if err := b.execute(who, s, a, func() error { return p.producer.push(load, shape{1, 1}, 320, s.target) }); err != nil {
				t.Fatal(err)
			}
			want := expected(load, 1, 320, s.target.sources)
			if a.sum != want {
				t.Errorf("load %d, %s: sum %#x, want %#x", load, who, a.sum, want)
			}
			if less := expected(load, 1, 319, s.target.sources); less == want {
				t.Errorf("load %d: the last operation adds nothing", load)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMissingOperationsAreReported gives up on a run that pushes too few.
func TestMissingOperationsAreReported(t *testing.T) {
	for _, who := range []string{"go", "c"} {
		p := place{producer: hostProducer()}
		s, err := p.make(1, 256, 1)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{options: &options{core: -1}, place: p}
		a := &run{operations: 65, limit: 5e7}
		err = b.execute(who, s, a, func() error { return p.producer.push(loadP, shape{1, 1}, 64, s.target) })
		if err == nil || !strings.Contains(err.Error(), "64 of 65 operations came") {
			t.Errorf("%s: error %v", who, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkConsume is the cost of one operation for a consumer that finds the slots in its cache:
// the rest of a rate is the transfer into the cache.
func BenchmarkConsume(b *testing.B) {
	const slots = 4096
	p := place{producer: hostProducer()}
	s, err := p.make(1, slots, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	if err := p.producer.push(loadP, shape{1, 1}, slots, s.target); err != nil {
		b.Fatal(err)
	}
	if err := p.producer.wait(); err != nil {
		b.Fatal(err)
	}
	for _, who := range []string{"go", "c"} {
		b.Run(who, func(b *testing.B) {
			best := uint64(1 << 62) // the machine may be busy
			for n := 0; n < b.N; n += slots {
				begin := now()
				a := &run{operations: slots, limit: 1e9}
				var err error
				if s.all[0].Ring, err = queue.New(s.all[0].memory, slots); err != nil { // at position 0 again
					b.Fatal(err)
				}
				if who == "c" {
					consumeInC(s.all, a, newProvider(a))
				} else {
					c := &consumer{rings: []*queue.Ring{s.all[0].Ring}}
					c.consume(a)
				}
				best = min(best, now()-begin)
			}
			b.ReportMetric(float64(best)/slots, "best-ns/op")
		})
	}
}
