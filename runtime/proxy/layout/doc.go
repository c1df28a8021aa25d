// Package layout is the state of an engine that C and Go share under one lock: the header of an
// active message, the peers, the counters, and the entries of the flight recorder. The types come
// from abi/table. The package also has the rules that need only one of these types. It knows no
// engine, no provider and no thread.
package layout
