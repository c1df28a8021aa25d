package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// theseHosts is the value of --hosts if the user gives none: it means the hosts of the job.
const theseHosts = "those of the job"

// startOn replaces this process by a shmemrun that starts the doctor on machines: `hosts` is a list
// of them, or a file that names them. It returns only if that fails.
func startOn(hosts, ssh string, timeout float64, asJSON bool) error {
	if hosts == "" {
		return errors.New(`read the command line: --hosts "": no machine (say --hosts=a,b, or the name of a file)`)
	}
	option := "--host"
	if info, err := os.Stat(hosts); err == nil && info.Mode().IsRegular() {
		option = "--hostfile"
	} else if strings.Contains(hosts, "/") {
		return fmt.Errorf("read the command line: --hosts %s: there is no such file", hosts)
	}
	return execShmemrun([]string{option, hosts, "--ssh", ssh}, timeout, asJSON)
}

// startInAllocation replaces this process by a shmemrun that starts the doctor on the machines of a
// batch system's allocation. It returns only if that fails.
func startInAllocation(environ []string, timeout float64, asJSON bool) error {
	if !slices.ContainsFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "SLURM_JOB_ID=") || strings.HasPrefix(v, "PBS_NODEFILE=") || strings.HasPrefix(v, "LSB_DJOB_HOSTFILE=")
	}) {
		return errors.New("read the command line: --hosts: this is neither a job of several PEs nor an allocation of a batch system (say --hosts=a,b, or the name of a file with a machine on each line)")
	}
	return execShmemrun(nil, timeout, asJSON)
}

// execShmemrun replaces this process by the shmemrun of the same folder, which starts the doctor as
// a job. It returns only if that fails.
func execShmemrun(options []string, timeout float64, asJSON bool) error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return fmt.Errorf("find shmemrun: %w (start the doctor by its path)", err)
	}
	shmemrun := filepath.Join(filepath.Dir(self), "shmemrun")
	argv := append([]string{"shmemrun"}, options...)
	argv = append(argv, "--", self, "--hosts", fmt.Sprintf("--patience=%v", timeout))
	if asJSON {
		argv = append(argv, "--json")
	}
	return fmt.Errorf("start %s: %w (install the commands together)", shmemrun, syscall.Exec(shmemrun, argv, os.Environ()))
}
