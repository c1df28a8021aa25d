package ofi

// #cgo CFLAGS: -I${SRCDIR}/../../abi
// #include "native.h"
import "C"

import (
	"unsafe"

	"libshmem/fabric"
)

// C fills an array of fabric.Completion as an array of struct
// shmemi_completion. An index that is not 0 does not compile: the two differ.
var (
	goEntry fabric.Completion
	cEntry  C.struct_shmemi_completion

	_ = [1]int{}[unsafe.Sizeof(goEntry)-unsafe.Sizeof(cEntry)]
	_ = [1]int{}[unsafe.Offsetof(goEntry.Token)-unsafe.Offsetof(cEntry.token)]
	_ = [1]int{}[unsafe.Offsetof(goEntry.Kind)-unsafe.Offsetof(cEntry.kind)]
	_ = [1]int{}[unsafe.Offsetof(goEntry.Len)-unsafe.Offsetof(cEntry.len)]
	_ = [1]int{}[unsafe.Offsetof(goEntry.Err)-unsafe.Offsetof(cEntry.err)]
	_ = [1]int{}[unsafe.Offsetof(goEntry.Data)-unsafe.Offsetof(cEntry.data)]
	_ = [1]int{}[fabric.KindSend-C.SHMEMI_SEND]
	_ = [1]int{}[fabric.KindRecv-C.SHMEMI_RECV]
	_ = [1]int{}[fabric.KindWrite-C.SHMEMI_WRITE]
	_ = [1]int{}[fabric.KindRead-C.SHMEMI_READ]
	_ = [1]int{}[fabric.KindData-C.SHMEMI_DATA]
	_ = [1]int{}[fabric.KindAtomic-C.SHMEMI_ATOMIC]
	_ = [1]int{}[fabric.KindTrouble-C.SHMEMI_TROUBLE]
)
