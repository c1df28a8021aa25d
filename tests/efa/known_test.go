package efa

import "regexp"

// Reasons that several needs fail for.
var (
	gonePair   = `Transport endpoint is not connected \(efa says: Bad queue pair \(QP\) number .*, 9\)`
	aborts     = `stub: R9a: Transport endpoint is not connected \(107\) without an event queue: .*`
	broken     = `PE 2 is told to be lost: PE 0: poll efa: an operation without a token failed: ` + gonePair
	forked     = `stub: R23a: fork after fi_domain, without FI_EFA_FORK_SAFE`
	noHMEM     = `: fi_getinfo with FI_HMEM for provider efa on rdmap0s6-rdm: no data available`
	notSet     = `two PEs have set \[\], want \[.*\]`
	touched    = `the provider has called cudaMalloc`
	ignored    = regexp.QuoteMeta("SHMEM_FABRIC: " + noSetting)
	badAddress = `Invalid argument \(efa says: Remote key \(RKEY\) not registered .*, 7\)`
	noData     = `shmem: PE \d: shmem_putmem_signal_nbi: write to PE \d: cxi: flags not supported, PE \d \(.*\)`
	asked      = `cxi is asked to register a dma-buf, which it reads as an address`
)

// known are the needs that are not met yet, each with the reason for which it fails. A need
// that fails for another one, or no longer, fails TestNeeds: the commit of a cure takes lines
// off this list, and does nothing else to it.
var known = map[string]string{
	"D3: the log names libcudart.so":          `nothing names libcudart\.so` + noHMEM,
	"D3: the log names libcuda.so":            `nothing names libcuda\.so` + noHMEM,
	"D3: shmem-info names libcudart.so":       `nothing names libcudart\.so`,
	"D3: shmem-doctor names libcudart.so":     `nothing names libcudart\.so`,
	"D8: efa of 2.1":                          `fabric efa-direct is opened, want efa`,
	"D8: efa of 2.3":                          `fabric efa-direct is opened, want efa`,
	"D8: efa-direct of 2.6, which comes last": `fabric efa is opened, want efa-direct`,
	"D8: SHMEM_FABRIC=efa":                    ignored,
	"D8: SHMEM_FABRIC=efa-direct":             ignored,
	"D8: SHMEM_FABRIC that is not offered":    ignored,
	"D8: 1.22 with 2.6 on efa":                `the job stands still`,
	"D8: 1.22 with efa-direct of 2.6":         `the job stands still`,
	"D8: the banner names the fabric":         `the banner does not name efa-direct: network efa on rdmap0s6-rdm, .*`,
	"D9: receives, efa-direct":                `64 receives are posted, want 1024 of 8192 that there is room for`,
}
