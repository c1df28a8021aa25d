package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
)

// libfabric says which library a job would load.
func libfabric(cfg *config.Config) string {
	lib, err := ofi.Load(cfg.Libfabric)
	if err != nil {
		return "not found, jobs on one host only: " + err.Error()
	}
	return lib.File + ", version " + lib.Version
}

// network lists the providers that answer, best first.
func network(w io.Writer, cfg *config.Config) error {
	offers, err := ofi.List(cfg.Libfabric, cfg.Provider, strings.Join(cfg.NICs, ","))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(offers) > 0 {
		fmt.Fprintln(t, " \tprovider\tNIC\tnetwork")
	}
	for _, o := range offers {
		mark := " "
		if o.Chosen {
			mark = "*"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", mark, o.Provider, o.NIC, o.Fabric)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err == nil {
		_, err = fmt.Fprintln(w, "\n* is what a job takes between hosts with these settings")
	}
	return err
}
