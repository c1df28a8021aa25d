// Package bad runs programs with calls that cannot be served and reads the library's report: one
// line that names the PE, the call, the cause and the remedy, and a status that is not 0.
package bad
