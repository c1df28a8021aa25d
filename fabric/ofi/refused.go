package ofi

import "strings"

// refused lists providers that no job gets, each with the reason, which holds for every version of
// libfabric that was tried (1.17, 2.1).
//
// sockets waits for the 24 bytes of a message's header with MSG_PEEK, which takes nothing out of
// the socket. When the receive window closes in the midst of a header, its first bytes keep the
// memory of the whole segment they arrived in, the window stays closed for good, and the rest of
// the header never arrives (testdata/stands.c; decision 0005).
var refused = map[string]string{
	"sockets": "it hangs if a header arrives in two parts; tcp is used instead",
}

// refusal returns the reason why no job gets the provider, or "".
func refusal(provider string) string { return refused[strings.ToLower(provider)] }
