// Package live is what a running PE shows of itself to other processes of its user:
// pages of memory that it writes anyway, in files without a name that /proc leads
// to. Nobody is asked, so a PE that hangs or is stopped is seen as well, and nothing
// is left when it is killed.
//
// It owns the files, the head of each page, how they are found again and what the
// page of a PE holds. What the page of an endpoint holds is its engine's
// (runtime/proxy).
//
// # Threads and order
//
// A page has its writers' rules. Readers are other processes and may see the words
// of a page at different moments, each word whole. A Wait is read as one: its writer
// stores Since last, and clears it first.
package live
