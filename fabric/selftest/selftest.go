// Package selftest tries on one NIC each thing that the runtime relies on, and reports whether it
// works: an endpoint that talks to itself, over the provider that it is given.
//
// It helps people find the fault of a machine, so each test stands by itself and a failed one does
// not end the others. It knows no libfabric, no GPU and no heap: its caller opens endpoints and
// brings memory of GPUs. Everything happens in the caller's thread.
package selftest

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/fabric"
)

// Verdict is the result of a test.
type Verdict uint8

// The verdicts.
const (
	Passed  Verdict = iota
	Skipped         // the NIC does not have the feature, and nothing says that it should
	Failed
)

// String returns the word for a report.
func (v Verdict) String() string { return [...]string{"passed", "skipped", "failed"}[v] }

// Result is one line of a report.
type Result struct {
	Test    string
	Verdict Verdict
	Text    string
}

// Open opens an endpoint on the NIC.
type Open func(fabric.Config) (fabric.Provider, error)

// GPU is memory of a GPU that NICs are to reach by one method.
type GPU struct {
	Method string // for messages
	Memory fabric.GPUMemory
	Read   func(to []byte) error // reads its first bytes
	Clear  func() error          // makes all of the memory 0; nil: it is
	// Spare: if this method fails and an earlier one works, the test counts as skipped.
	Spare bool
}

// Entries is the largest number of completion queue entries that the runtime asks for.
const Entries = 32768

// test is one test. run returns neither a text nor an error if the NIC does not have the tested
// feature.
type test struct {
	name string
	run  func(e *endpoint) (text string, err error)
}

// tests lists all tests except those of GPU memory. The basic ones are first, because a failure of
// one explains later failures.
var tests = []test{
	{"main memory", mainMemory},
	{"immediate data", immediateData},
	{"order", order},
	{"postings", postings},
	{"wait objects", waitObjects},
}

// Run opens an endpoint that is connected with itself and runs all tests on it, those of memory of
// GPUs for each of gpus. If the endpoint cannot be opened, only the queue sizes are tested.
func Run(open Open, gpus []GPU) []Result {
	e, err := newEndpoint(open, fabric.Config{Tokens: tokens, MaxRecv: receives, Data: true, GPU: len(gpus) > 0})
	if err != nil {
		return []Result{{"endpoint", Failed, err.Error()}, queueSizes(open)}
	}
	c := e.prov.Caps()
	results := []Result{{"endpoint", Passed, strings.Join(append([]string{"fabric " + c.Fabric}, fabric.NotesOf(e.prov)...), ", ")}}
	for _, t := range tests {
		results = append(results, e.try(t))
	}
	results = append(results, e.memoryOfGPUs(gpus)...)
	if err := e.close(); err != nil {
		results = append(results, Result{"close", Failed, err.Error()})
	}
	return append(results, queueSizes(open))
}

// try runs one test. A test that fails may leave operations under way; they do not disturb the next
// test, which uses other tokens.
func (e *endpoint) try(t test) Result {
	text, err := t.run(e)
	switch {
	case err != nil:
		return Result{t.name, Failed, err.Error()}
	case text == "":
		return Result{t.name, Skipped, "the provider has none"}
	}
	return Result{t.name, Passed, text}
}

// memoryOfGPUs has the NIC write to memory of GPUs.
func (e *endpoint) memoryOfGPUs(gpus []GPU) []Result {
	var results []Result
	c := e.prov.Caps()
	if !slices.ContainsFunc(fabric.Properties, func(p fabric.Property) bool { return p.Name == "rdma" && p.Has(&c) }) {
		return []Result{{"memory of GPUs", Skipped, "the CPU moves the bytes of provider " + c.Provider}}
	}
	if len(gpus) == 0 {
		return []Result{{"memory of GPUs", Skipped, "there is no GPU"}}
	}
	works := false
	for _, g := range gpus {
		r := Result{"memory of GPUs by " + g.Method, Passed, "registered, and written to"}
		if err := e.gpuMemory(g); err != nil {
			r.Verdict, r.Text = Failed, err.Error()
			if g.Spare && works {
				r.Verdict = Skipped
			}
		}
		works = works || r.Verdict == Passed
		results = append(results, r)
	}
	return results
}

// queueSizes opens an endpoint with the largest completion queue that the runtime asks for, and
// reports the depths of its send and receive queues. It needs no peer, so it also runs where the
// endpoint of the other tests cannot be opened.
func queueSizes(open Open) Result {
	const name = "queue sizes"
	p, err := open(fabric.Config{Tokens: tokens, MaxRecv: receives, Queue: Entries})
	if err != nil {
		return Result{name, Failed, fmt.Sprintf("a completion queue of %d entries: %v", Entries, err)}
	}
	c := p.Caps()
	if err := p.Close(); err != nil {
		return Result{name, Failed, err.Error()}
	}
	return Result{name, Passed, fmt.Sprintf("%d completions, %d operations, %d receives", Entries, c.SendQueue, c.RecvQueue)}
}
