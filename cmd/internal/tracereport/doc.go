// Package tracereport adds up the calls of a trace and reports what took the time: by function, by
// pair of PEs, by size, and which PE the others waited for. A Report prints as text, as JSON, as
// one page of HTML, and as a heat map.
//
// It reads a trace twice, and stores only sums: a histogram for each function, a table for each
// pair of groups of PEs, and the collective calls that some PE has not made yet. It starts no
// goroutines.
package tracereport
