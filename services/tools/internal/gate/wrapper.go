package gate

import (
	"cmp"
	"slices"
	"strings"
)

// wrapper says where the command stands among the words of one that runs another.
type wrapper struct {
	values string   // letters of options that take a value
	long   []string // long options that take their value as a word of its own
	skip   int      // words before the command, such as the duration of timeout
	assign bool     // NAME=value may stand before the command
	more   bool     // it puts words of its own behind the command
}

// wrappers are commands that run the rest of their words. An option that is not known to take a value takes none.
var wrappers = map[string]wrapper{
	"env": {values: "uCSa", long: []string{"--unset", "--chdir", "--split-string", "--argv0"}, assign: true},
	"sudo": {
		values: "ugpCrtTUDRh", assign: true, long: []string{
			"--user", "--group", "--prompt", "--chdir", "--host", "--role", "--type", "--chroot", "--other-user", "--close-from", "--command-timeout",
		},
	},
	"doas":       {values: "uC"},
	"nohup":      {},
	"setsid":     {},
	"command":    {},
	"builtin":    {},
	"exec":       {values: "a"},
	"busybox":    {},
	"toybox":     {},
	"time":       {values: "fo", long: []string{"--format", "--output"}},
	"timeout":    {values: "ks", long: []string{"--kill-after", "--signal"}, skip: 1},
	"nice":       {values: "n", long: []string{"--adjustment"}},
	"ionice":     {values: "cn", long: []string{"--class", "--classdata"}},
	"chrt":       {values: "TPD", skip: 1},
	"taskset":    {skip: 1},
	"stdbuf":     {values: "ioe", long: []string{"--input", "--output", "--error"}},
	"caffeinate": {values: "tw"},
	"xargs": {
		values: "aEILnPsd", more: true,
		long: []string{"--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars", "--replace", "--process-slot-var"},
	},
}

// loose are commands that run others in ways that are not read here: each of their words may begin one.
var loose = words(`parallel watch ssh su runuser script flock chroot unshare nsenter strace ltrace gdb docker podman kubectl nerdctl lxc
	fakeroot proot bwrap firejail systemd-run pkexec dbus-run-session xvfb-run expect screen tmux at batch entr fd fdfind rlwrap unbuffer
	make npx bunx pipx uvx npm pnpm yarn watchexec nix-shell direnv`)

var shells = words(`sh bash dash ash zsh ksh mksh rbash fish yash posh`)

// interpreters have options that are programs.
var interpreters = map[string]string{
	"python": "-c", "pypy": "-c", "perl": "-e -E", "ruby": "-e", "node": "-e --eval -p --print", "nodejs": "-e --eval -p --print", "bun": "-e --eval -p",
	"deno": "eval", "php": "-r", "lua": "-e", "luajit": "-e", "Rscript": "-e", "R": "-e", "osascript": "-e", "pwsh": "-c -Command", "powershell": "-c -Command",
	"tclsh": "", "guile": "-c", "awk": "", "gawk": "", "mawk": "", "nawk": "",
}

