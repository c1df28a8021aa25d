// Command staging proves, on a machine with a GPU, that the proxy moves GPU memory that the fabric
// does not reach. Two PEs in one process communicate by tcp: bytes of each kind of memory to each
// kind of heap, atomic operations, and a signal behind its bytes while a kernel that waits for it
// fills the GPU; then heaps that are mapped, without a network. It prints figures beside those of
// main memory over the same network.
//
// It needs the driver and libfabric. The exit status is 0 when all checks pass, 1 when one does
// not, 2 where there is no GPU.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/proxy"
)

func main() {
	os.Exit(run())
}

// choose selects two GPUs that reach each other, or one for both PEs.
func choose(driver *cuda.Driver) (devs [2]*cuda.Device, err error) {
	if devs[0], err = driver.Device(0); err != nil {
		return devs, err
	}
	devs[1] = devs[0]
	for n := 1; n < driver.Count; n++ {
		other, err := driver.Device(n)
		if err != nil {
			return devs, err
		}
		there, _, err := devs[0].Reaches(other.Facts().UUID)
		back, _, otherErr := other.Reaches(devs[0].Facts().UUID)
		if err = errors.Join(err, otherErr); err == nil && there && back {
			devs[1] = other
			break
		}
		if err = errors.Join(err, other.Close()); err != nil {
			return devs, err
		}
	}
	fmt.Printf("the PEs of mapped heaps have %s and %s\n", devs[0].Name(), devs[1].Name())
	return devs, nil
}

// score counts checks.
type score struct{ passed, failed int }

func (s *score) check(what string, err error) bool {
	if err == nil {
		s.passed++
		return true
	}
	s.failed++
	fmt.Printf("%s: %v\n", what, err)
	return false
}

func run() int {
	driver, err := cuda.Open()
	if err != nil {
		fmt.Println("staging:", err)
		return 2
	}
	devs, err := choose(driver)
	if err != nil {
		fmt.Println("staging:", err)
		return 1
	}
	first := [2]*cuda.Device{devs[0], devs[0]}
	var s score
	host := s.pair("main memory", first, kinds{})
	staged := s.pair("GPU memory", first, kinds{device: true})
	mapped := s.pair("mapped heaps", devs, kinds{device: true, mapped: true})
	for i, size := range sizes {
		if host != nil && staged != nil && mapped != nil {
			fmt.Printf("put of %8d B: main memory %6.2f GB/s, staged %6.2f GB/s (%.2f of it), mapped %7.2f GB/s\n",
				size, host.rate[i], staged.rate[i], staged.rate[i]/host.rate[i], mapped.rate[i])
		}
	}
	if host != nil && staged != nil && mapped != nil {
		fmt.Printf("put with signal of 8 B, there and back, median: main memory %.1f us, staged %.1f us, mapped %.1f us\n",
			host.trip, staged.trip, mapped.trip)
	}
	for i, dev := range devs {
		if i == 0 || dev != devs[0] {
			s.check("close "+dev.Name(), dev.Close())
		}
	}
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	if s.failed > 0 {
		return 1
	}
	return 0
}

// sizes are the measured sizes.
var sizes = []uint64{64 << 10, 1 << 20, 16 << 20}

// figures are the results.
type figures struct {
	rate []float64 // GB/s of each size
	trip float64   // us
}

// pair checks and measures two PEs of one kind. nil: a check failed.
func (s *score) pair(name string, devs [2]*cuda.Device, k kinds) (f *figures) {
	j, err := open(devs, k)
	if !s.check("open "+name, err) {
		return nil
	}
	defer func() {
		if !s.check("close "+name, j.close()) {
			f = nil
		}
	}()
	before := s.failed
	s.moves(name, j)
	s.words(name, j)
	if k.device {
		s.spins(name, j)
	}
	if s.failed > before {
		return nil
	}
	f = new(figures)
	for _, size := range sizes {
		rate, err := j.bandwidth(size)
		s.check(fmt.Sprintf("bandwidth of %s, %d B", name, size), err)
		f.rate = append(f.rate, rate)
	}
	f.trip, err = j.roundTrip()
	s.check("round trip of "+name, err)
	return f
}

