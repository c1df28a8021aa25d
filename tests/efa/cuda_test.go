package efa

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
)

// D3, D4 and D6: the provider's use of CUDA.
var cudaNeeds = []need{
	{name: "D3: the log names libcudart.so", nic: "version=2.6 cuda=look", test: namesMissing("libcudart.so", "libcuda.so", "libcuda.so.1")},
	{name: "D3: the log names libcuda.so", nic: "version=1.22 cuda=look", test: namesMissing("libcuda.so", "libcudart.so", "libcuda.so.1")},
	{name: "D3: shmem-info names libcudart.so", nic: "version=2.6 cuda=look", test: tellsMissing("libcudart.so", "shmem-info", "--fabric")},
	{name: "D3: shmem-doctor names libcudart.so", nic: "version=2.6 cuda=look", test: tellsMissing("libcudart.so", "shmem-doctor")},
	{name: "D4: both options, GPU heap, efa", nic: "version=1.22", test: options("option 10 false 0", "option 11 false 0")},
	{name: "D4: both options, GPU heap, efa-direct", nic: "version=2.6", test: options("option 10 false 0", "option 11 false 0")},
	{name: "D4: both options, host heap", nic: "version=1.22 hmem=0", test: options("option 10 false -22", "option 11 false 0")},
	{name: "D4: no peer-to-peer", nic: "version=1.22 p2p=no", test: staged},
	{name: "D6: a job with heaps of the host, 1.22", nic: "version=1.22 cuda=look", test: noCUDA("")},
	{name: "D6: a job with heaps of the host, 2.6", nic: "version=2.6 cuda=look", test: noCUDA("")},
	{name: "D6: shmem-info, 1.22", nic: "version=1.22 cuda=look", test: noCUDA("shmem-info", "--fabric")},
	{name: "D6: shmem-info, 2.6", nic: "version=2.6 cuda=look", test: noCUDA("shmem-info", "--fabric")},
	{name: "D6: shmem-doctor, 2.6", nic: "version=2.6 cuda=look", test: noCUDA("shmem-doctor")},
}

// onGPU returns the environment of a job whose heaps are in the memory of a GPU, a fake one, with
// those of CUDA's libraries that are named.
func (p *place) onGPU(libraries ...string) []string {
	p.Helper()
	return []string{
		"SHMEM_HEAP=device", "FAKE_CUDA=works=1", "SHMEM_LOG_LEVEL=info", "LD_LIBRARY_PATH=" + p.cuda(libraries...),
		"CUDA_CALLS=" + p.dir + "/calls",
	}
}

// cuda returns a folder with some of CUDA's libraries: the fake driver, and a runtime that records
// its calls.
func (p *place) cuda(libraries ...string) string {
	p.Helper()
	dir := filepath.Join(p.dir, "cuda")
	runtime := filepath.Join(p.dir, "cudart.so")
	driver := filepath.Join(cudatest.Build(p), cudatest.Driver)
	cc.Source(p, runtime, "../../fabric/ofi/stub/testdata/cudart.c", "-shared", "-fPIC")
	err := os.Mkdir(dir, 0o700)
	for _, name := range libraries {
		file := driver
		if name == "libcudart.so" {
			file = runtime
		}
		err = errors.Join(err, os.Symlink(file, filepath.Join(dir, name)))
	}
	if err != nil {
		p.Fatal(err)
	}
	return dir
}

// program returns one of tests/c, as make has built it.
func (p *place) program(name string) string { return filepath.Join(p.built(), "tests", name) }

// missing returns an error, with the line in question, if a text does not name a missing file.
func missing(out, file string) error {
	for word := range strings.FieldsSeq(out) {
		if strings.Trim(word, `:;,.()"`) == file {
			return nil
		}
	}
	for line := range strings.Lines(out) {
		if at := strings.Index(line, "fi_getinfo with FI_HMEM"); at >= 0 {
			return fmt.Errorf("nothing names %s: %s", file, line[at:])
		}
	}
	return fmt.Errorf("nothing names %s", file)
}

// namesMissing is a job that finds all CUDA libraries but one.
func namesMissing(file string, there ...string) func(*place) error {
	return func(p *place) error {
		out, err := p.job(2, p.onGPU(there...), p.program("growth"))
		if err != nil {
			return ends(out, err, 1)
		}
		return missing(out, file)
	}
}

// tellsMissing is a command that finds all CUDA libraries but the runtime.
func tellsMissing(file string, argv ...string) func(*place) error {
	return func(p *place) error {
		// Its status reflects other faults of the machine as well.
		out, _ := p.run(p.onGPU("libcuda.so", "libcuda.so.1"), argv...)
		return missing(out, file)
	}
}

// options are the options that the library sets on every endpoint of a job of two, before it is
// enabled, with the provider's answers.
func options(want ...string) func(*place) error {
	return func(p *place) error {
		env, program := p.onGPU("libcuda.so", "libcuda.so.1", "libcudart.so"), p.program("growth")
		if strings.Contains(p.nic, "hmem=0") {
			env, program = append(env, "SHMEM_HEAP=host"), p.program("burst")
		}
		out, err := p.job(2, env, program)
		if err != nil {
			return ends(out, err, 1)
		}
		var got []string
		for _, line := range p.lines(p.log) {
			var number, process, result int
			var value string
			if _, err := fmt.Sscanf(strings.Replace(line, ", in time:", ",", 1), "option %d of %d, %s %d", &number, &process, &value, &result); err == nil {
				got = append(got, fmt.Sprintf("option %d %s %d", number, strings.TrimSuffix(value, ","), result))
			} else if strings.HasPrefix(line, "option") {
				return fmt.Errorf("an option is set when it has no effect: %s", line)
			}
		}
		both := append(slices.Clone(want), want...)
		slices.Sort(both)
		slices.Sort(got)
		if !slices.Equal(got, both) {
			return fmt.Errorf("two PEs have set %q, want %q", got, both)
		}
		return nil
	}
}

// staged is a job whose NIC does not reach GPU memory, and reports this when option 10 is set: no
// such memory is registered, and its data goes through the host.
func staged(p *place) error {
	out, err := p.job(2, p.onGPU("libcuda.so", "libcuda.so.1", "libcudart.so"), p.program("growth"))
	if err := ends(out, err, 1); err != nil {
		return err
	}
	for _, line := range p.lines(p.regions) {
		if strings.HasSuffix(line, ": 0\n") {
			return fmt.Errorf("memory of a GPU was registered: %s", strings.Fields(line)[0])
		}
	}
	if !strings.Contains(out, ", GPU memory staged") {
		return fmt.Errorf("the job does not say that GPU memory is staged\n%s", out)
	}
	return nil
}

// noCUDA is a command, or a job with heaps in main memory, for which the provider makes no CUDA
// call: the first call would make a context on GPU 0.
func noCUDA(argv ...string) func(*place) error {
	return func(p *place) error {
		env := append(p.onGPU("libcuda.so", "libcuda.so.1", "libcudart.so"), "SHMEM_HEAP=host")
		if argv[0] == "" {
			out, err := p.job(2, env, p.compile("testdata/alltoall.c"))
			if err := ends(out, err, 2); err != nil {
				return err
			}
		} else if out, _ := p.run(env, argv...); !strings.Contains(out, "efa") {
			return fmt.Errorf("it says nothing of efa\n%s", out)
		}
		if calls := p.lines(p.dir + "/calls"); len(calls) > 0 {
			return fmt.Errorf("the provider has called %s", strings.TrimSpace(calls[0]))
		}
		return nil
	}
}
