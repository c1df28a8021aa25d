package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"libshmem/runtime/shmerr"
)

// Warning is a remark on a variable of the environment that does not stop the job. A job prints it
// once, on PE 0.
type Warning struct {
	Name string // the variable
	Text string // the whole line
}

// String returns the text of the warning.
func (w Warning) String() string { return w.Text }

// FromProcess parses the environment of this process as Go sees it. It is for commands. In a
// program that may call setenv, only C's environment is up to date, so that goes to Parse.
func FromProcess() (*Config, []Warning, error) { return Parse(os.Environ()) }

// Parse reads the settings from an environment of "NAME=value" entries. If a name occurs twice, the
// first entry counts, as in getenv. An empty value is the same as none.
//
// The Config is complete also when the error is not nil: a setting whose value is not valid has its
// default. The error then joins one *shmerr.Error for each such setting. Warnings are sorted by
// name.
func Parse(environ []string) (*Config, []Warning, error) { return parse(environ, false) }

// ParseNvshmem parses the settings of a program that uses the names of NVSHMEM: variables of
// NVSHMEM have an effect, and unknown ones are reported. Otherwise it is like Parse.
func ParseNvshmem(environ []string) (*Config, []Warning, error) { return parse(environ, true) }

// parse does the work of Parse or, with nvshmem, of ParseNvshmem. An invalid value is an error, and
// the setting has its default, so that all errors are reported at once.
func parse(environ []string, nvshmem bool) (*Config, []Warning, error) {
	env := make(map[string]string)
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, oldPrefix) && !strings.HasPrefix(strings.TrimPrefix(name, "NV"), Prefix) {
			continue // its name begins with none of SMA_, SHMEM_ and NVSHMEM_
		}
		if _, seen := env[name]; !seen {
			env[name] = value
		}
	}

	c := new(Config)
	var warnings []Warning
	var errs []error
	var theirs map[string][]nvshmemSetting
	if nvshmem {
		theirs, warnings = nvshmemSettings(env)
	}
	for i := range Table {
		s := &Table[i]
		v, w := s.choose(env, theirs[s.Name])
		warnings = append(warnings, w...)
		p, err := s.parse(v.Text)
		if err != nil {
			errs = append(errs, &shmerr.Error{
				Op:     "read setting",
				Object: fmt.Sprintf("%s=%q", v.From, v.Text),
				Cause:  shmerr.Causef(shmerr.ErrSetting, "%w", err),
				Remedy: s.remedy(),
			})
			if p, err = s.parse(s.Default); err != nil {
				panic("config: the default of " + s.Name + " is not valid: " + err.Error())
			}
			v = Value{Setting: s, Text: s.Default}
		}
		s.set(c, p)
		if s.Secret && v.From != "" {
			v.Text = notShown
		}
		c.values = append(c.values, v)
	}
	if n, err := parseGrowth(env[maxMemory]); nvshmem && err == nil {
		c.growTo = n
	}
	if c.Debug && !c.isSet("SHMEM_LOG_LEVEL") {
		c.LogLevel = LogDebug
	}
	warnings = append(warnings, warnUnknown(env)...)
	slices.SortFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Name, b.Name) })
	return c, warnings, errors.Join(errs...)
}

// Reserve raises the size of the symmetric heap to that up to which a heap of NVSHMEM grows:
// NVSHMEM_MAX_MEMORY_PER_GPU, or bytes if that is not set. NVSHMEM_SYMMETRIC_SIZE is only the size
// at the start, and the rest costs nothing until it is used. SHMEM_SYMMETRIC_SIZE is the size
// itself: if it is set, Reserve changes nothing.
func (c *Config) Reserve(bytes uint64) {
	const name = "SHMEM_SYMMETRIC_SIZE"
	if !c.isSet(name) || c.From(name) == "NV"+name {
		c.SymmetricSize = max(c.SymmetricSize, cmp.Or(c.growTo, bytes))
	}
}

// From returns the variable from which a setting has its value; "" if it has its default.
func (c *Config) From(name string) string {
	for _, v := range c.values {
		if v.Name == name {
			return v.From
		}
	}
	return ""
}

// isSet reports whether a variable sets the setting with this name.
func (c *Config) isSet(name string) bool {
	return c.From(name) != ""
}

// choose returns a setting's value from env: that of its own name, otherwise of the first alias
// that is set, otherwise of theirs, variables of NVSHMEM. It warns of each further variable with
// another value.
func (s *Setting) choose(env map[string]string, theirs []nvshmemSetting) (Value, []Warning) {
	v := Value{Setting: s, Text: s.Default}
	var warnings []Warning
	// offer uses the variable `name` if no earlier one is set. text is its value, and here the
	// value of this setting that means the same.
	offer := func(name, text, here string) {
		switch {
		case here == "":
		case v.From == "":
			v.Text, v.From = here, name
		case here != v.Text:
			warnings = append(warnings, Warning{name, fmt.Sprintf(
				"read setting %s=%q: ignored, %s=%q means the same and comes first (unset one of them)",
				name, text, v.From, v.Text)})
		}
	}
	for _, name := range append([]string{s.Name}, s.Aliases...) {
		text := env[name]
		if words := s.Foreign[name]; words != nil && text != "" {
			here, err := s.translate(text, words)
			if err != nil { // only a warning: the value may be meant for the other library
				warnings = append(warnings, Warning{name, fmt.Sprintf("read setting %s=%q: ignored, %v (set %s)", name, text, err, s.Name)})
			}
			text = here
		}
		offer(name, text, text)
	}
	for _, t := range theirs {
		offer(t.Name, t.text, t.here)
	}
	return v, warnings
}

