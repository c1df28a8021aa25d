// Package stats has the counters of PEs, with their names for people and programs, and the tables
// of them. It owns the list of counters, which only grows at its end, and the text. Its callers
// bring the values; it counts nothing and communicates with no PE.
package stats
