package efa

// known are the needs that are not met yet, each with the reason for which it fails. A need that
// fails for another reason, or no longer fails, makes TestNeeds fail: the commit of a fix removes
// lines from this list, and changes nothing else in it.
var known = map[string]string{}
