package place

// This file chooses the bootstrap, which connects this process with the other PEs of its job. The
// arguments of the program have precedence over the variables and files that launchers leave. The
// bootstraps themselves are the packages below runtime/bootstrap. One thread opens one.

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/file"
	"libshmem/runtime/bootstrap/launcher"
	"libshmem/runtime/bootstrap/mpi"
	"libshmem/runtime/bootstrap/plugin"
	"libshmem/runtime/bootstrap/pmi"
	"libshmem/runtime/bootstrap/pmix"
	"libshmem/runtime/bootstrap/session"
	"libshmem/runtime/bootstrap/singleton"
	"libshmem/runtime/bootstrap/slurm"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
	"libshmem/runtime/shmlog"
)

// A candidate is one bootstrap: the sign that the process was started for it, and the
// function that opens it.
type candidate struct {
	name config.Bootstrap
	// sign returns the sign, for the log; "" if there is none.
	sign func(s *surroundings) string
	// needs says what SHMEM_BOOTSTRAP needs to force this bootstrap without a sign. "": nothing.
	needs string
	open  func(s *surroundings) (bootstrap.Bootstrap, error)
	// place has the variables that say which PE of the job a process is. A program that a PE
	// starts inherits them and must not join as the same PE again: vacant refuses it. The remedy in
	// its error is to unset the last variable that is set; without that, sign returns "".
	place []string
}

// bootstraps lists all bootstraps. The first one whose sign is present wins: the arguments of the
// program precede the environment of a launcher.
var bootstraps = []candidate{
	{"uid", func(s *surroundings) string { return s.given.sign() }, "give shmemx_init_attr a unique id", openUID, nil},
	{"mpi", signOfMPI, "call MPI_Init before", openMPI, nil},
	{"launcher", func(s *surroundings) string { return s.ifSet(launcher.EnvFD) }, "start the program with shmemrun", openLauncher, nil},
	{"file", func(s *surroundings) string { return s.ifSet(file.Env) }, "set SHMEM_BOOTSTRAP_FILE, SHMEM_BOOTSTRAP_PE and SHMEM_BOOTSTRAP_NPES", openFile, []string{"SHMEM_BOOTSTRAP_PE", file.Env}},
	{"session", signOfSession, "set SHMEM_BOOTSTRAP_SESSION, SHMEM_BOOTSTRAP_PE and SHMEM_BOOTSTRAP_NPES", openSession, []string{"SHMEM_BOOTSTRAP_PE", envRank, envIndex, session.Env}},
	{"plugin", func(s *surroundings) string { return s.ifSet(plugin.Env) }, "set SHMEM_BOOTSTRAP_PLUGIN", openPlugin, nil},
	{"pmix", func(s *surroundings) string { return s.ifSet(pmix.EnvNamespace, pmix.EnvRank) }, "start the program with mpirun of Open MPI or srun --mpi=pmix", openPMIx, []string{pmix.EnvNamespace, pmix.EnvRank}},
	{"pmi", signOfPMI, "start the program with mpiexec.hydra or srun --mpi=pmi2", openPMI, []string{pmi.EnvFD, pmi.EnvRank, pmi.EnvPort, pmi.EnvID}},
	{"slurm", func(s *surroundings) string { return slurm.Sign(s.env) }, "start the program with srun", openSlurm, []string{slurm.EnvJob, slurm.EnvStep, slurm.EnvPE}},
	{"singleton", func(*surroundings) string { return "no launcher" }, "", openSingleton, nil},
}

// surroundings are the facts from which choose chooses a bootstrap, and with which it is opened.
type surroundings struct {
	config *config.Config
	env    map[string]string
	given  Given
	warn   func(text string) // logs a problem of the bootstrap
}

// Given holds the arguments of shmemx_init_attr.
type Given struct {
	UID     *uid.ID        // nil: none
	PE      libshmem.PE    // given with the UID
	NPEs    int            // given with the UID
	MPIComm unsafe.Pointer // to an MPI_Comm; nil: none
}

// sign returns the sign for the bootstrap by a unique id, or "".
func (g Given) sign() string {
	if g.UID == nil {
		return ""
	}
	return "a unique id"
}

// ifSet returns the name of a variable that is set and not empty, or "". Of several names, all must
// be set; it returns them as "A, B".
func (s *surroundings) ifSet(names ...string) string {
	for _, name := range names {
		if s.env[name] == "" {
			return ""
		}
	}
	return strings.Join(names, ", ")
}

