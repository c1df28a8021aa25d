// Package start starts jobs in every way except by shmemrun, whose tests are beside it: programs in
// C, as users write them, under the launcher in question or under none.
package start
