// Package layout is the state of an engine that C and Go work on under one lock: the header of an
// active message, what is known of each PE, what is counted, and the entries of the flight
// recorder. The types come from abi/table; beside them stand the rules that look at one of them
// alone. It knows no engine, no provider and no thread.
package layout
