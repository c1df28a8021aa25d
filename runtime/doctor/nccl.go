package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NCCL reports whether NCCL would use this library's plugin for the requests of kernels, from the
// environment variables that NCCL reads. executable is a command of the installation, as for
// Installed, and variable returns a variable's value. Without NCCL_RMA_PLUGIN there is no finding.
func NCCL(executable string, variable func(name string) string) []Finding {
	plugin := filepath.Join(prefixOf(executable), "lib", "libshmem_rma.so")
	const subject, remedy = "NCCL", "NCCL_RMA_PLUGIN=$(shmem-info --nccl-plugin)"
	list := variable("NCCL_RMA_PLUGIN")
	if list == "" {
		return nil
	}
	entries := strings.Split(list, ",")
	at := -1 // the index of this library's plugin
	for i, entry := range entries {
		if sameFile(entry, plugin) {
			at = i
			break
		}
	}
	first := entries[0]
	var all []Finding
	switch {
	case !exists(plugin):
		all = append(all, Bad(subject, "install the complete library: make install, or pip install the wheel", "%s is missing", plugin))
	case first == "none":
		all = append(all, Bad(subject, remedy, "NCCL_RMA_PLUGIN=none: NCCL takes no plugin"))
	case at < 0 && filepath.IsAbs(first) && !exists(first):
		all = append(all, Bad(subject, remedy, "NCCL_RMA_PLUGIN=%s: there is no such file", list))
	case at < 0:
		all = append(all, Lack(subject, remedy, "NCCL_RMA_PLUGIN=%s does not name %s", list, plugin))
	case at > 0:
		all = append(all, Lack(subject, remedy, "NCCL_RMA_PLUGIN=%s: NCCL takes the first plugin that starts, and tries %s before this library's", list, strings.Join(entries[:at], ", ")))
	}
	if variable("NCCL_GIN_ENABLE") == "0" {
		all = append(all, Bad(subject, "unset NCCL_GIN_ENABLE", "NCCL_GIN_ENABLE=0: kernels cannot make requests"))
	}
	// Type 2: a thread of NCCL makes the requests of kernels, through a plugin.
	if t := variable("NCCL_GIN_TYPE"); t != "" && t != "2" {
		all = append(all, Bad(subject, "NCCL_GIN_TYPE=2", "NCCL_GIN_TYPE=%s: NCCL drives the NIC from the GPU, and needs no plugin", t))
	}
	if variable("NCCL_RMA_DISABLE") == "1" {
		all = append(all, Lack(subject, "unset NCCL_RMA_DISABLE", "NCCL_RMA_DISABLE=1: ncclPutSignal fails"))
	}
	if len(all) == 0 {
		text := fmt.Sprintf("versions 2.30.7 and later take %s", plugin)
		if variable("NCCL_GIN_TYPE") == "" {
			text += "; where NCCL could drive the NIC from the GPU it does that, unless NCCL_GIN_TYPE=2"
		}
		all = append(all, Well(subject, "%s", text))
	}
	return all
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
