package place

import (
	"fmt"
	"strconv"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/session"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// The variables that number the processes of a job: those of torchrun, and that of Kubernetes in a
// pod of an indexed Job.
const (
	envRank  = "RANK"
	envWorld = "WORLD_SIZE"
	envIndex = "JOB_COMPLETION_INDEX"
)

// signOfSession returns the variables that show that PEs meet at an address without a launcher, or
// "". The address alone is no sign, because a program that passes a unique id to its PEs has it,
// too.
func signOfSession(s *surroundings) string {
	if s.config.BootstrapSession.Address == "" {
		return ""
	}
	for _, names := range [][]string{{"SHMEM_BOOTSTRAP_PE"}, {"SHMEM_BOOTSTRAP_NPES"}, {envRank, envWorld}, {envIndex}} {
		if sign := s.ifSet(names...); sign != "" {
			return session.Env + ", " + sign
		}
	}
	return ""
}

// openSession joins the job by an address and numbers in the environment, as in Kubernetes.
func openSession(s *surroundings) (bootstrap.Bootstrap, error) {
	place, err := sessionPlace(s.config)
	if err != nil {
		return nil, err
	}
	pe, size, err := sessionNumbers(s)
	if err != nil {
		return nil, err
	}
	return nilOnError(session.Join(session.Options{
		Place: place, PE: pe, Size: size, Timeout: s.config.BootstrapTimeout,
		Survives: s.config.OnFailure == config.ReturnOnFailure, Warn: s.warn,
	}))
}

// sessionPlace returns the address of PE 0 and the secret of the job, from the settings.
func sessionPlace(cfg *config.Config) (uid.Place, error) {
	secret, err := session.Secret(cfg.BootstrapSession.Secret, cfg.BootstrapSession.SecretFile)
	return uid.Place{Address: cfg.BootstrapSession.Address, Secret: secret}, err
}

// sessionNumbers returns the number of this PE and how many PEs the job has. SHMEM_BOOTSTRAP_PE and
// SHMEM_BOOTSTRAP_NPES come first, then torchrun's variables. Last is JOB_COMPLETION_INDEX, the
// number of the Kubernetes pod: torchrun's workers inherit it, so those of one pod have the same.
func sessionNumbers(s *surroundings) (pe libshmem.PE, size int, err error) {
	wrong := func(object, cause, remedy string) (libshmem.PE, int, error) {
		return 0, 0, &shmerr.Error{Op: "join job", Object: object, Cause: shmerr.Causef(shmerr.ErrSetting, "%s", cause), Remedy: remedy}
	}
	number := func(name string) (int, bool) {
		n, err := strconv.Atoi(s.env[name])
		return n, err == nil && n >= 0
	}
	f := s.config.BootstrapFile
	peFrom, sizeFrom, ok := "SHMEM_BOOTSTRAP_PE", "SHMEM_BOOTSTRAP_NPES", true
	if size = f.NPEs; size == 0 {
		sizeFrom = envWorld
		if s.env[envWorld] == "" {
			return wrong(session.Env, "the number of PEs is not known", "set SHMEM_BOOTSTRAP_NPES; in a Job of Kubernetes it is completions")
		}
		if size, ok = number(envWorld); !ok {
			return wrong(fmt.Sprintf("%s=%q", envWorld, s.env[envWorld]), "it is not a number of PEs", "set SHMEM_BOOTSTRAP_NPES")
		}
	}
	n := int(f.PE)
	if n < 0 {
		switch peFrom = envIndex; {
		case s.ifSet(envRank, envWorld) != "":
			peFrom = envRank
		case s.env[envIndex] == "":
			return wrong(session.Env, "the number of this PE is not known", "set SHMEM_BOOTSTRAP_PE; Kubernetes sets JOB_COMPLETION_INDEX in a Job with completionMode: Indexed")
		}
		if n, ok = number(peFrom); !ok {
			return wrong(fmt.Sprintf("%s=%q", peFrom, s.env[peFrom]), "it is not the number of a PE", "set SHMEM_BOOTSTRAP_PE")
		}
	}
	if n >= size {
		return wrong(fmt.Sprintf("%s=%d, %s=%d", peFrom, n, sizeFrom, size), "there is no such PE", "PEs are numbered from 0; in a Job of Kubernetes the number of PEs is completions")
	}
	return libshmem.PE(n), size, nil
}
