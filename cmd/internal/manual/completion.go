package manual

import (
	"fmt"
	"slices"
	"strings"
)

// Bash returns the script by which bash completes the command's options, their values, and other
// words.
func (p *Page) Bash() string {
	var b strings.Builder
	name := shellFunction(p.Name)
	fmt.Fprintf(&b, "# generated from the help of %s\n\n%s() {\n", p.Name, name)
	b.WriteString(`    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i word
    COMPREPLY=()
    # bash takes --option=value apart at the sign.
    if [ "$cur" = "=" ]; then
        cur=
    elif [ "$prev" = "=" ]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
`)
	if p.Program || len(p.Commands) > 0 {
		fmt.Fprintf(&b, `    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        %s) i=$((i + 1)) ;;
        =) i=$((i + 1)) ;;
        -*) ;;
        *) command=$word && break ;;
        esac
    done
`, bashPattern(withValue(p.Options)))
	}
	if p.Program {
		b.WriteString(`    if [ -n "$command" ] && [ "$prev" != "=" ]; then
        compopt -o bashdefault -o default
        return
    fi
`)
	}
	if len(p.Commands) > 0 {
		b.WriteString("    case $command in\n")
		for i := range p.Commands {
			c := &p.Commands[i]
			fmt.Fprintf(&b, "    %s)\n", c.Name)
			c.bashOptions(&b, "        ", "compopt -o default")
			b.WriteString("        ;;\n")
		}
		b.WriteString("    *)\n")
		var names []string
		for _, c := range p.Commands {
			names = append(names, c.Name)
		}
		p.bashOptions(&b, "        ", `COMPREPLY=($(compgen -W "`+strings.Join(names, " ")+`" -- "$cur"))`)
		b.WriteString("        ;;\n    esac\n")
	} else {
		rest := "compopt -o default"
		if p.Program {
			rest = `COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))`
		}
		p.bashOptions(&b, "    ", rest)
	}
	b.WriteString("}\n")
	fmt.Fprintf(&b, "complete -F %s %s\n", name, strings.Join(append([]string{p.Name}, p.Aliases...), " "))
	return b.String()
}

// bashOptions writes the shell code that completes the value of an option or an option; for other
// words it writes rest.
func (p *Page) bashOptions(b *strings.Builder, indent, rest string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, indent+format+"\n", args...) }
	line("case $prev in")
	for i := range p.Options {
		o := &p.Options[i]
		pattern := bashPattern(spellings(o))
		switch {
		case o.Value == "":
		case len(o.Choices) > 0 && o.Optional != "":
			// A value is completed only after =. After a space the word is the next argument.
			line("%s) [ \"${COMP_WORDS[COMP_CWORD - 1]}\" != = ] && [ \"${COMP_WORDS[COMP_CWORD]}\" != = ] || { COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")) && return; } ;;",
				pattern, strings.Join(o.Choices, " "))
		case len(o.Choices) > 0:
			line("%s) COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")) && return ;;", pattern, strings.Join(o.Choices, " "))
		case o.Files:
			line("%s) compopt -o default && return ;;", pattern)
		case o.Optional == "":
			line("%s) return ;;", pattern)
		}
	}
	line("esac")
	var words []string
	for i := range p.Options {
		words = append(words, spellings(&p.Options[i])...)
	}
	line("case $cur in")
	line("-*) COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")) ;;", strings.Join(words, " "))
	line("*) %s ;;", rest)
	line("esac")
}

// spellings returns the ways to write an option: --name, and -n if it has a letter.
func spellings(o *Option) []string {
	out := []string{o.dashed()}
	if o.Short != "" {
		out = append(out, "-"+o.Short)
	}
	return out
}

// withValue returns the spellings of the options whose value is the next word of the command line.
func withValue(options []Option) []string {
	var out []string
	for i := range options {
		if o := &options[i]; o.Value != "" && o.Optional == "" {
			out = append(out, spellings(o)...)
		}
	}
	return out
}

// bashPattern returns a pattern of bash's case that matches each of the words, and no other word.
func bashPattern(words []string) string {
	if len(words) == 0 {
		return "''"
	}
	return strings.Join(words, " | ")
}

// shellFunction returns the name of the shell function that completes a command: a name may have no
// dash there.
func shellFunction(name string) string {
	return "_" + strings.NewReplacer("-", "_", "+", "x").Replace(name)
}

// Zsh returns the script by which zsh completes the command's options, their values, and other
// words.
func (p *Page) Zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# generated from the help of %s\n\n", strings.Join(append([]string{p.Name}, p.Aliases...), " "), p.Name)
	if len(p.Commands) == 0 {
		last := "'*:file:_files'"
		if p.Program {
			last = "'*::program:_normal'"
		}
		fmt.Fprintf(&b, "_arguments -s -S%s\n", p.zshOptions(last))
		return b.String()
	}
	fmt.Fprintf(&b, "local state line\n_arguments -S -C%s\n", p.zshOptions("'1:command:->command' '*::argument:->argument'"))
	b.WriteString("case $state in\ncommand)\n    local -a commands=(")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "\n        %s", shellQuoted(strings.ReplaceAll(c.Name, ":", `\:`)+":"+c.Summary))
	}
	b.WriteString("\n    )\n    _describe command commands\n    ;;\nargument)\n    case $line[1] in\n")
	for i := range p.Commands {
		c := &p.Commands[i]
		fmt.Fprintf(&b, "    %s) _arguments -s -S%s ;;\n", c.Name, c.zshOptions("'*:file:_files'"))
	}
	b.WriteString("    esac\n    ;;\nesac\n")
	return b.String()
}

// zshOptions returns the arguments of zsh's _arguments, one on each line: the options of the page,
// and then `last`, which describes the other arguments.
func (p *Page) zshOptions(last string) string {
	var lines []string
	for i := range p.Options {
		o := &p.Options[i]
		text := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(o.Text)
		for _, s := range spellings(o) {
			sign := ""
			value := ""
			if o.Value != "" {
				value = ":" + strings.NewReplacer(":", `\:`, "[", `\[`, "]", `\]`).Replace(o.Value) + ":"
				switch {
				case len(o.Choices) > 0:
					value += "(" + strings.Join(o.Choices, " ") + ")"
				case o.Files:
					value += "_files"
				}
				switch {
				case o.Optional != "": // the value, if there is one, follows = in the same word
					sign = "=-"
					value = ":" + value
				case strings.HasPrefix(s, "--"): // it follows = or is the next word
					sign = "="
				}
			}
			lines = append(lines, shellQuoted(s+sign+"["+text+"]"+value))
		}
	}
	lines = slices.Concat(lines, []string{last})
	return " \\\n    " + strings.Join(lines, " \\\n    ")
}

// shellQuoted returns a text in single quotes, as one word of a shell.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
