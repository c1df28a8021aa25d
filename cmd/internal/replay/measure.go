package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric/sim"
	"libshmem/runtime/shmerr"
)

// metric is a value that shmem-perf or bench/woken.c measures between two PEs, with the program
// whose replay computes it.
type metric struct {
	name  string // TEST_MEASURE of shmem-perf
	bytes uint64
	unit  string
	fits  string                       // the parameter that it determines; "": none, it tests the model
	ops   int                          // operations of the program; the metric is the time of one
	make  func(f *metric) *program.Job // makes the program whose replay computes the metric
}

// time converts a value of the metric, in its unit, to nanoseconds of one operation.
func (f *metric) time(value float64) float64 {
	switch f.unit {
	case "us":
		return value * 1e3
	case "Mop/s":
		return 1e3 / value
	}
	return float64(f.bytes) / value // GB/s
}

// exchanged is the metric that determines how much processor time a byte costs: if that cost limits
// the bandwidth, two PEs that send to each other take twice as long as one PE that sends. It may be
// missing.
const exchanged = "put_signal_exchange"

// wokenCPU is the metric of bench/woken.c: the CPU time that a put costs its target PE when the
// target's program computes and makes no call, so that each put wakes the thread there that serves
// the network.
const wokenCPU = "put_signal_woken_cpu"

// optional reports whether Fit can work without the metric, although it determines a parameter.
func (f *metric) optional() bool { return f.name == exchanged || f.name == wokenCPU }

// key returns the key of the metric's value in the result of ReadMeasured: its name and its size.
func (f *metric) key() string { return fmt.Sprintf("%s %d", f.name, f.bytes) }

// metrics are the metrics that the replay can compute. Those that determine parameters come first.
var metrics = []metric{
	{"p_visible", 8, "us", "latency", 100, pingPong},
	{"put_bandwidth", 1 << 20, "GB/s", "bandwidth", 64, window},
	{"put_bandwidth", 4096, "GB/s", "one-sided operation", 8 * 64, window},
	{"add_rate", 8, "Mop/s", "call", 4 * 512, increments},
	{exchanged, 1 << 20, "us", "byte", 8, exchange},
	{wokenCPU, 8, "us", "wake", 20, woken},
	{"put_bandwidth", 65536, "GB/s", "", 64, window},
	{"get_latency", 8, "us", "", 50, gets},
	{"fetch_add_latency", 8, "us", "", 50, fetches},
	{"put_latency", 8, "us", "", 50, putQuiet},
	{"put_rate", 8, "Mop/s", "", 4 * 512, puts},
	{"barrier_latency", 0, "us", "", 50, barriers},
}

// Comparison has a measured metric and the simulated one, in nanoseconds of one operation.
type Comparison struct {
	Metric              string
	Bytes               uint64
	Fits                string // the parameter that it has determined; "": none
	Measured, Simulated float64
}

// ReadMeasured reads metrics between two hosts: the JSON lines of shmem-perf --out, and lines of a
// metric, a size, a value and a unit with tabs between, as bench/woken.c prints them. Other lines
// are skipped. A metric that was measured several times has the median of its values.
func ReadMeasured(r io.Reader) (map[string]float64, error) {
	found := map[string][]float64{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20) // the longest line, in bytes
	for n := 1; lines.Scan(); n++ {
		key, v, err := measuredLine(lines.Text())
		if err != nil {
			return nil, shmerr.Causef(shmerr.ErrArgument, "line %d: %v", n, err)
		}
		if key != "" {
			found[key] = append(found[key], v)
		}
	}
	all := map[string]float64{}
	for key, values := range found {
		slices.Sort(values)
		all[key] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return all, lines.Err()
}

// measuredLine returns the key of the metric in one line, and its value. The key is "" if the line
// has no metric of libshmem, or calls of GPUs were measured.
func measuredLine(line string) (key string, value float64, err error) {
	if !strings.HasPrefix(line, "{") {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			return "", 0, nil
		}
		if value, err = strconv.ParseFloat(f[2], 64); err != nil {
			return "", 0, fmt.Errorf("the value of %s is %q (give the output of bench/woken.c)", f[0], f[2])
		}
		return f[0] + " " + f[1], value, nil
	}
	one := struct {
		Kind, System, Test, Measure, Scope, Path string
		Size                                     uint64
		Median                                   float64
	}{System: "libshmem", Scope: "host"}
	if err := json.Unmarshal([]byte(line), &one); err != nil {
		return "", 0, fmt.Errorf("%w (give a file that shmem-perf --out has written)", err)
	}
	if one.Kind != "figure" || one.System != "libshmem" || one.Scope != "host" {
		return "", 0, nil
	}
	if one.Path != "network" {
		return "", 0, fmt.Errorf("%s %s was measured on one node (start shmem-perf between two hosts: -H a,b)", one.Test, one.Measure)
	}
	return fmt.Sprintf("%s_%s %d", one.Test, one.Measure, one.Size), one.Median, nil
}

