// Package queue is the proxy's side of the rings through which GPU and host threads submit
// operations. It owns the slots, the progress words and the replies: it finds pushed operations,
// decodes them, and reports to producers which slots are free and which operations are complete. It
// does not know what an operation means, nor any fabric.
//
// # Threads
//
// A Ring has one consumer at a time. Producers are any number of threads, of a GPU or of this
// process, that know nothing of this package: they run device/shmem/ring.h. The two sides share
// only memory, whose layout is in abi/table.
//
// # Order
//
// Each word of a slot has a lap bit, which changes from one round through the ring to the next. A
// word is valid when its lap is that of the present round, so a slot is read word by word, each
// with acquire order. The producer's stores before the slot are visible once both words are valid.
// The tail is published with release order after the slots below it were read. A reply's turn, and
// a ring's done, are published with release order after the data that they announce.
package queue
