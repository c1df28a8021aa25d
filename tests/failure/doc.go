// Package failure kills and stops PEs of real jobs and checks the other PEs, and simulates
// strangers that try to take part in a job. The programs are in C, as users write them.
package failure
