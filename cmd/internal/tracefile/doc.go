// Package tracefile reads the traces of a job: the files of SHMEM_TRACE, in which each PE has its
// proxies, rings and NICs, and those of libshmem_preload.so, in which each PE has the calls of its
// program. Both are arrays of events in Chrome's trace event format.
//
// A Reader reads one file from front to back, with memory for one event at a time, whatever the
// size of the file. A program that was killed leaves a file that ends in the middle: the reader
// returns the events before the end, and then where the file was cut. A file that is not a trace is
// refused, with its name and the line. Scan reads all files of a job once and finds the PEs, clocks
// and losses in them; Trace.Merge then reads all of them at once, in order of time.
//
// The times of a Reader are those of the file. Those of Merge are on the clock of PE 0: each PE's
// times are changed by the offsets that were measured when the program began and ended.
//
// It starts no goroutines. What the events mean is for its callers.
package tracefile
