// Command memory proves, on a machine with a GPU, that each kind of ring memory behaves as
// runtime/gpu says: the CPU reads the GPU's stores, and the GPU the CPU's. It prints the choice,
// the reasons why other kinds are not available, and the cost of each.
//
// It needs only the driver. The exit status is 0 when every available kind works, 1 when one does
// not, 2 where there is no GPU.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

// size is that of 8 rings of 4096 slots.
const size = 512 << 10

func main() { os.Exit(run(os.Stdout)) }

func run(out io.Writer) int {
	driver, err := cuda.Open()
	if err != nil {
		fmt.Fprintln(out, "memory:", err)
		return 2
	}
	status := 0
	for n := range driver.Count {
		if err := device(out, driver, n); err != nil {
			fmt.Fprintln(out, "memory:", err)
			status = 1
		}
	}
	return status
}

func device(out io.Writer, driver *cuda.Driver, n int) error {
	begin := time.Now()
	dev, err := driver.Device(n)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, driver of CUDA %s from %s, opened in %s\n", dev.Name(), driver.Version, driver.File, since(begin))
	fmt.Fprintf(out, "  %+v\n", dev.Facts())

	begin = time.Now()
	m, reports, err := gpu.Ring(dev, gpu.Auto, size)
	took := since(begin)
	var errs []error
	for _, r := range reports {
		mark := " "
		if r.Chosen {
			mark = "*"
		}
		fmt.Fprintln(out, mark, r)
	}
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	fmt.Fprintf(out, "chosen: %s by %s, with a trial of the others in %s\n", m.Kind, m.Method, took)
	errs = append(errs, m.Close())
	for _, r := range reports {
		if r.Why == nil {
			errs = append(errs, kind(out, dev, r.Kind))
		}
	}
	errs = append(errs, near(out, dev), staged(out, dev), dev.Close())
	return errors.Join(errs...)
}

// kind allocates one kind of memory, checks it and prints its cost.
func kind(out io.Writer, dev *cuda.Device, k gpu.Kind) error {
	begin := time.Now()
	m, _, err := gpu.Ring(dev, k, size)
	if err != nil {
		return err
	}
	took := since(begin)
	line, err := check(dev, m.Host, m.Device)
	if err != nil {
		err = fmt.Errorf("check %s memory by %s: %w", k, m.Method, err)
	}
	begin = time.Now()
	err = errors.Join(err, m.Close())
	if err == nil {
		fmt.Fprintf(out, "%s by %s: works; allocated in %s with a trial of the others, freed in %s; %s\n", k, m.Method, took, since(begin), line)
	}
	return err
}

// staged checks the memory through which the proxies copy.
func staged(out io.Writer, dev *cuda.Device) error {
	p, a, err := dev.HostAlloc(size)
	if err != nil {
		return err
	}
	clear(unsafe.Slice((*byte)(p), size))
	line, err := check(dev, p, a)
	if err != nil {
		err = fmt.Errorf("check memory for copies: %w", err)
	}
	if err = errors.Join(err, dev.HostFree(p)); err == nil {
		fmt.Fprintf(out, "pinned for copies: works; %s\n", line)
	}
	return err
}

// near checks that memory near the producers is zeroed.
func near(out io.Writer, dev *cuda.Device) error {
	m, err := gpu.Near(dev, size)
	if err != nil {
		return err
	}
	got := bytes.Repeat([]byte{0xee}, size)
	err = dev.CopyOut(got, m.Device)
	if err == nil && !bytes.Equal(got, make([]byte, size)) {
		err = errors.New("check memory near the producers: it is not zeroed")
	}
	if err = errors.Join(err, m.Close()); err == nil {
		fmt.Fprintf(out, "%s by %s: works\n", m.Kind, m.Method)
	}
	return err
}

// check moves patterns in both directions through memory that begins zeroed, and prints the rates
// at which the CPU reads and writes it.
func check(dev *cuda.Device, p unsafe.Pointer, a gpu.Address) (string, error) {
	host := unsafe.Slice((*byte)(p), size)
	got := make([]byte, size)
	if copy(got, host); !bytes.Equal(got, make([]byte, size)) {
		return "", errors.New("it is not zeroed")
	}

	// The GPU fills, the CPU reads.
	if err := dev.Fill(a, 0x01020304, size/4); err != nil {
		return "", err
	}
	if copy(got, host); !bytes.Equal(got, bytes.Repeat([]byte{4, 3, 2, 1}, size/4)) {
		return "", differ("what the GPU filled", got)
	}

	// The GPU copies from its own memory, the CPU reads.
	scratch, err := gpu.Near(dev, size)
	if err != nil {
		return "", err
	}
	line, err := func() (string, error) {
		want := pattern(7)
		if err := errors.Join(dev.CopyIn(scratch.Device, want), dev.Copy(a, scratch.Device, size)); err != nil {
			return "", err
		}
		begin := time.Now()
		copy(got, host)
		read := time.Since(begin)
		if !bytes.Equal(got, want) {
			return "", differ("what the GPU copied", got)
		}

		// The CPU writes, the GPU copies to its own memory.
		want = pattern(11)
		begin = time.Now()
		copy(host, want)
		drain()
		wrote := time.Since(begin)
		if err := errors.Join(dev.Copy(scratch.Device, a, size), dev.CopyOut(got, scratch.Device)); err != nil {
			return "", err
		}
		if !bytes.Equal(got, want) {
			return "", differ("what the CPU wrote", got)
		}
		return fmt.Sprintf("the CPU reads %s, writes %s", rate(read), rate(wrote)), nil
	}()
	return line, errors.Join(err, scratch.Close())
}

var fence atomic.Uint32

// drain sends the CPU's write-combining buffers: every locked instruction does.
func drain() { fence.Add(1) }

func pattern(seed int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*seed + i>>8)
	}
	return b
}

func differ(what string, got []byte) error {
	return fmt.Errorf("%s is not what arrived, which begins with %x", what, got[:16])
}

func rate(d time.Duration) string {
	return fmt.Sprintf("%.3f GB/s", float64(size)/1e9/max(d.Seconds(), 1e-9))
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(10 * time.Microsecond) }
