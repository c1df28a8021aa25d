// Package stats names the counters of PEs for people and programs, collects their values, and
// prints tables of them. It owns the list of counters, to which new ones are only appended, and the
// text of the tables. The values come from status pages; the package counts nothing itself and
// communicates with no PE.
package stats
