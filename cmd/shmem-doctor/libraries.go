package main

import (
	"os"
	"strings"

	"libshmem/runtime/config"
	"libshmem/runtime/doctor"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/topo/hwloc"
)

// settings reads the settings, and reports their errors.
func settings(environ []string) (*config.Config, []doctor.Finding) {
	const subject = "settings"
	cfg, warnings, err := config.Parse(environ)
	var findings []doctor.Finding
	for _, w := range warnings {
		findings = append(findings, doctor.Bad(subject, "correct or unset it", "%v", w))
	}
	if err != nil {
		// The text of err already has a remedy.
		findings = append(findings, doctor.Failed(doctor.Wrong, subject, "see docs/reference/environment.md", err))
	}
	if len(findings) == 0 {
		findings = append(findings, doctor.Well(subject, "%d set", set(cfg)))
	}
	return cfg, findings
}

// set returns how many settings the environment has.
func set(cfg *config.Config) int {
	n := 0
	for _, v := range cfg.Values() {
		if v.From != "" && v.Category != config.Launcher {
			n++
		}
	}
	return n
}

// libraries reports the project's own libraries, and the libraries that they load.
func libraries(cfg *config.Config, launched bool, environ []string) []doctor.Finding {
	executable, err := os.Executable()
	if err != nil {
		return []doctor.Finding{doctor.Bad("libshmem.so", "mount proc at /proc", "where this command is cannot be found out: %v", err)}
	}
	libraryPath := ""
	for _, entry := range environ {
		if text, is := strings.CutPrefix(entry, "LD_LIBRARY_PATH="); is {
			libraryPath = text
		}
	}
	findings := doctor.Installed(executable, launched, libraryPath)
	if m, err := hwloc.Read(); err != nil {
		findings = append(findings, doctor.Lack("hwloc", "apt install libhwloc15, for machines with several NICs or GPUs", "%v: /sys is read in its place", err))
	} else {
		findings = append(findings, doctor.Well("hwloc", "%s", m.Source))
	}
	return append(findings, registrations(cfg))
}

// registrations reports whether buffers outside the heap stay registered.
func registrations(cfg *config.Config) doctor.Finding {
	const subject = "registration cache"
	if cfg.RegistrationCache == 0 {
		return doctor.Well(subject, "off, by SHMEM_REGISTRATION_CACHE=0")
	}
	w, err := memmonitor.Open()
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return doctor.Failed(doctor.Lacks, subject, "sysctl vm.unprivileged_userfaultfd=1, and a container that does not refuse userfaultfd", err)
	}
	return doctor.Well(subject, "the kernel reports memory that goes")
}
