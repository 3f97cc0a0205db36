package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

const (
	dim   = "\x1b[2m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
)

// textLine is an event as a line for a person.
func textLine(e envelope.Event, colour bool) string {
	on, off, strong := "", "", ""
	if colour {
		on, off, strong = dim, plain, bold
	}
	return strings.TrimRight(fmt.Sprintf("%s%6d  %s  %s%s  %s%-18s%s %s", on, e.Cursor, e.Time.Local().Format("2006-01-02 15:04:05.000"),
		e.Session, off, strong, flat(e.Kind()), off, flat(summary(e.Body))), " ") + "\n"
}

// plainJSON is a JSON value as a person would write it: <, > and & stand for themselves.
func plainJSON(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}