// moves puts and gets between every kind of buffer and the heap.
func (s *score) moves(name string, j *job) {
	a, b := j.pes[0], j.pes[1]
	for _, n := range []uint64{1, 4, 8, 13, 1000, 4040, 4041, 100_000, 256 << 10, 5<<20 + 3} {
		for _, local := range []*block{a.host, a.local} {
			what := fmt.Sprintf("%s, %d bytes of %s", name, n, local.kind)
			data := pattern(n)
			err := local.write(data)
			if err == nil {
				err = a.do(func() proxy.Status { return a.put(heapAt, local.at(0), n) })
			}
			var there []byte
			if err == nil {
				there, err = b.heap.read(heapAt, n)
			}
			if err == nil && !slices.Equal(there, data) {
				err = errors.New("other bytes came")
			}
			if err == nil {
				err = local.write(make([]byte, n))
			}
			if err == nil {
				err = a.do(func() proxy.Status { return a.get(heapAt, local.at(0), n) })
			}
			if err == nil {
				there, err = local.read(0, n)
			}
			if err == nil && !slices.Equal(there, data) {
				err = errors.New("other bytes came back")
			}
			s.check(what, err)
		}
	}
}

// words adds to a word of PE 1.
func (s *score) words(name string, j *job) {
	const each = 300
	a, b := j.pes[0], j.pes[1]
	err := b.heap.writeAt(0, make([]byte, 64))
	for range each {
		if err == nil {
			err = a.post(func() proxy.Status { return a.add(1, 8, 3) })
		}
	}
	if err == nil {
		err = a.quiet()
	}
	var sum uint64
	if err == nil {
		sum, err = b.heap.word(8)
	}
	if err == nil && sum != 3*each {
		err = fmt.Errorf("the sum is %d, want %d", sum, 3*each)
	}
	s.check(name+", additions", err)
}

// spins fills the GPU with a kernel until a signal arrives, and checks the data that must arrive
// before it.
func (s *score) spins(name string, j *job) {
	a, b := j.pes[0], j.pes[1]
	const words = 1 << 17
	for round := range uint64(20) {
		seed := round * 1_000_003
		err := a.local.writeWords(words, seed)
		var wait func(time.Duration) error
		if err == nil {
			wait, err = j.spin(b.heap.address(0), round+1, b.heap.address(heapAt), words, seed)
		}
		if err != nil {
			s.check(name+", kernel", err)
			return
		}
		err = a.do(func() proxy.Status { return a.putSignal(heapAt, a.local.at(0), 8*words, 0, round+1) })
		if !s.check(fmt.Sprintf("%s, signal %d to a GPU that is full", name, round), errors.Join(err, wait(5*time.Second))) {
			// The kernel must not stay: closing waits for it.
			_ = b.heap.writeAt(0, encode(round+1))
			return
		}
	}
}

// deadline ends a program that hangs.
const deadline = 20 * time.Second

func (j *job) bandwidth(size uint64) (float64, error) {
	a := j.pes[0]
	n := max(4, (256<<20)/size)
	var best float64
	for range 3 {
		begin := time.Now()
		for i := range n {
			if err := a.post(func() proxy.Status { return a.put(heapAt+i*size%(heapSize/2), a.main().at(i*size%(heapSize/2)), size) }); err != nil {
				return 0, err
			}
		}
		if err := a.quiet(); err != nil {
			return 0, err
		}
		best = max(best, float64(n*size)/float64(time.Since(begin).Nanoseconds()))
	}
	return best, nil
}

// roundTrip returns the median of a put with signal of 8 bytes there and back. If heaps are GPU
// memory a kernel of each PE waits for the signal and sets a word in main memory, and the PE
// replies when it sees that.
func (j *job) roundTrip() (float64, error) {
	const rounds = 2000
	for _, p := range j.pes {
		if err := p.relay(rounds); err != nil {
			return 0, err
		}
		defer p.heap.writeAt(0, encode(rounds)) // ends the kernel, also when this fails
	}
	var times []float64
	for i := range uint64(rounds) {
		begin := time.Now()
		for k, p := range j.pes {
			if err := p.post(func() proxy.Status { return p.putSignal(heapAt, p.main().at(0), 8, 0, i+1) }); err != nil {
				return 0, err
			}
			other := j.pes[1-k]
			for until := begin.Add(deadline); atomic.LoadUint64(other.seen) != i+1; {
				if time.Now().After(until) {
					return 0, fmt.Errorf("signal %d has not come", i+1)
				}
			}
		}
		times = append(times, float64(time.Since(begin).Nanoseconds())/1000)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
