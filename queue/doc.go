// Package queue is the proxy's end of the rings by which GPU and host threads submit operations.
// It owns the slots, the lines and the answers: it finds pushed operations, decodes them, and
// reports to producers which slots are free and which operations are done. It does not know what an
// operation means, nor any fabric.
//
// # Threads
//
// A Ring has one consumer at a time. Producers are any number of threads, of a GPU or of this
// process, that see nothing of this package: they run device/shmem/ring.h. The two meet in memory
// alone, laid out by abi/table.
//
// # Order
//
// A word of a slot is valid when its lap is that of the round, so a slot is read word by word, each
// with acquire. The producer's stores before the slot are visible once both words are valid. The
// tail is published with release after the slots below it were read. An answer's turn, and a ring's
// done, are published with release after the data that they announce.
package queue