// The search ends when the relative error of every metric that determines a parameter is below
// maxRelativeError, or after maxRounds, because a measurement need not fit the model. Each metric
// depends mostly on its own parameter.
const maxRelativeError, maxRounds = 0.003, 8

// Fit changes a model so that the replay of what shmem-perf does has the measured metrics. It needs
// the metrics that determine parameters, and returns how well all metrics fit.
func Fit(m *Model, measured map[string]float64) ([]Comparison, error) {
	var missing []string
	for i := range metrics {
		f := &metrics[i]
		v, ok := measured[f.key()]
		if ok && (!(v > 0) || math.IsInf(v, 0)) {
			return nil, shmerr.Causef(shmerr.ErrArgument, "%s of %d bytes is %g %s (measure again)", f.name, f.bytes, v, f.unit)
		}
		if f.fits != "" && !f.optional() && !ok {
			missing = append(missing, fmt.Sprintf("%s of %d bytes", f.name, f.bytes))
		}
	}
	if len(missing) > 0 {
		return nil, shmerr.Causef(shmerr.ErrArgument, "it lacks %s (run shmem-perf -s 8,4K,64K,1M between two hosts)", strings.Join(missing, ", "))
	}
	if _, ok := measured[exchanged+" 1048576"]; !ok {
		m.Byte = 0 // without that metric a byte takes time only on the wire
	}
	rounds := maxRounds
	for worst := 1.0; worst > maxRelativeError; { // the largest relative error of the last round
		if rounds--; rounds < 0 {
			break
		}
		worst = 0
		for i := range metrics {
			f := &metrics[i]
			if f.fits == "" {
				break
			}
			v, ok := measured[f.key()]
			if !ok {
				continue
			}
			want := f.time(v)
			got, err := f.simulate(m)
			if err != nil {
				return nil, err
			}
			worst = max(worst, math.Abs(got/want-1))
			m.adjust(f.fits, want, got)
		}
		// A PE copies at least as fast as bytes arrive, or else the measured bandwidth would be
		// lower.
		m.Byte = min(m.Byte, 1/measured["put_bandwidth 1048576"])
	}
	var all []Comparison
	for i := range metrics {
		f := &metrics[i]
		v, ok := measured[f.key()]
		if !ok {
			continue
		}
		got, err := f.simulate(m)
		if err != nil {
			return nil, err
		}
		all = append(all, Comparison{f.name, f.bytes, f.fits, f.time(v), got})
	}
	return all, nil
}

// adjust changes the parameter that a metric determines. want and got are the metric's measured and
// simulated time, in nanoseconds of one operation. Their difference is added to the parameter; the
// bandwidth is multiplied by their ratio.
func (m *Model) adjust(parameter string, want, got float64) {
	step := sim.Time(math.Round(want - got))
	switch parameter {
	case "latency":
		m.Latency = max(0, m.Latency+step)
	case "bandwidth":
		m.Bandwidth = max(1, uint64(float64(m.Bandwidth)*got/want))
	case "one-sided operation":
		m.OneSided = max(0, m.OneSided+step)
	case "call":
		m.Call = max(0, m.Call+step)
	case "byte": // of an exchange of 1 MiB, which copies each byte twice
		m.Byte = max(0, m.Byte+(want-got)/2/(1<<20))
	case "wake":
		m.Wake = max(0, m.Wake+step)
	}
}

// simulate replays the metric's program between two PEs and returns the nanoseconds of an
// operation. Each program ends with a barrier, in which PE 1 waits and polls meanwhile, as in
// shmem-perf. The time of a program that has only the barrier is subtracted. For wokenCPU each host
// has one processor, and the pause between puts is subtracted, too.
func (f *metric) simulate(m *Model) (float64, error) {
	var took [2]sim.Time
	barrierOnly, site, gap := *f, Site{Hosts: 2}, 0.0
	barrierOnly.ops = 0
	if f.name == wokenCPU {
		site.Processors, gap = 1, wokenGap
	}
	for i, one := range []*metric{&barrierOnly, f} {
		r, err := Run(one.make(one), *m, site)
		if err != nil {
			return 0, err
		}
		took[i] = r.Total
	}
	return float64(took[1]-took[0])/float64(f.ops) - gap, nil
}

