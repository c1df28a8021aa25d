package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

// options are the flags.
type options struct {
	producer, library, memory string
	consumers                 []string
	slots, core, reps         int
	ops                       uint64
	seconds                   float64
	rates                     []float64
	match                     *regexp.Regexp
	out                       string
}

// consumers are the consumers, in the order of the tables: proxy is the library's own, go a
// goroutine that takes and posts batches, c the reference in C. The section rate leaves the proxy
// out: its operations name PEs and contexts that do not exist, and are only added up.
var consumers = []string{"proxy", "go", "c"}

func main() {
	if err := program(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ring: "+err.Error())
		os.Exit(1)
	}
}

func program(args []string, stdout io.Writer) (err error) {
	var o options
	f := flag.NewFlagSet("ring", flag.ContinueOnError)
	f.StringVar(&o.producer, "producer", "host", "threads that push: host or gpu")
	f.StringVar(&o.library, "library", "build/gpu/libringkernels.so", "the kernels of a GPU that pushes")
	f.StringVar(&o.memory, "memory", "pinned", "memory of a GPU's rings: pinned, managed or bar")
	names := f.String("consumers", strings.Join(consumers, ","), "the consumers: proxy (the library's own), go, c")
	f.IntVar(&o.slots, "slots", 4096, "of each ring")
	f.IntVar(&o.core, "core", -1, "that the consumer in C is bound to; -1: none")
	f.IntVar(&o.reps, "reps", 3, "repetitions of each figure")
	f.Uint64Var(&o.ops, "ops", 1e8, "operations of a rate, where the time suffices, and as many acknowledgements up to 50,000")
	f.Float64Var(&o.seconds, "seconds", 2, "of a run at most")
	rates := f.String("rates", "0.1,0.3,1,3,10", "steady rates, in million operations a second")
	match := f.String("match", "", "a regular expression: only these rates, each named as in \"put 32x32 1\"")
	f.StringVar(&o.out, "out", "", "a file that rows are added to, besides the output")
	if err := f.Parse(args); err != nil {
		return err
	}
	o.consumers = strings.Split(*names, ",")
	for _, text := range strings.Split(*rates, ",") {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate <= 0 || rate > 100 {
			return fmt.Errorf("rate %q: not a number of million operations a second above 0 and up to 100", text)
		}
		o.rates = append(o.rates, rate)
	}
	if o.match, err = regexp.Compile(*match); err != nil {
		return err
	}
	sections := f.Args()
	if len(sections) == 0 {
		sections = []string{"rate", "ack", "paced"}
	}
	return o.session(sections, stdout)
}

// session runs the sections one after the other; after a failed figure the next is still measured.
func (o *options) session(sections []string, stdout io.Writer) (err error) {
	b := &bench{options: o, to: []io.Writer{stdout}, place: place{producer: hostProducer()}}
	if o.out != "" {
		file, err := os.OpenFile(o.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		b.to = append(b.to, file)
	}
	facts := machine()
	if o.producer == "gpu" {
		device, err := b.openGPU(facts)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, device.Close()) }()
	}
	b.write(row{"facts": facts})

	// The collector would scan only the few objects of this program, but the proxy runs without it
	// too.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if err := b.setClock(); err != nil {
		return err
	}
	for _, section := range sections {
		run, ok := map[string]func() error{"rate": b.rates, "ack": b.acks, "paced": b.pace}[section]
		if !ok {
			return fmt.Errorf("select section %q: no section has this name (use rate, ack, paced)", section)
		}
		if err := run(); err != nil {
			return err
		}
	}
	return errors.Join(b.failures...)
}

// openGPU opens the GPU and the library of its producers, and adds facts about it. The caller
// closes the device.
func (b *bench) openGPU(facts row) (*cuda.Device, error) {
	kind, err := gpu.ParseKind(b.memory)
	if err != nil {
		return nil, err
	}
	driver, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	device, err := driver.Device(0)
	if err != nil {
		return nil, err
	}
	b.place.device, b.place.kind = device, kind
	facts["gpu"], facts["cuda_driver"] = device.Name(), device.Facts().Driver
	var ways []string
	for _, r := range gpu.Survey(device, nil, kind) {
		ways = append(ways, r.String())
	}
	facts["ring_memory"] = ways
	b.place.producer, err = gpuProducer(b.library, 0)
	if err != nil {
		return nil, errors.Join(err, device.Close())
	}
	return device, nil
}
