//go:build !amd64 || race

package queue

import "sync/atomic"

// storeRelease64 is a release store by package atomic: for processors other than amd64, whose plain
// stores are no release stores, and for the race detector.
func storeRelease64(word *uint64, v uint64) { atomic.StoreUint64(word, v) }

// storeRelease32 does for 32 bits what storeRelease64 does for 64.
func storeRelease32(word *uint32, v uint32) { atomic.StoreUint32(word, v) }
