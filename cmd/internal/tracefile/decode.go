package tracefile

import (
	"errors"
	"fmt"
)

// decode reads one event, whose JSON text is value. The fields of a head, the event that describes
// a PE, are stored in the reader.
func (r *Reader) decode(value []byte, e *Event) error {
	*e = Event{Peer: None, Bytes: None, Team: None}
	o := object{b: value}
	var has struct{ ts, dur, pid bool }
	for first := true; ; first = false {
		key, v, err := o.next(first)
		switch {
		case err != nil:
			return err
		case key == nil:
			if o.i != len(o.b) {
				return errJSON
			}
			return r.checkFields(e, has.ts, has.dur, has.pid)
		}
		switch string(unquoted(key)) {
		case "ph":
			var phase string
			if phase, err = r.stringField("ph", v); err == nil && len(phase) != 1 {
				err = fmt.Errorf("its ph is %s, not one letter", quoteStart(v))
			}
			if err == nil {
				e.Phase = phase[0]
			}
		case "name":
			e.Name, err = r.stringField("name", v)
		case "cat":
			e.Category, err = r.stringField("cat", v)
		case "id":
			if e.ID = string(v); v[0] == '"' { // each operation has its own, so it is not kept among the names
				e.ID = string(unquoted(v))
			}
		case "pid":
			n, ok := parseInteger(v)
			if e.PE, has.pid = int(n), true; !ok || n < 0 || n >= maxPEs {
				err = fmt.Errorf("its pid is %s, not the number of a PE", quoteStart(v))
			}
		case "tid":
			var ok bool
			if e.Thread, ok = parseInteger(v); !ok {
				err = fmt.Errorf("its tid is %s, not a number", quoteStart(v))
			}
		case "ts":
			has.ts = true
			e.At, err = parseMicros(v)
		case "dur":
			has.dur = true
			if e.Length, err = parseMicros(v); err == nil && e.Length < 0 {
				err = fmt.Errorf("its dur is %s, less than 0", quoteStart(v))
			}
		case "args":
			err = e.readArgs(v)
		}
		if err != nil {
			return err
		}
	}
}

// stringField returns the value v of the field `key`, which has to be a string.
func (r *Reader) stringField(key string, v []byte) (string, error) {
	if v[0] != '"' {
		return "", fmt.Errorf("its %s is %s, not a text", key, quoteStart(v))
	}
	return r.text(v), nil
}

// readArgs reads the arguments of an event that this package uses. Others, and those whose values
// are of another kind, belong to other writers, and are ignored.
func (e *Event) readArgs(v []byte) error {
	if v[0] != '{' {
		return fmt.Errorf("its args are %s, not an object", quoteStart(v))
	}
	e.Args, e.Peer, e.Bytes, e.Team, e.Stolen = v, None, None, None, 0
	o := object{b: v}
	for first := true; ; first = false {
		key, value, err := o.next(first)
		if err != nil || key == nil {
			return err
		}
		if string(unquoted(key)) == "stolen" {
			if ns, err := parseMicros(value); err == nil {
				e.Stolen = max(0, ns)
			}
			continue
		}
		n, ok := parseInteger(value)
		if !ok || n < 0 {
			continue
		}
		switch string(unquoted(key)) {
		case "pe", "to":
			if n < maxPEs {
				e.Peer = int(n)
			}
		case "bytes":
			e.Bytes = n
		case "team":
			e.Team = n
		}
	}
}

// checkFields returns an error if an event that was read lacks a field that its phase needs, and
// passes a head event to r.head. hasTS, hasDur and hasPID: the event has these fields.
func (r *Reader) checkFields(e *Event, hasTS, hasDur, hasPID bool) error {
	switch e.Phase {
	case 0:
		return errors.New("an event has no ph")
	case 'M':
		if e.Name != HeadName {
			return nil
		}
		return r.head(e, hasPID)
	case 'X', 'i', 'b', 'e':
		switch {
		case !hasTS:
			return fmt.Errorf("an event of ph %c has no ts", e.Phase)
		case !hasPID:
			return fmt.Errorf("an event of ph %c has no pid", e.Phase)
		case e.Phase == 'X' && !hasDur:
			return errors.New("a complete event has no dur")
		}
	}
	return nil
}

// head stores the head of a PE, whose number is in its args. hasPID reports whether the event also
// has a pid, which must be the same number then.
func (r *Reader) head(e *Event, hasPID bool) error {
	if e.Args == nil {
		return errors.New("its head has no args")
	}
	if e.Peer == None {
		return errors.New("its head names no PE")
	}
	if hasPID && e.PE != e.Peer {
		return fmt.Errorf("its head names PE %d in args and PE %d in pid", e.Peer, e.PE)
	}
	e.PE = e.Peer
	h := r.heads[e.PE]
	if h == nil {
		h = &Head{PE: e.PE}
		r.heads[e.PE] = h
	}
	return h.add(e.Args)
}
