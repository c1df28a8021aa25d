package gpustage

import "libshmem/runtime/proxy/backlog"

func (w departureKind) driverCall() backlog.Call {
	switch w {
	case departServe:
		return backlog.CallServe
	case departFrom:
		return backlog.CallGet
	}
	return backlog.CallPut
}
