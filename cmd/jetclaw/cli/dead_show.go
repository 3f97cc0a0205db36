package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// openedLetter is what `dead show --json` prints.
type openedLetter struct {
	letter
	Event json.RawMessage `json:"event,omitempty"` // as `jetclaw events --json` prints it
	Raw   *rawMessage     `json:"raw,omitempty"`   // of a message that cannot be read
	Retry string          `json:"retry"`           // what a retry would do
}

// rawMessage is a message of the journal as it lies there.
type rawMessage struct {
	Subject string              `json:"subject"`
	Header  map[string][]string `json:"header,omitempty"`
	Data    []byte              `json:"data"` // base64
}

func (s *shell) deadShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show one doorbell that was given up, with its event",
		Long: `Shows one doorbell that was given up: why, the event that rang, decoded (the bytes as they lie in the journal when it cannot be
read), and what a retry would do today.

With --json it prints one object: what "jetclaw dead list --json" has of it, event (as "jetclaw events --json" prints it), raw
(subject, header, and data in base64) when the event cannot be read, and retry.`,
		Example: "  jetclaw dead show 3\n  jetclaw dead show 3 --json | jq .event.data",
		Args:    func(c *cobra.Command, args []string) error { _, err := oneLetter(c, args); return err },
		RunE: func(c *cobra.Command, args []string) error {
			n, err := oneLetter(c, args)
			if err != nil {
				return err
			}
			return s.inOwn(c.Context(), "dead show", func(ctx context.Context, _ app.Client, owner *bus.Conn) error {
				all, err := letters(ctx, owner)
				if err != nil {
					return err
				}
				d, err := pick(all, n)
				if err != nil {
					return err
				}
				o, err := openLetter(ctx, owner, d)
				if err != nil {
					return err
				}
				if asJSON {
					return s.writeJSON(o)
				}
				return showLetter(s.out, o)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

func openLetter(ctx context.Context, owner *bus.Conn, d bus.Dead) (openedLetter, error) {
	o := openedLetter{letter: letterOf(d)}
	if o.Cursor > 0 {
		m, err := owner.Journal().Stored(ctx, o.Cursor)
		switch {
		case errors.Is(err, bus.ErrNoEvent): // purged with its session
		case err != nil:
			return o, err
		default:
			if err := o.open(ctx, owner, m); err != nil {
				return o, err
			}
		}
	}
	var err error
	o.Retry, err = whatRetryDoes(ctx, owner, d)
	return o, err
}

// open reads the event, or keeps the bytes.
func (o *openedLetter) open(ctx context.Context, owner *bus.Conn, m bus.Raw) error {
	ev, err := owner.Decode(ctx, m)
	alien := errors.Is(err, envelope.ErrEnvelope)
	if _, unknown := ev.Body.(envelope.Unknown); unknown || alien {
		o.Raw = &rawMessage{Subject: m.Subject, Header: m.Header, Data: m.Data}
	}
	if err == nil {
		o.Event, err = envelope.LineOf(ev)
	}
	if alien {
		return nil
	}
	return err
}

// whatRetryDoes asks today's machine of the service.
func whatRetryDoes(ctx context.Context, owner *bus.Conn, d bus.Dead) (string, error) {
	if d.Session == "" {
		return "nothing: its session is not known any more; `jetclaw doctor` finds sessions that wait", nil
	}
	machines, err := app.Machines(ctx, owner)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(machines, func(m recheck.Machine) bool { return m.Service() == d.Service })
	if i < 0 {
		return d.Service + " would look at " + string(d.Session) + " again", nil
	}
	events, err := owner.History(ctx, d.Session, 0)
	if hole, ok := errors.AsType[*bus.HoleError](err); ok {
		return d.Service + " would give it up again: " + holeText(hole), nil
	}
	if err != nil {
		return "", err
	}
	due, err := health.Judge{Machines: machines[i : i+1], Now: time.Now()}.Due(d.Session, events)
	if p, ok := errors.AsType[*health.PanicError](err); ok {
		return fmt.Sprintf("%s would give it up again: its machine panics (%v)", d.Service, p.Value), nil
	}
	if err != nil {
		return "", err
	}
	if len(due) == 0 {
		return fmt.Sprintf("nothing: %s wants nothing of %s now", d.Service, d.Session), nil
	}
	var steps []string
	for _, st := range due {
		if text := recheck.Describe(st.Step); !slices.Contains(steps, text) {
			steps = append(steps, text)
		}
	}
	return fmt.Sprintf("%s would %s", d.Service, strings.Join(steps, ", ")), nil
}

func showLetter(out io.Writer, o openedLetter) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, value)
		}
	}
	line("number", fmt.Sprint(o.Number))
	line("when", o.Time.Local().Format(time.DateTime)+fmt.Sprintf(", after %s", plural(int(o.Deliveries), "delivery", "deliveries")))
	line("service", flat(o.Service))
	line("session", string(o.Session))
	if o.Cursor > 0 {
		line("event", fmt.Sprintf("%s, cursor %d", flat(o.Kind), o.Cursor))
	} else {
		line("event", flat(o.Kind))
	}
	line("reason", flat(o.Reason))
	line("retry", flat(o.Retry))
	switch {
	case o.Raw != nil:
		fmt.Fprintf(&b, "\nit cannot be read; this is how it lies in the journal, under %s:\n", flat(o.Raw.Subject))
		for _, k := range slices.Sorted(maps.Keys(o.Raw.Header)) {
			fmt.Fprintf(&b, "%s: %s\n", flat(k), flat(strings.Join(o.Raw.Header[k], ", ")))
		}
		b.WriteString("\n" + shownBytes(o.Raw.Data))
	case o.Event != nil:
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, jsonForTerminal(o.Event), "", "  "); err != nil {
			return err
		}
		b.WriteString("\n" + pretty.String() + "\n")
	case o.Cursor > 0:
		b.WriteString("\nits event is not in the journal any more\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// bytesShown is how much of a message that cannot be read a person is shown.
const bytesShown = 4 << 10

// shownBytes are bytes as text where they are text, else as a hex dump.
func shownBytes(data []byte) string {
	rest := ""
	if more := len(data) - bytesShown; more > 0 {
		data, rest = data[:bytesShown], fmt.Sprintf("… and %s more; --json shows all\n", plural(more, "byte", "bytes"))
	}
	switch {
	case len(data) == 0:
		return "(no body)\n"
	case utf8.Valid(data) && forTerminal(string(data)) == string(data):
		return string(data) + "\n" + rest
	}
	return hex.Dump(data) + rest
}
