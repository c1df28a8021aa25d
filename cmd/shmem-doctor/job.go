package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"libshmem/fabric/ofi"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
	"libshmem/runtime/doctor"
	"libshmem/runtime/job/place"
	"libshmem/runtime/topo"
)

// checkJob runs as one PE of a job: it checks the connections between hosts, and PE 0 prints the
// findings of all and returns the status. found are the findings about this PE's host, which every
// PE has made: one PE of each host would be enough, but PEs learn their hosts only here. deep
// (--hosts): also find the causes of faults between every two hosts.
func checkJob(boot bootstrap.Bootstrap, cfg *config.Config, found []doctor.Finding, timeout time.Duration, deep bool, out printer, stderr io.Writer) int {
	id, err := topo.HostID(cfg.HostID)
	if err != nil {
		return fail(stderr, errors.Join(err, boot.Close()))
	}
	mine := doctor.Host{Name: cfg.HostID, ID: id, Findings: found, UsedInterfaces: interfaces(cfg)}
	if mine.Name == "" {
		mine.Name, _ = os.Hostname() // "" after an error: the name is only shown
	}
	hosts, between, err := doctor.Reach(boot, mine, timeout, deep)
	if err != nil {
		return fail(stderr, errors.Join(err, boot.Close()))
	}
	result := statusOK
	if boot.Rank() == 0 {
		all := between
		for _, h := range hosts {
			all = append(all, h.Findings...)
		}
		if out.json {
			fmt.Fprintln(out, doctor.JSON(hosts, between))
		} else {
			fmt.Fprint(out, doctor.Report(hosts, between))
		}
		result = status(all)
	}
	if err := errors.Join(boot.LeaveBarrier(), boot.Close()); err != nil {
		return fail(stderr, err)
	}
	return result
}

// interfaces returns the names of the IP interfaces that a job would use, for the checks between
// hosts.
func interfaces(cfg *config.Config) []string {
	s, err := place.ReadSettings(cfg)
	if err != nil {
		return nil // reported already
	}
	choice, err := ofi.Choose(cfg.Libfabric, s.Hints(cfg))
	if err != nil {
		return nil // reported already
	}
	defer choice.Close()
	var names []string
	for _, n := range choice.Candidates() {
		if n.IP {
			names = append(names, n.Name)
		}
	}
	return names
}
