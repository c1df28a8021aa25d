package ofi

/*
#include "load.h"
*/
import "C"

import (
	"errors"
	"io/fs"
	"os"
)

// rdmaFolders are the folders in which the kernel lists NICs for RDMA.
var rdmaFolders = []string{"/sys/class/infiniband", "/dev/infiniband"}

// needsSymbols reports whether the symbol table of the kernel may change what libfabric offers. The
// provider verbs searches it for the functions by which a NIC for RDMA reaches memory of GPUs.
// Without such a NIC the provider offers nothing, whatever the table says. The connection manager of
// RDMA is not a NIC: its file is there once its module is loaded.
func needsSymbols(folders []string) bool {
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		// A folder that cannot be read may list a NIC.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		for _, e := range entries {
			if e.Name() != "rdma_cm" {
				return true
			}
		}
	}
	return false
}

// openedBy returns the address of the function that libfabric calls as fopen; 0: its import is not
// found.
func openedBy() uintptr { return uintptr(C.shmemi_ofi_open_import()) }
