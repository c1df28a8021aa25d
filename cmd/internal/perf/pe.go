package perf

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"libshmem/cmd/internal/facts"
	"libshmem/cmd/internal/figure"
)

// launcherVariables are environment variables of launchers that show that a process is a PE of a
// job. Slurm's need more checks, because the script of sbatch and the shell of salloc have some of
// them, too.
var launcherVariables = []string{"SHMEM_LAUNCHER_FD", "SHMEM_BOOTSTRAP_FILE", "SHMEM_BOOTSTRAP_PLUGIN", "PMIX_RANK", "PMI_RANK"}

// firstNoStep is the first of Slurm's numbers that are not those of a step of srun, but of a batch
// script or a shell of salloc.
const firstNoStep = 0xfffffff0

// inJob reports whether a launcher has started this process as one of several PEs, by the variables
// that launchers set.
func inJob(environ []string) bool {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	step, err := strconv.ParseUint(env["SLURM_STEP_ID"], 10, 64)
	task := err == nil && step < firstNoStep && env["SLURM_PROCID"] != "" && env["SLURM_NTASKS"] != ""
	return task || slices.ContainsFunc(launcherVariables, func(name string) bool { return env[name] != "" })
}

// measuringProgram returns the file of the program that measures, and the folder of the commands.
func measuringProgram() (file, bin string, err error) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return "", "", fmt.Errorf("find the measuring program: %w (start shmem-perf by its path)", err)
	}
	bin = filepath.Dir(exe)
	file = installedPath(bin, "libexec", "shmem", "perf")
	if _, err := os.Stat(file); err != nil {
		return "", "", fmt.Errorf("find the measuring program: %w (install shmem-perf again, or run make build)", errors.Unwrap(err))
	}
	return file, bin, nil
}

// installedPath returns the path of a file of the installation whose commands are in bin.
func installedPath(bin string, parts ...string) string {
	return filepath.Join(append([]string{filepath.Dir(bin)}, parts...)...)
}

// programArgs returns the settings as arguments of the measuring program. The last one, the root of
// the facts, is for becomePE, which reads the facts.
func (s *settings) programArgs() []string {
	var sizes []string
	for _, n := range s.sizes {
		sizes = append(sizes, strconv.FormatInt(n, 10))
	}
	out := []string{
		"tests=" + strings.Join(s.tests, ","), "sizes=" + strings.Join(sizes, ","), fmt.Sprintf("budget=%g", s.millis),
		fmt.Sprintf("batches=%d", s.batches), fmt.Sprintf("iterations=%d", s.iterations), fmt.Sprintf("warmup=%d", s.warmup),
		fmt.Sprintf("window=%d", s.window),
	}
	if s.spoil != "" {
		out = append(out, "spoil="+s.spoil)
	}
	for _, word := range figure.Beside(s.beside, s.pingpongProvider()) {
		out = append(out, "beside="+word)
	}
	return append(out, "root="+s.root)
}

// joinJob makes this process a PE of the job in which a launcher has started it, and returns only
// if that fails. reader is the command line of the user, for the reader that PE 0 starts.
func (s *settings) joinJob(environ, reader []string) error {
	_, bin, err := measuringProgram()
	if err != nil {
		return err
	}
	runs, err := s.argsOfRuns(bin)
	if err != nil {
		return err
	}
	if len(runs) > 1 {
		return errors.New("measure in this job: host and GPUs need different programs (start the job once with --scope host, and once with --scope gpu)")
	}
	return becomePE(runs[0], environ, reader)
}

// becomePE replaces this process by the measuring program, which gets words as its arguments and
// the facts of this machine as another. Two of the words are for becomePE: root=, the folder below
// which to read the facts, and program=, another file than that of the installed program. becomePE
// returns only if it fails. reader is the command line of the user, for the reader that PE 0
// starts, or nil if the driver reads the output.
func becomePE(words, environ, reader []string) error {
	file, bin, err := measuringProgram()
	if err != nil {
		return err
	}
	root := ""
	args := []string{file}
	for _, w := range words {
		if dir, ok := strings.CutPrefix(w, "root="); ok {
			root = dir
		} else if program, ok := strings.CutPrefix(w, "program="); ok {
			file, args[0] = program, program
		} else {
			args = append(args, w)
		}
	}
	host, err := json.Marshal(facts.Read(root))
	if err != nil {
		return fmt.Errorf("write the facts of this machine: %w", err)
	}
	args = append(args, "facts="+string(host), "info="+filepath.Join(bin, "shmem-info"))
	if reader != nil {
		args = append(args, "--", filepath.Join(bin, "shmem-perf"), asReader)
		args = append(args, reader...)
	}
	err = syscall.Exec(file, args, environ)
	return fmt.Errorf("start %s: %w (install shmem-perf anew; a program for GPUs is built by shmem-perf --scope on one machine, and must be on each)", file, err)
}
