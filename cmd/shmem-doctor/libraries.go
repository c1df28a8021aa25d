package main

import (
	"os"
	"strings"

	"libshmem/runtime/config"
	"libshmem/runtime/doctor"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/topo/hwloc"
)

// readSettings reads the settings of the environment, and reports values that are not valid.
func readSettings(environ []string) (*config.Config, []doctor.Finding) {
	const subject = "settings"
	cfg, warnings, err := config.Parse(environ)
	var findings []doctor.Finding
	for _, w := range warnings {
		findings = append(findings, doctor.Bad(subject, "correct or unset it", "%v", w))
	}
	if err != nil {
		// The text of err already has a remedy.
		findings = append(findings, doctor.OfError(doctor.Wrong, subject, "see docs/reference/environment.md", err))
	}
	if len(findings) == 0 {
		findings = append(findings, doctor.Well(subject, "%d set", countSet(cfg)))
	}
	return cfg, findings
}

// countSet returns how many settings the user has set in the environment; those that launchers set
// do not count.
func countSet(cfg *config.Config) int {
	n := 0
	for _, v := range cfg.Values() {
		if v.From != "" && v.Category != config.Launcher {
			n++
		}
	}
	return n
}

// checkLibraries reports the files of this installation, the libraries that it loads, NCCL's use of
// it, and the registration cache. launched: this process is a PE of a job.
func checkLibraries(cfg *config.Config, launched bool, environ []string) []doctor.Finding {
	executable, err := os.Executable()
	if err != nil {
		return []doctor.Finding{doctor.Bad("libshmem.so", "mount proc at /proc", "where this command is cannot be found out: %v", err)}
	}
	findings := doctor.Installed(executable, launched, variable(environ, "LD_LIBRARY_PATH"))
	findings = append(findings, doctor.NCCL(executable, func(name string) string { return variable(environ, name) })...)
	if m, err := hwloc.Read(); err != nil {
		findings = append(findings, doctor.Lack("hwloc", "apt install libhwloc15, for machines with several NICs or GPUs", "%v: /sys is read instead", err))
	} else {
		findings = append(findings, doctor.Well("hwloc", "%s", m.Source))
	}
	return append(findings, checkRegistrationCache(cfg))
}

// checkRegistrationCache reports whether the library can cache the registrations of buffers outside
// the heap: for that the kernel has to report when their memory is unmapped.
func checkRegistrationCache(cfg *config.Config) doctor.Finding {
	const subject = "registration cache"
	if cfg.RegistrationCache == 0 {
		return doctor.Well(subject, "off, by SHMEM_REGISTRATION_CACHE=0")
	}
	w, err := memmonitor.Open()
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return doctor.OfError(doctor.Lacks, subject, "sysctl vm.unprivileged_userfaultfd=1, and a container that does not refuse userfaultfd", err)
	}
	return doctor.Well(subject, "the kernel reports unmapped memory")
}

// variable returns the value of a variable of the environment; empty if it is not set.
func variable(environ []string, name string) (value string) {
	for _, entry := range environ {
		if text, found := strings.CutPrefix(entry, name+"="); found {
			value = text
		}
	}
	return value
}
