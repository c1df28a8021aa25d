// Package start starts jobs in every way except with shmemrun, whose tests are beside it: programs
// in C, as users write them, under another launcher or under none.
package start
