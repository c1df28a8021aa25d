// Package stats is what PEs count, by the names that people and programs know it
// by, and as the tables that they read. It owns the list of counters, which only
// grows at its end, and the text. What is counted it is given; it counts nothing
// and asks nobody.
package stats