// translate replaces another library's words in the value of an alias by the words of this setting
// that mean the same (words). It returns "" with an error.
func (s *Setting) translate(text string, words map[string]string) (string, error) {
	list, except := text, ""
	if s.Except && strings.HasPrefix(text, "^") {
		list, except = text[1:], "^"
	}
	var here []string
	for word := range strings.SplitSeq(list, ",") {
		counterpart, ok := words[strings.ToLower(strings.TrimSpace(word))]
		if !ok {
			return "", fmt.Errorf("there is no %q", word)
		}
		if counterpart != "" { // "": this library has none
			here = append(here, counterpart)
		}
	}
	return except + strings.Join(here, ","), nil
}

// parse reads a value by the setting's Kind, and checks its range.
func (s *Setting) parse(text string) (p parsed, err error) {
	p.text = text
	switch s.Kind {
	case Flag:
		p.on = !slices.Contains([]string{"", "0", "no", "off", "false"}, strings.ToLower(text))
	case Size:
		if p.bytes, err = ParseSize(text); err == nil && (float64(p.bytes) < s.Min || float64(p.bytes) > s.Max) {
			err = fmt.Errorf("%d bytes are outside the range", p.bytes)
		}
	case Seconds:
		var f float64
		if f, err = parseDecimal(strings.TrimSuffix(text, "s")); err == nil {
			err = s.inRange(f)
		}
		p.span = time.Duration(f * float64(time.Second))
	case Integer:
		if p.num, err = strconv.Atoi(text); err != nil {
			err = errors.New("it is not an integer")
		} else if err = s.inRange(float64(p.num)); err == nil && s.PowerOf2 && p.num&(p.num-1) != 0 {
			err = errors.New("it is not a power of two")
		}
	case Choice:
		if p.index = slices.Index(s.Choices, strings.ToLower(text)); p.index < 0 {
			err = errors.New("there is no such choice")
		}
	case List:
		text, except := strings.CutPrefix(text, "^")
		if except && !s.Except {
			text = p.text // ^ is a part of the first word
		}
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			if s.Choices != nil {
				if word = strings.ToLower(word); !slices.Contains(s.Choices, word) {
					return p, fmt.Errorf("there is no %q", word)
				}
			}
			p.words = append(p.words, word)
		}
		if except && s.Except {
			excluded := p.words
			p.words = slices.DeleteFunc(slices.Clone(s.Choices), func(c string) bool {
				return c == everything || slices.Contains(excluded, c) || slices.Contains(excluded, everything)
			})
			if len(p.words) == 0 {
				return p, errors.New("nothing is left")
			}
		}
	}
	return p, err
}

// notShown is printed in place of a secret.
const notShown = "(not shown)"

// everything is the word of a List for all of its Choices.
const everything = "all"

// inRange returns an error for a number outside of Min and Max.
func (s *Setting) inRange(f float64) error {
	if f < s.Min || f > s.Max {
		return errors.New("it is outside the range")
	}
	return nil
}

// Range describes the values that the setting allows.
func (s *Setting) Range() string {
	switch s.Kind {
	case Flag:
		return "any value is on; 0, no, off and false are off"
	case Size:
		return "bytes, or a decimal number followed by k, m, g or t, from " + FormatSize(uint64(s.Min)) + " to " + FormatSize(uint64(s.Max))
	case Seconds:
		return "seconds from " + number(s.Min) + " to " + number(s.Max) + ", decimals allowed"
	case Integer:
		if s.PowerOf2 {
			return "a power of two from " + number(s.Min) + " to " + number(s.Max)
		}
		return "an integer from " + number(s.Min) + " to " + number(s.Max)
	case Choice:
		return "one of " + strings.Join(s.Choices, ", ")
	case List:
		if s.Choices != nil {
			text := "words separated by commas: " + strings.Join(s.Choices, ", ")
			if s.Except {
				text += "; with ^ in front of the list, all but these"
			}
			return text
		}
		return "names separated by commas"
	default:
		return "text"
	}
}

// number returns a number as a text without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// remedy returns the remedy in the error of a value that is not valid.
func (s *Setting) remedy() string {
	if s.Default == "" {
		return "use " + s.Range() + ", or unset it"
	}
	return "use " + s.Range() + ", or unset it for " + s.Default
}

// Lookup finds a setting by its name or an alias, or returns nil.
func Lookup(name string) *Setting {
	for i := range Table {
		if Table[i].Name == name || slices.Contains(Table[i].Aliases, name) {
			return &Table[i]
		}
	}
	return nil
}
