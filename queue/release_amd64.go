//go:build !race

package queue

// storeRelease64 and storeRelease32 are release stores: a thread that sees the new value also sees
// all earlier stores of this one. On amd64 a plain store is enough for that. A store of package
// atomic is an exchange, which also orders later loads, and so waits for all earlier stores.

//go:noescape
func storeRelease64(word *uint64, v uint64)

//go:noescape
func storeRelease32(word *uint32, v uint32)
