// Package options words the errors of the programs' command lines: the option, the value, and the
// expected value.
package options

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// expected has the values that options of each kind accept, unless they accept any text.
var expected = map[string]string{
	"int":     "not a whole number",
	"float64": "not a number",
	"bool":    "neither true nor false",
}

// Explain words an error of FlagSet.Parse. pflag.ErrHelp, which is not a mistake of the user, stays
// unchanged.
func Explain(err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		why := expected[e.GetFlag().Value.Type()]
		if errors.Is(err, strconv.ErrRange) {
			why = "too large"
		}
		return fmt.Errorf("%s %s: %s", dashedName(e.GetFlag()), quotedIfUnclear(e.GetValue()), why)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("option %s needs a value", dashedName(e.GetFlag()))
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if e.GetSpecifiedShortnames() != "" {
			return fmt.Errorf("unknown option -%s", e.GetSpecifiedName())
		}
		return fmt.Errorf("unknown option --%s", e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return fmt.Errorf("unknown option %s", e.GetSpecifiedFlag())
	}
	return err
}

// dashedName returns an option as users write it: by its letter if it has one.
func dashedName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// quotedIfUnclear returns a value, in quotes if it is empty or has spaces or control characters, so
// that the reader sees where it begins and ends.
func quotedIfUnclear(value string) string {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r == ' ' || !strconv.IsPrint(r) }) {
		return strconv.Quote(value)
	}
	return value
}
