package gpustage

import "libshmem/runtime/proxy/backlog"

func (w way) errand() backlog.Call {
	switch w {
	case wayServe:
		return backlog.CallServe
	case wayFrom:
		return backlog.CallGet
	}
	return backlog.CallPut
}

func (p *pull) errand() backlog.Call {
	if p.get != 0 {
		return backlog.CallGet
	}
	return backlog.CallCame
}
