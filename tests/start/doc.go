// Package start begins jobs in every way that there is but shmemrun, whose tests are
// beside it: programs in C, as users write them, under the launcher in question or
// under none.
package start
