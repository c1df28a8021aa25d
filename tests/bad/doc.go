// Package bad runs programs that do what cannot be served and reads what the
// library says: one line that names the PE, the call, the cause and the
// remedy, and a status that is not 0.
package bad
