//go:build !race

package queue

// storeRelease64 and storeRelease32 store after everything before them, in the order of this
// processor's plain stores. Package atomic has only stores that also keep later accesses from going
// ahead: an exchange, which waits for all earlier stores.

//go:noescape
func storeRelease64(word *uint64, v uint64)

//go:noescape
func storeRelease32(word *uint32, v uint32)
