package place

import (
	"strconv"

	"libshmem/runtime/config"
)

// shares are variables of launchers: how many processes of a launch are on this host, and how many
// there are in all.
var shares = [][2]string{
	{"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"}, // Open MPI
	{"MPI_LOCALNRANKS", "PMI_SIZE"},                        // Hydra
	{"LOCAL_WORLD_SIZE", "WORLD_SIZE"},                     // torchrun
}

// stepNodes is the variable in which Slurm passes the number of hosts of a job step.
const stepNodes = "SLURM_STEP_NUM_NODES"

// SeveralHosts reports whether variables of the launcher already show, before the PEs have
// exchanged anything, that the job is on several hosts. A false result says nothing: few launchers
// set such variables, and only the exchange is certain.
func SeveralHosts(cfg *config.Config, environ []string, given Given) bool {
	s := &surroundings{config: cfg, env: environment(environ), given: given}
	chosen, _, err := choose(s)
	if err != nil {
		return false // OpenBootstrap reports the error
	}
	return s.severalHosts(chosen.name)
}

// severalHosts returns the result of SeveralHosts for a job with this bootstrap.
func (s *surroundings) severalHosts(name config.Bootstrap) bool {
	switch name {
	case "launcher":
		return s.config.Launcher.Hosts > 1
	case "singleton", "file", "plugin": // variables of a launcher are of another job
		return false
	}
	for _, share := range shares {
		if onHost := s.number(share[0]); onHost > 0 && onHost < s.number(share[1]) {
			return true
		}
	}
	return s.number(stepNodes) > 1
}

// number returns the value of an environment variable; 0 if it is not set or no number.
func (s *surroundings) number(name string) int {
	n, err := strconv.Atoi(s.env[name])
	if err != nil {
		return 0
	}
	return n
}
