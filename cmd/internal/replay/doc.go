// Package replay predicts the time of a recorded job on a network that the user does not have. It
// drives the engines of all PEs (runtime/proxy) over a simulated network (fabric/sim) in virtual
// time: each PE makes the calls that it has made, with the recorded time of computation between
// them, and waits for what it would wait for.
//
// It owns the schedule of threads and engines in virtual time, the time that the processor takes
// for operations, the search for parameters that explain a measurement, and the comparison that
// finds the bottleneck. Package program owns what a recording means, and package collective the
// order of the messages of collectives.
//
// # Time
//
// Three kinds of things happen: events of the network, work of an engine, and steps of threads. The
// machine does the earliest of them. The engine's code runs in no virtual time. Its cost is added
// afterwards: a time for each call, each operation that it posts to the NIC and each completion. A
// PE does one of these at a time, because the engine has one lock. The engine is polled when
// something has arrived; while no thread of the PE waits, the proxy polls it a little later. On a
// host without spare processors the time of the engine is taken from the threads that compute.
//
// While another program, or the writer of the trace, had a thread's processor, the thread did not
// compute. Such time is left out, unless threads of the program share processors in the replay:
// then the recorded time is taken to be the time for which each waits for the others.
//
// A run depends only on the job, the model and the number of hosts. No thread is started: threads
// of PEs are coroutines.
package replay

import (
	"slices"

	"libshmem/cmd/internal/replay/program"
)

// Site describes the hosts of a replay. PEs with consecutive numbers share a host.
type Site struct {
	Hosts      int // at least 1
	NICs       int // of each host; 0: one
	Processors int // of each host; 0: enough for each thread and each proxy
}

// crowded reports whether a host has no spare processor for proxies.
func (s *Site) crowded(job *program.Job) bool {
	return s.Processors > 0 && s.threads(job) >= s.Processors
}

// shared reports whether threads of the program have to share processors.
func (s *Site) shared(job *program.Job) bool {
	return s.Processors > 0 && s.threads(job) > s.Processors
}

// threads returns the largest number of threads of the program on one host.
func (s *Site) threads(job *program.Job) int {
	onHost := make([]int, s.Hosts)
	for _, t := range job.Threads {
		onHost[t.PE*s.Hosts/job.PEs]++
	}
	return slices.Max(onHost)
}

// Run replays a job on the hardware of model and site, and returns what the replay has taken. It
// ends all coroutines and closes the engines, also after an error.
func Run(job *program.Job, model Model, site Site) (*Result, error) {
	m, err := newMachine(job, model, site)
	if err != nil {
		return nil, err
	}
	err = m.run()
	for _, t := range m.threads {
		t.stop()
	}
	var r *Result
	if err == nil {
		r = m.finish()
	}
	m.err = nil // from now on the error of close
	if m.close(); err == nil {
		err = m.err
	}
	return r, err
}