// environment makes a map of "NAME=value" entries. The first entry of a name counts, as in getenv.
func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			if _, seen := env[name]; !seen {
				env[name] = value
			}
		}
	}
	return env
}

// choose returns the bootstrap that SHMEM_BOOTSTRAP names or, if that is auto, the first in the
// list that has a sign: a setting or variable which shows that the process was started for it. The
// text is the setting or the sign.
func choose(s *surroundings) (*candidate, string, error) {
	forced := s.config.Bootstrap
	for i := range bootstraps {
		b := &bootstraps[i]
		if forced != config.BootstrapAuto && forced != b.name {
			continue
		}
		sign := b.sign(s)
		switch {
		case forced == b.name && sign == "" && b.needs != "":
			return nil, "", &shmerr.Error{
				Op: "join job", Object: fmt.Sprintf("SHMEM_BOOTSTRAP=%s", forced),
				Cause:  shmerr.Causef(shmerr.ErrSetting, "nothing shows that this process was started for it"),
				Remedy: b.needs + ", or unset SHMEM_BOOTSTRAP",
			}
		case forced == b.name:
			return b, "SHMEM_BOOTSTRAP", nil
		case sign != "":
			return b, sign, nil
		}
	}
	return nil, "", fmt.Errorf("join job: there is no bootstrap %q", forced)
}

// OpenBootstrap chooses the bootstrap and opens it, unless an ancestor of this process is already
// the PE that the variables name (vacant). environ has "NAME=value" entries. A nil log logs nothing.
func OpenBootstrap(cfg *config.Config, environ []string, given Given, log *shmlog.Log) (bootstrap.Bootstrap, error) {
	// For problems during the bootstrap, such as a connection from a process that is no PE.
	warn := func(text string) { log.Printf("bootstrap", config.LogWarn, "%s", text) }
	s := &surroundings{config: cfg, env: environment(environ), given: given, warn: warn}
	chosen, why, err := choose(s)
	if err != nil {
		return nil, err
	}
	log.Printf("bootstrap", config.LogDebug, "%s, because of %s", chosen.name, why)
	place := chosen.place
	if chosen.name == "slurm" && s.env[slurm.EnvSize] == "1" {
		place = nil // in a step of one task every process is alone
	}
	if err := vacant(s.env, place); err != nil {
		return nil, err
	}
	return chosen.open(s)
}

