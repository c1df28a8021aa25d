package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/doctor"
	"libshmem/runtime/job/place"
)

// checkNetwork reports the networks that libfabric offers between hosts, and why NICs of this
// machine are not among them. gpu: GPU memory will be registered later. A process has to set that
// before it first lists providers, because libfabric initialises its support for GPUs then.
func checkNetwork(cfg *config.Config, environ []string, gpu bool) []doctor.Finding {
	const subject = "network"
	lib, err := ofi.Load(cfg.Libfabric)
	if err != nil {
		if cfg.Libfabric != "" {
			return []doctor.Finding{doctor.OfError(doctor.Wrong, "libfabric", "correct or unset SHMEM_LIBFABRIC", err)}
		}
		return []doctor.Finding{doctor.OfError(doctor.Lacks, "libfabric", "several hosts need libfabric 1.11: apt install libfabric1", err)}
	}
	findings := []doctor.Finding{doctor.Well("libfabric", "%s, version %s", lib.File, lib.Version)}
	s, err := place.ReadSettings(cfg)
	if err != nil {
		return append(findings, doctor.OfError(doctor.Wrong, subject, "see docs/guides/topology.md", err))
	}
	hints := s.Hints(cfg)
	hints.GPU = hints.GPU || gpu
	offers, err := ofi.List(cfg.Libfabric, hints)
	switch {
	case err != nil && (hints.Provider != "" || hints.NICs != ""):
		findings = append(findings, doctor.OfError(doctor.Wrong, subject, "shmem-info --fabric lists the providers that answer", err))
	case err != nil:
		findings = append(findings, doctor.OfError(doctor.Lacks, subject, "shmem-info --fabric lists the providers that answer", err))
	default:
		findings = append(findings, chosenNetwork(offers)...)
	}
	machine := doctor.At("")
	findings = append(append(findings, gpuObstacles(offers, lib.Obstacles(environ))...), withoutAddress(offers, rdmaNICs(machine))...)
	silent, err := ofi.ListSilent(cfg.Libfabric)
	if err != nil {
		return findings
	}
	return append(findings, silentProviders(withoutLayered(silent, offers), machine.NICs(), lib.File)...)
}

// chosenNetwork reports which of libfabric's offers a job between hosts would choose, and what may
// be wrong with it.
func chosenNetwork(offers []ofi.Offer) []doctor.Finding {
	const subject = "network"
	var nics []string
	var provider string
	var providers []string
	var fabricText string // names the fabric, which for EFA is one of several
	for _, o := range offers {
		if o.Chosen {
			provider, nics = o.Provider, append(nics, o.NIC)
			if provider == "efa" && o.Fabric != "" {
				fabricText = ", fabric " + o.Fabric
			}
		}
		if !slices.Contains(providers, o.Provider) {
			providers = append(providers, o.Provider)
		}
	}
	text := fmt.Sprintf("%s on %s%s; these answer: %s", provider, strings.Join(nics, ","), fabricText, strings.Join(providers, ", "))
	if slices.Equal(nics, []string{"lo"}) {
		return []doctor.Finding{doctor.Lack(subject, "bring an interface up for jobs of several hosts", "%s: it leads to no other host", text)}
	}
	if harm := fabric.SecurityWarning(provider); harm != "" {
		return []doctor.Finding{doctor.Lack(subject, `SHMEM_PROVIDER="tcp;msg" keeps them out, with a libfabric that has it`, "%s: %s", text, harm)}
	}
	return []doctor.Finding{doctor.Well(subject, "%s", text)}
}

// gpuObstacles reports files that libfabric cannot load and without which NICs cannot access the
// memory of GPUs, if a job would choose a NIC that could access it.
func gpuObstacles(offers []ofi.Offer, obstacles []ofi.Obstacle) []doctor.Finding {
	var findings []doctor.Finding
	if slices.ContainsFunc(offers, func(o ofi.Offer) bool {
		return o.Chosen && slices.Contains([]string{"efa", "cxi", "verbs;ofi_rxm"}, o.Provider)
	}) {
		for _, o := range obstacles {
			findings = append(findings, doctor.Lack("memory of GPUs", o.Remedy, "%s: NICs do not reach heaps of GPUs", o.Text))
		}
	}
	return findings
}

// silentProviders reports providers that make no offer although the machine has NICs of their kind.
// library is the file of libfabric.
func silentProviders(silent []ofi.Silent, nics []string, library string) []doctor.Finding {
	// By provider: how the names of its NICs begin.
	prefixes := map[string]string{"efa": "efa", "verbs": "mlx", "cxi": "cxi", "opx": "hfi1"}
	var findings []doctor.Finding
	for _, s := range silent {
		prefix := prefixes[s.Provider]
		for _, nic := range nics {
			// The driver of EFA names its NICs by their PCI address: rdmap16s27.
			if prefix != "" && (strings.HasPrefix(nic, prefix) || s.Provider == "efa" && strings.HasPrefix(nic, "rdmap")) {
				findings = append(findings, doctor.Bad("provider "+s.Provider,
					"see the device files and memlock above; FI_LOG_LEVEL=warn fi_info -p "+s.Provider+" says more",
					"%s has it, NIC %s is of its kind, but it offers nothing: %s", library, nic, s.Why))
				break
			}
		}
	}
	return findings
}
