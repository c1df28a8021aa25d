// Package statuspage shows the state of a running PE to other processes of its user: pages of
// memory that it writes anyway, in files without a name that /proc leads to. The reader needs no
// answer of the PE, so a PE that hangs or is stopped is seen as well, and nothing is left when it
// is killed.
//
// It owns the files, the head of each page, how they are found again and the contents of the page
// of a PE. The contents of an endpoint's page are in runtime/proxy/report_page_unsafe.go.
//
// # Threads and order
//
// A page has its writers' rules. Readers are other processes and may see the words of a page at
// different moments, each word whole. A Wait is read as one: its writer stores Since last, and
// clears it first.
package statuspage