// benchmark makes a program of two PEs that make one call right after another.
type benchmark struct {
	b   *program.Builder
	now [2]int64
}

// newBenchmark returns a program of two PEs without calls, to which the caller adds calls.
func newBenchmark() *benchmark {
	return &benchmark{b: program.NewBuilder(2, 0)} // 0: no recorder has made the calls longer
}

// call adds a call of a PE on the other one, 1 ns after its last, because only the time that the
// replay computes for it matters.
func (x *benchmark) call(pe int, name string, bytes uint64) {
	x.now[pe]++
	c := program.Call{Name: name, Start: x.now[pe], End: x.now[pe], Peer: 1 - pe, Bytes: bytes, Team: program.World}
	if err := x.b.Add(pe, c); err != nil {
		panic(err) // the programs of this file have no errors
	}
}

// job ends the program with a barrier.
func (x *benchmark) job() *program.Job {
	x.barrier()
	j, err := x.b.Job()
	if err != nil {
		panic(err) // the programs of this file have no errors
	}
	return j
}

// barrier adds a barrier of both PEs.
func (x *benchmark) barrier() {
	x.call(0, "shmem_barrier_all", 0)
	x.call(1, "shmem_barrier_all", 0)
}

// pingPong makes a program in which each PE alternately stores a word at the other PE and waits for
// a word from it.
func pingPong(f *metric) *program.Job {
	x := newBenchmark()
	for range f.ops / 2 {
		for pe := range 2 {
			x.call(pe, "shmem_long_p", 8)
			x.now[1-pe] = x.now[pe]
			x.call(1-pe, "shmem_long_wait_until", 0)
		}
	}
	return x.job()
}

// repeat makes a program in which PE 0 calls one function calls times, with a shmem_quiet after
// every quiet-th call; 0: without any.
func repeat(name string, bytes uint64, calls, quiet int) *program.Job {
	x := newBenchmark()
	for i := range calls {
		if x.call(0, name, bytes); quiet > 0 && (i+1)%quiet == 0 {
			x.call(0, "shmem_quiet", 0)
		}
	}
	return x.job()
}

// window makes a program of nonblocking puts by PE 0, with a quiet after every 64.
func window(f *metric) *program.Job { return repeat("shmem_putmem_nbi", f.bytes, f.ops, 64) }

// increments makes a program of atomic adds by PE 0, with a quiet after every 512.
func increments(f *metric) *program.Job { return repeat("shmem_long_atomic_add", 8, f.ops, 512) }

// puts makes a program of nonblocking puts by PE 0, with a quiet after every 512.
func puts(f *metric) *program.Job { return repeat("shmem_putmem_nbi", f.bytes, f.ops, 512) }

// gets makes a program of blocking gets by PE 0.
func gets(f *metric) *program.Job { return repeat("shmem_getmem", f.bytes, f.ops, 0) }

// fetches makes a program of atomic fetch-and-adds by PE 0, each of which waits for its reply.
func fetches(f *metric) *program.Job { return repeat("shmem_long_atomic_fetch_add", 8, f.ops, 0) }

// putQuiet makes a program of blocking puts by PE 0, each followed by a quiet.
func putQuiet(f *metric) *program.Job { return repeat("shmem_putmem", f.bytes, f.ops, 1) }

// wokenGap is the pause before each put of bench/woken.c, in nanoseconds.
const wokenGap = 500_000

// woken makes the program of the metric put_signal_woken_cpu: PE 1 computes while PE 0 puts. The
// time by which PE 1 takes longer than without the puts is their cost for it.
func woken(f *metric) *program.Job {
	x := newBenchmark()
	x.barrier()
	x.now[1] += int64(f.ops+1) * wokenGap
	for range f.ops {
		x.now[0] += wokenGap
		x.call(0, "shmem_putmem_signal_nbi", f.bytes)
	}
	return x.job()
}

// exchange makes a program in which both PEs put to each other at the same time, and each waits for
// the other's signal.
func exchange(f *metric) *program.Job {
	x := newBenchmark()
	for range f.ops {
		for pe := range 2 {
			x.call(pe, "shmem_putmem_signal_nbi", f.bytes)
		}
		x.now[0] = max(x.now[0], x.now[1])
		x.now[1] = x.now[0]
		for pe := range 2 {
			x.call(pe, "shmem_signal_wait_until", 0)
			x.call(pe, "shmem_quiet", 0)
		}
	}
	return x.job()
}

// barriers makes a program of barriers of both PEs.
func barriers(f *metric) *program.Job {
	x := newBenchmark()
	for range f.ops {
		x.barrier()
	}
	return x.job()
}
