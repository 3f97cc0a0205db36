package logs

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"

	"github.com/lmittmann/tint"
)

// Format of the lines.
type Format string

const (
	Auto Format = "auto" // Text on a terminal, else JSON
	Text Format = "text"
	JSON Format = "json"
)

// Options of a logger.
type Options struct {
	Level    slog.Level
	Format   Format
	Terminal bool // w is a terminal
	Colour   bool // for Text
}

// ParseLevel reads debug, info, warn or error.
func ParseLevel(s string) (slog.Level, error) {
	var l slog.Level
	switch strings.ToLower(s) {
	case "":
		return slog.LevelInfo, nil
	case "debug", "info", "warn", "error":
		return l, l.UnmarshalText([]byte(s))
	}
	return l, fmt.Errorf("log level %q is none of debug, info, warn, error", s)
}

// New makes the logger of the process. Everything passes r, and so does what a library writes by the standard loggers,
// which are set to it.
func New(w io.Writer, r *Redactor, o Options) *slog.Logger {
	w = r.Writer(w)
	var h slog.Handler
	if o.Format == Text || o.Format != JSON && o.Terminal {
		h = tint.NewTextHandler(w, &tint.Options{Level: o.Level, TimeFormat: "15:04:05.000", NoColor: !o.Colour})
	} else {
		h = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: o.Level})
	}
	l := slog.New(h)
	slog.SetDefault(l)
	log.SetFlags(0)
	return l
}
