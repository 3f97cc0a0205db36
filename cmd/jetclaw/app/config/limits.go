package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits bound what one message may cost.
type Limits struct {
	MessageBytes Bytes    `yaml:"message_bytes"` // a longer one is refused
	Call         Duration `yaml:"call"`          // one model call
	Turn         Duration `yaml:"turn"`          // all calls of a turn
	Rounds       int      `yaml:"rounds"`        // model calls of a turn
	Calls        int      `yaml:"calls"`         // tool calls of a turn; 0: no limit
	Tokens       int      `yaml:"tokens"`        // of all requests and answers of a turn; 0: no limit
	Money        Money    `yaml:"money"`         // of a turn; 0: no limit
	Context      int      `yaml:"context"`       // tokens that a request may have; 0: as many as the model takes
	Queue        int      `yaml:"queue"`         // messages that may wait in a session; 0: any number
	QueueFull    string   `yaml:"queue_full"`    // newest, oldest: which are dropped beyond
	Debounce     Duration `yaml:"debounce"`      // queue mode collect: how long nothing must have come
}

// Retention says which sessions leave the journal: whole ones that nobody has written to for a time.
type Retention struct {
	Dormant  Duration `yaml:"dormant"`   // how long nothing must have happened in it; 0: all are kept
	MaxBytes Bytes    `yaml:"max_bytes"` // of the journal, above which the longest dormant ones go; 0: any size
	Archive  string   `yaml:"archive"`   // folder, relative to the home, that they are written to before
}

func defaultLimits() Limits {
	return Limits{
		MessageBytes: 256 << 10, Call: Duration(2 * time.Minute), Turn: Duration(10 * time.Minute),
		Rounds: 25, Calls: 100, Queue: 20, QueueFull: "newest", Debounce: Duration(2 * time.Second),
	}
}

// maxDebounce is what the turns service takes: a message must not be put off for longer.
const maxDebounce = 5 * time.Second

func (k *checker) limits() {
	l := k.c.Limits
	if l.MessageBytes < 1 || l.MessageBytes > 512<<10 {
		k.fail("limits.message_bytes", "must be between 1 and 512KiB", "")
	}
	if l.Call < Duration(time.Second) {
		k.fail("limits.call", "must be at least 1s", "")
	}
	if l.Turn < l.Call {
		k.fail("limits.turn", "must not be shorter than limits.call ("+l.Call.String()+")", "")
	}
	if l.Rounds < 1 {
		k.fail("limits.rounds", "must be at least 1", "")
	}
	k.tokens("limits.calls", l.Calls, 1, "for no limit")
	k.tokens("limits.tokens", l.Tokens, 1, "for no limit")
	k.tokens("limits.context", l.Context, minContext, "for as many as the model takes")
	k.tokens("limits.queue", l.Queue, 1, "for any number")
	k.oneOf("limits.queue_full", l.QueueFull, "newest", "oldest")
	if l.Debounce < 0 || l.Debounce > Duration(maxDebounce) {
		k.fail("limits.debounce", "must be between 0s and "+Duration(maxDebounce).String(), "")
	}
	k.budget("budget", k.c.Budget)
}

// tokens checks a count where 0 has a meaning of its own.
func (k *checker) tokens(path string, n, least int, zero string) {
	if n < 0 || n > 0 && n < least {
		k.fail(path, "must be at least "+strconv.Itoa(least)+", or 0 "+zero, "")
	}
}

func (k *checker) budget(path string, b Budget) {
	k.tokens(path+".tokens", b.Tokens, 1, "for no limit")
}

// day is the shortest time after which a session counts as dormant: a shorter one would take conversations away that
// people are in the middle of.
const day = 24 * time.Hour

func (k *checker) retention() {
	r := k.c.Retention
	if r.Dormant != 0 && r.Dormant < Duration(day) {
		k.fail("retention.dormant", "must be at least 1d, or 0 to keep all sessions", "")
	}
	if r.MaxBytes != 0 && r.MaxBytes < 1<<20 {
		k.fail("retention.max_bytes", "must be at least 1MiB, or 0 for any size", "")
	}
	if full := k.c.Bus.MaxBytes; r.MaxBytes != 0 && full != 0 && r.MaxBytes >= full {
		k.warn("retention.max_bytes", "the journal is full before this is reached (bus.max_bytes: "+full.String()+
			"): messages are refused, and nothing is archived for its size")
	}
	k.archive(r.Archive)
}

// archive keeps archived conversations away from the folders that are not for them.
func (k *checker) archive(name string) {
	const path = "retention.archive"
	if filepath.IsAbs(name) {
		return
	}
	name = filepath.Clean(name) // "" is "."
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	switch {
	case name == "." || !filepath.IsLocal(name):
		k.fail(path, "must be a folder inside of the home, or an absolute path", "as in archive")
	case slices.Contains([]string{"data", "keys", "run", "index", "workspace"}, strings.ToLower(first)):
		k.fail(path, first+" in the home holds other things", "choose another folder, as in archive")
	}
}
