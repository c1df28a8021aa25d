package slurm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"libshmem"
)

// The variables that identify a task of an srun step. A batch script has some of them as well,
// which do not hold for the processes that it starts itself.
const (
	EnvJob   = "SLURM_JOB_ID"
	EnvStep  = "SLURM_STEP_ID"
	EnvPE    = "SLURM_PROCID"
	EnvSize  = "SLURM_NTASKS"
	envAgent = "TORCHELASTIC_RUN_ID" // set in processes that torchrun has started: torchrun is the task
)

const (
	maxPEs = 1 << 20
	// maxStep is the first number that Slurm does not assign to a step of srun, but to a batch
	// script or a shell.
	maxStep = 0xfffffff0
	// candidates is the number of hosts on which PE 0 is searched for, if Slurm does not name one.
	candidates = 64
	// listeners is the number of ports that PE 0 may choose from.
	listeners = 8
	// The ports above those that Linux by default assigns to sockets that are not bound to one.
	firstPort, lastPort = 61000, 65535
)

// step describes this task's job step, from Slurm's environment variables.
type step struct {
	name  string // the same for all PEs of the step, and for no other step
	pe    libshmem.PE
	size  int
	hosts []string // where PE 0 may run; none: on this host
	ports []int    // on which PE 0 may listen
}

// Sign returns the names of the variables that show that this process is a task of a Slurm step, or
// "". A batch script is no task of srun; and of processes that torchrun has started, torchrun
// itself is the task.
func Sign(env map[string]string) string {
	for _, name := range []string{EnvJob, EnvStep, EnvPE, EnvSize} {
		if env[name] == "" {
			return ""
		}
	}
	if n, err := strconv.ParseUint(env[EnvStep], 10, 64); err == nil && n >= maxStep || env[envAgent] != "" {
		return ""
	}
	return EnvStep + ", " + EnvPE
}

// read parses the variables, and determines from them where PE 0 listens, to which all PEs connect.
// An error names the variable that is wrong.
func read(env map[string]string) (s step, err error) {
	// number parses one variable. After the first error, which it stores in err, it does nothing.
	number := func(name string, low, high int) (n int) {
		if err == nil {
			if n, err = strconv.Atoi(env[name]); err != nil || n < low || n > high {
				err = fmt.Errorf("%s=%q is not a number from %d to %d (start the program with srun, and leave its variables as they are)",
					name, env[name], low, high)
			}
		}
		return n
	}
	job, id := number(EnvJob, 1, 1<<32-1), number(EnvStep, 0, maxStep-1)
	s.size = number(EnvSize, 1, maxPEs)
	s.pe = libshmem.PE(number(EnvPE, 0, s.size-1))
	if err != nil {
		return s, err
	}
	// A requeued job keeps its number, so the name includes the restart count.
	s.name = fmt.Sprintf("%s/%d.%d/%s of %d", env["SLURM_CLUSTER_NAME"], job, id, env["SLURM_RESTART_COUNT"], s.size)
	list := env["SLURM_STEP_NODELIST"]
	if s.hosts, err = hosts(list); err != nil {
		return s, fmt.Errorf("SLURM_STEP_NODELIST: %w", err)
	}
	// s.hosts: where PE 0 may run. By default it runs on the first host of the list, which is this
	// one if SLURM_NODEID is 0: then s.hosts is nil. With --distribution=arbitrary, or in a
	// heterogeneous job, the list is sorted and does not say where PE 0 runs: each host may be it.
	if env["SLURM_DISTRIBUTION"] != "arbitrary" && env["SLURM_HET_SIZE"] == "" {
		if s.hosts = s.hosts[:1]; env["SLURM_NODEID"] == "0" {
			s.hosts = nil
		}
	} else if len(s.hosts) > candidates {
		return s, fmt.Errorf("PE 0 may be on any of %d hosts, more than %d (leave out --distribution=arbitrary, or start the program with srun --mpi=pmi2)",
			len(s.hosts), candidates)
	}
	if s.ports, err = reserved(env["SLURM_STEP_RESV_PORTS"]); err != nil {
		return s, fmt.Errorf("SLURM_STEP_RESV_PORTS: %w", err)
	}
	if len(s.ports) == 0 {
		s.ports = derived(s.name)
	}
	return s, nil
}

// reserved reads a list of the ports that Slurm keeps free for the step on all its hosts, such as
// "12000-12002".
func reserved(list string) (ports []int, err error) {
	if list == "" {
		return nil, nil
	}
	texts, err := hosts("[" + strings.Trim(list, "[]") + "]")
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, fmt.Errorf("%q has %q, which is not a port", list, text)
		}
		ports = append(ports, port)
	}
	return ports[:min(len(ports), listeners)], nil
}

// derived returns ports that follow from the name of the step, so that all PEs know them without
// communication. Another step may have the same ports; the credentials distinguish the steps.
func derived(name string) (ports []int) {
	for i := byte(0); len(ports) < listeners; i++ {
		sum := sha256.Sum256(append([]byte(name), 0, i))
		port := firstPort + int(binary.BigEndian.Uint32(sum[:]))%(lastPort-firstPort+1)
		if !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}
