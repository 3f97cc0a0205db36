package markdown

import "strings"

const maxPrefix = 24 // bytes: deeper quotes and lists are not indented further

// writer puts words on lines. White space, line ends and opening marks are owed until a word follows, so that none of them
// stands where nothing comes after it.
type writer struct {
	out     []byte
	prefix  string   // of each line
	lead    string   // of the next line instead of prefix: the item of a list begins there
	outer   string   // of the empty lines before lead
	owed    int      // line ends before the next word
	space   bool     // a space before it
	pending []string // marks that open with it
	inline  int      // > 0: blocks do not begin lines
	cell    bool     // within a row of a table
}

func (w *writer) full() bool { return len(w.out) >= maxOut }

func (w *writer) String() string { return strings.TrimSpace(string(w.out)) }

// line owes n line ends.
func (w *writer) line(n int) {
	if w.inline > 0 {
		w.space = true
		return
	}
	if w.lead == "" {
		w.owed = max(w.owed, n)
	}
	w.space = false
}

// begin pays what is owed.
func (w *writer) begin() {
	switch {
	case w.owed > 0 || len(w.out) == 0 || w.lead != "":
		between := w.prefix
		if w.lead != "" {
			between = w.outer
		}
		if len(w.out) > 0 {
			for i := max(w.owed, 1); i > 0; i-- {
				w.out = append(w.out, '\n')
				if i > 1 {
					w.out = append(w.out, strings.TrimRight(between, " ")...)
				}
			}
		}
		if w.lead == "" {
			w.lead = w.prefix
		}
		w.out = append(w.out, w.lead...)
		w.owed, w.lead = 0, ""
	case w.space:
		w.out = append(w.out, ' ')
	}
	w.space = false
	for _, m := range w.pending {
		w.out = append(w.out, m...)
	}
	w.pending = w.pending[:0]
}

// text writes words with single spaces between.
func (w *writer) text(s string) {
	for s != "" && !w.full() {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			w.begin()
			w.word(s[:i])
		}
		s = s[i:]
		if s != "" {
			s = strings.TrimLeftFunc(s, isSpace)
			w.space = w.space || w.owed == 0
		}
	}
}

func (w *writer) word(s string) {
	if w.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	w.out = append(w.out, s...)
}

// isSpace is what HTML collapses; a no-break space is one here, nobody reads the difference.
func isSpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' || r == '\u00a0'
}

// mark opens a mark and returns what closes it.
func (w *writer) mark(opening string) func(closing string) {
	w.pending = append(w.pending, opening)
	at := len(w.pending)
	return func(closing string) {
		if len(w.pending) >= at { // no word came
			w.pending = w.pending[:at-1]
			return
		}
		w.out = append(w.out, closing...)
	}
}

// indent begins an item: first stands before its first line, rest before the others.
func (w *writer) indent(first, rest string) (undo func()) {
	prefix, lead := w.prefix, w.lead
	if w.lead == "" {
		w.lead, w.outer = prefix, prefix
	}
	w.lead += first
	mine := w.lead
	if len(prefix) < maxPrefix {
		w.prefix += rest
	}
	return func() {
		if w.lead == mine && w.lead != "" { // the item is empty
			w.lead = lead
		}
		w.prefix = prefix
	}
}

// verbatim writes lines as they are.
func (w *writer) verbatim(s string) {
	for l := range strings.SplitSeq(s, "\n") {
		if w.full() {
			return
		}
		w.begin()
		w.out = append(w.out, strings.TrimRight(l, " \t\r")...)
		w.owed = 1
	}
}
