// Package statuspage shows the state of a running PE to other processes of its user: the PE keeps
// its counters in pages of memory, in nameless files that other processes find through /proc. The
// reader needs no reply from the PE, so it can read the pages of a PE that hangs or is stopped, and
// nothing is left when the PE is killed.
//
// The package owns the files, the head of each page, how they are found and the contents of the
// page of a PE. The contents of an endpoint's page are in runtime/proxy/report_page_unsafe.go.
//
// # Threads and order
//
// Which threads write to a page, and how, is documented with the contents of that page. Readers are
// other processes and may see the words of a page at different moments, each word whole. Only a
// Wait is read consistently: its writer clears Since first and stores it last.
package statuspage
