package efa

// known are the needs that are not met yet, each with the reason for which it fails. A need
// that fails for another one, or no longer, fails TestNeeds: the commit of a cure takes lines
// off this list, and does nothing else to it.
var known = map[string]string{}
