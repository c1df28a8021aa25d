// Package failure kills and stops PEs of real jobs and looks at what the others
// do, and plays strangers who want to take part in one. The programs are in C, as
// users write them.
package failure