// nilOnError returns b, or a nil Bootstrap with an error: an interface that holds a nil pointer of
// some type would not be nil.
func nilOnError(b bootstrap.Bootstrap, err error) (bootstrap.Bootstrap, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// openUID joins the job of the unique id that the program passed to shmemx_init_attr.
func openUID(s *surroundings) (bootstrap.Bootstrap, error) {
	survives := s.config.OnFailure == config.ReturnOnFailure
	m, err := uid.Join(uid.Options{
		ID: *s.given.UID, PE: s.given.PE, Size: s.given.NPEs, Timeout: s.config.BootstrapTimeout, Survives: survives,
	})
	if err == nil && survives && s.ifSet(launcher.EnvFD) != "" {
		// shmemrun may have started some of the PEs. It would end these when one of them is lost.
		if err := launcher.ReportOtherJob(s.config.Launcher.FD); err != nil {
			s.warn(err.Error())
		}
	}
	return nilOnError(m, err)
}

// signOfMPI returns the sign for the bootstrap by MPI, or "": the program passed a communicator, or
// MPI is up, shmemrun did not start the process, and MPI has connected the processes of this launch.
// If MPI and the launcher do not know each other, each process may be a world of its own, of one
// process. Such a world is no sign if another launcher's variables are set, except where the
// launcher itself started one process (PMI_SIZE=1).
func signOfMPI(s *surroundings) string {
	if s.given.MPIComm != nil {
		return "an MPI communicator"
	}
	world, up := mpi.World()
	if !up || s.ifSet(launcher.EnvFD) != "" {
		return ""
	}
	_, size, err := world.Rank()
	alone := size == 1 && s.env["PMI_SIZE"] != "1"
	if err != nil || alone && signOfPMI(s)+s.ifSet(pmix.EnvNamespace, pmix.EnvRank)+slurm.Sign(s.env) != "" {
		return ""
	}
	return "MPI, which is up"
}

// openMPI joins the job by the communicator of MPI that the program has passed to init.
func openMPI(s *surroundings) (bootstrap.Bootstrap, error) {
	comm, err := mpi.At(s.given.MPIComm)
	if err != nil {
		return nil, err
	}
	m, err := mpi.Join(mpi.Options{
		Comm: comm, Filter: Filter(s.config),
		Timeout: s.config.BootstrapTimeout, Survives: s.config.OnFailure == config.ReturnOnFailure,
	})
	return nilOnError(m, err)
}

// openFile joins the job by a file that all PEs reach (SHMEM_BOOTSTRAP_FILE).
func openFile(s *surroundings) (bootstrap.Bootstrap, error) {
	f := s.config.BootstrapFile
	m, err := file.Join(file.Options{
		Path: f.Path, PE: f.PE, Size: f.NPEs, Filter: Filter(s.config),
		Timeout: s.config.BootstrapTimeout, Survives: s.config.OnFailure == config.ReturnOnFailure,
	})
	return nilOnError(m, err)
}

// openPlugin joins the job by a library of the user (SHMEM_BOOTSTRAP_PLUGIN).
func openPlugin(s *surroundings) (bootstrap.Bootstrap, error) {
	p, err := plugin.Join(s.config.BootstrapPlugin, s.config.BootstrapTimeout, s.warn)
	return nilOnError(p, err)
}

// Filter returns the filter for the addresses that a unique id carries, from the settings.
func Filter(cfg *config.Config) uid.Filter {
	families := map[config.BootstrapFamily]uid.Family{config.BootstrapIPv4: uid.IPv4, config.BootstrapIPv6: uid.IPv6}
	return uid.Filter{Interfaces: cfg.BootstrapInterface, Family: families[cfg.BootstrapFamily]}
}

// UniqueID makes a unique id for shmemx_init_attr. Its root, at which the PEs meet, runs in this
// process until the job ends, or is the root of the session that the environment names.
func UniqueID(environ []string) (uid.ID, error) {
	cfg, _, err := config.Parse(environ)
	if err != nil {
		return uid.ID{}, err
	}
	if cfg.BootstrapSession.Address != "" {
		place, err := sessionPlace(cfg)
		if err != nil {
			return uid.ID{}, err
		}
		return session.UniqueID(place, cfg.BootstrapTimeout)
	}
	_, id, err := uid.NewRoot(Filter(cfg))
	return id, err
}

// openSingleton makes this process the only PE of its job.
func openSingleton(*surroundings) (bootstrap.Bootstrap, error) { return singleton.New(), nil }

// openLauncher opens the client on a duplicate of the descriptor, because the client closes it at
// finalize and the program may initialise again.
func openLauncher(s *surroundings) (bootstrap.Bootstrap, error) {
	l := s.config.Launcher
	fd, err := unix.FcntlInt(uintptr(l.FD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("join job: descriptor %d of shmemrun: %w (start the program with shmemrun, or unset %s)", l.FD, err, launcher.EnvFD)
	}
	unix.CloseOnExec(l.FD)
	client, err := launcher.New(fd, l.PE, l.NPEs, s.config.BootstrapTimeout, s.config.OnFailure == config.ReturnOnFailure, s.warn)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd)) // a nil *Client would not be a nil Bootstrap
	}
	return client, nil
}

// signOfPMI returns the sign for the bootstrap by PMI, or "".
func signOfPMI(s *surroundings) string {
	if sign := s.ifSet(pmi.EnvFD, pmi.EnvRank, pmi.EnvSize); sign != "" {
		return sign
	}
	return s.ifSet(pmi.EnvPort, pmi.EnvID)
}

// openPMI joins the job by the PMI of the launcher.
func openPMI(s *surroundings) (bootstrap.Bootstrap, error) {
	c, err := pmi.New(s.env, s.config.BootstrapTimeout)
	return nilOnError(c, err)
}

// openPMIx joins the job by the PMIx library of the launcher.
func openPMIx(s *surroundings) (bootstrap.Bootstrap, error) {
	c, err := pmix.New(s.config.BootstrapTimeout)
	return nilOnError(c, err)
}

// openSlurm joins the job by the variables of srun.
func openSlurm(s *surroundings) (bootstrap.Bootstrap, error) {
	return slurm.Join(slurm.Options{
		Env: s.env, Folder: s.config.BootstrapDir, Filter: Filter(s.config),
		Timeout: s.config.BootstrapTimeout, Survives: s.config.OnFailure == config.ReturnOnFailure,
	})
}

// Depart reports to the launcher that the process ends in good order, if the launcher needs to know
// and no job is open. It is called at the end of the process.
func Depart() {
	pmix.Depart()
	pmi.Depart()
}