func words(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// simple adds one simple command and those that it runs.
func (c *command) simple(w []string, depth int) {
	c.add(w, false)
	name := w[0]
	switch {
	case depth > maxWrapped:
		c.doubt("it runs commands that run commands, more than %d deep", maxWrapped)
		return
	case strings.ContainsRune(name, hole):
		c.doubt("which command runs is known only when it runs")
		return
	case strings.ContainsAny(name, " \t\n") || name == "":
		c.doubt("the name of a command has spaces")
		return
	}
	name = baseName(name)
	rest := w[1:]
	if wr, ok := wrappers[name]; ok {
		c.wrapped(name, wr, rest, depth)
		return
	}
	if shells[name] {
		c.shell(rest, depth)
		return
	}
	if codes, ok := interpreters[strings.TrimRight(name, "0123456789.")]; ok {
		c.program(name, strings.Fields(codes), rest)
		return
	}
	switch name {
	case "eval":
		c.script(strings.Join(rest, " "), depth)
	case "trap":
		if len(rest) > 0 {
			c.script(rest[0], depth)
		}
	case "alias":
		for _, a := range rest {
			if _, is, ok := strings.Cut(a, "="); ok {
				c.script(is, depth)
			}
		}
	case "source", ".":
		if len(rest) > 0 && (strings.ContainsRune(rest[0], hole) || strings.HasPrefix(rest[0], "/dev/") || strings.HasPrefix(rest[0], "/proc/")) {
			c.doubt("it runs a file that is known only when it runs")
		}
	case "find":
		c.find(rest, depth)
	case "test", "[", "[[", "unset", "read", "printf", "declare", "typeset", "local", "export", "readonly", "let", "wait", "mapfile", "readarray", "getopts":
		for _, a := range rest {
			if strings.Contains(a, "[") {
				c.hidden(a)
			}
		}
	default:
		if loose[name] {
			c.anyOf(rest, depth)
		}
	}
}

// anyOf adds every end of the words as what may be a command. Which of them is one is not known.
func (c *command) anyOf(w []string, depth int) {
	c.doubt("it runs a command in a way that is not understood here")
	for i := range w {
		c.add(w[i:], true)
		if strings.ContainsAny(w[i], " ;&|\n") {
			c.script(w[i], depth)
		}
	}
}

// options is the walk over the options of a command that runs another.
type options struct {
	wrapper
	name     string
	w        []string
	at       int
	replaced string // what xargs puts its words in place of
	done     bool   // there is nothing behind them, or all was said about it
}

// wrapped finds the command behind the options of one that runs it.
func (c *command) wrapped(name string, wr wrapper, w []string, depth int) {
	o := options{wrapper: wr, name: name, w: w}
	for ; o.at < len(w); o.at++ {
		word := w[o.at]
		switch {
		case strings.ContainsRune(word, hole):
			c.anyOf(w[o.at:], depth)
			return
		case word == "--":
			o.at++
		case word == "-" && name == "env":
			continue
		case strings.HasPrefix(word, "--"):
			c.long(&o, depth)
		case len(word) > 1 && word[0] == '-':
			c.short(&o, depth)
		}
		if o.done {
			return
		}
		if word == "--" || len(word) < 2 || word[0] != '-' {
			break
		}
	}
	i := o.at + wr.skip
	for wr.assign && i < len(w) && strings.Contains(w[i], "=") {
		i++
	}
	if i >= len(w) {
		return
	}
	inner := slices.Clone(w[i:])
	if wr.more && o.replaced == "" {
		inner = append(inner, string(hole))
	}
	c.simple(filled(inner, o.replaced), depth+1)
}

// long reads an option such as --user=root. One that is not known may take the next word as its value.
func (c *command) long(o *options, depth int) {
	flag, value, has := strings.Cut(o.w[o.at], "=")
	takes := slices.Contains(o.wrapper.long, flag)
	if !has && takes && o.at+1 < len(o.w) {
		o.at++
		value = o.w[o.at]
	}
	switch {
	case o.name == "env" && flag == "--split-string":
		c.script(value, depth)
	case o.name == "xargs" && flag == "--replace":
		o.replaced = cmp.Or(value, "{}")
	case !has && !takes && !valueless[flag]:
		c.anyOf(o.w[o.at+1:], depth)
		o.done = true
	}
}

// short reads letters behind one hyphen. The first that takes a value has the rest of the word, or the next word.
func (c *command) short(o *options, depth int) {
	word := o.w[o.at]
	letter := strings.IndexAny(word[1:], o.values)
	switch {
	case o.name == "command" && strings.ContainsAny(word, "vV"): // it only says what it is
		o.done = true
		return
	case o.name == "sudo" && strings.ContainsAny(word, "si") && letter != 0: // it gives its words to a shell
		c.anyOf(o.w[o.at+1:], depth)
		o.done = true
		return
	case o.name == "xargs" && strings.HasPrefix(word, "-i"):
		o.replaced = cmp.Or(word[2:], "{}")
		return
	case letter < 0:
		return
	}
	value := word[letter+2:]
	if value == "" && o.at+1 < len(o.w) {
		o.at++
		value = o.w[o.at]
	}
	switch {
	case o.name == "env" && word[letter+1] == 'S':
		c.script(value, depth)
	case o.name == "xargs" && word[letter+1] == 'I':
		o.replaced = value
	}
}

// valueless are long options of wrappers that take no value.
var valueless = words(`--ignore-environment --null --debug --foreground --preserve-status --verbose --help --version --no-run-if-empty --interactive
	--exit --open-tty --show-limits --preserve-env --non-interactive --set-home --background --stdin --ctty --fork --wait --portability --append
	--all-tasks --pid --cpu-list --ignore`)

// filled puts holes where a placeholder stands.
func filled(w []string, placeholder string) []string {
	if placeholder == "" {
		return w
	}
	out := make([]string, len(w))
	for i, s := range w {
		out[i] = strings.ReplaceAll(s, placeholder, string(hole))
	}
	return out
}

// script reads a text that a command takes for a script.
func (c *command) script(text string, depth int) {
	if strings.ContainsRune(text, hole) {
		c.doubt("it runs a text that is known only when it runs")
		c.add(strings.Fields(text), true)
		return
	}
	c.read(text, depth+1)
}

// shell finds the script of sh -c. A shell without one reads its commands from its input, and they are not known.
func (c *command) shell(w []string, depth int) {
	for i, o := range w {
		if len(o) > 1 && (o[0] == '-' || o[0] == '+') && o[1] != '-' && strings.Contains(o, "c") {
			if i+1 == len(w) || slices.ContainsFunc(w[:i], func(o string) bool { return strings.ContainsRune(o, hole) }) {
				c.doubt("a shell runs commands that are not shown")
			}
			c.scripts(w[i+1:], depth)
			return
		}
	}
	for _, o := range w {
		switch {
		case o == "-s" || o == "-":
			c.doubt("a shell runs commands that it reads from its input")
		case o != "" && (o[0] == '-' || o[0] == '+'):
		case strings.ContainsRune(o, hole) || strings.HasPrefix(o, "/dev/") || strings.HasPrefix(o, "/proc/"):
			c.doubt("a shell runs commands that are not shown")
			return
		default:
			return // a file
		}
	}
	c.doubt("a shell runs commands that it reads from its input")
}

// scripts reads what follows -c: the first word that is no option is the script, the others are its arguments. Options that
// take values are rare here, and which word is then the script is not known: so whatever looks like one is read, too.
func (c *command) scripts(w []string, depth int) {
	first := true
	for _, s := range w {
		switch {
		case first && len(s) > 1 && (s[0] == '-' || s[0] == '+'):
		case first || strings.ContainsAny(s, " ;&|\n"):
			c.script(s, depth)
			first = false
		}
	}
}

// running are the options of find that run a command.
var running = []string{"-exec", "-execdir", "-ok", "-okdir"}

// find adds the commands of -exec and its relatives.
func (c *command) find(w []string, depth int) {
	for i := 0; i < len(w); i++ {
		switch {
		case slices.Contains(running, w[i]):
			end := i + 1
			for end < len(w) && w[end] != ";" && w[end] != "+" {
				end++
			}
			if end > i+1 {
				c.simple(filled(w[i+1:end], "{}"), depth+1)
			}
			i = end
		default:
			if strings.ContainsRune(w[i], hole) && slices.ContainsFunc(running, func(o string) bool { return maybe(o, w[i]) }) {
				c.doubt("which options find has is known only when it runs")
			}
		}
	}
}
