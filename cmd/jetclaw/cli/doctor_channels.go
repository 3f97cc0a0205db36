package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/services/intake"
)

// channelTime is how long intake has to say how its channels do.
const channelTime = 3 * time.Second

// bots asks the daemon how its bots do.
func (x *examination) bots(ctx context.Context) error {
	bots := x.e.Config.Bots(x.s.lookup)
	if len(bots) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, channelTime)
	defer cancel()
	got, err := bus.Ask[intake.Channels](ctx, x.c.Conn, "intake", "channels", intake.ChannelsRequest{})
	if err != nil {
		fix := "start it: jetclaw run"
		if k := fault.KindOf(err); k != fault.Unavailable && k != fault.NotFound {
			fix = err.Error()
		}
		x.report.Sayf("channel.away", health.Warning, "telegram", fix, "%s configured, and no daemon serves them", plural(len(bots), "bot is", "bots are"))
		return nil
	}
	known := map[string]bool{}
	for _, b := range got.Telegram {
		known[b.Account] = true
		name := "telegram " + b.Account
		if b.Username != "" {
			name += " (@" + b.Username + ")"
		}
		id, l, text, fix := botHealth(string(b.Status), b.Account)
		if text += " since " + b.Since.Local().Format(time.DateTime); l == health.Problem && b.LastError != "" {
			text += ": " + b.LastError
		}
		x.report.Sayf(id, l, name, fix, "%s", text)
	}
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		if !known[name] {
			x.report.Sayf("channel.unserved", health.Warning, "telegram "+name, "restart the daemon", "it is configured, and the daemon does not know it")
		}
	}
	return nil
}

// botHealth says what a bot's status means.
func botHealth(status, account string) (id string, l health.Severity, text, fix string) {
	switch status {
	case "polling":
		return "channel.ok", health.Fine, "takes updates", ""
	case "webhook":
		return "channel.ok", health.Fine, "takes updates by its webhook", ""
	case "unauthorized":
		return "channel.unauthorized", health.Problem, "the token is refused",
			"get a new token from @BotFather, put it where the configuration says, and restart"
	case "conflict":
		return "channel.conflict", health.Problem, "another program takes its updates", "stop the other program that uses this token"
	case "unreachable":
		return "channel.unreachable", health.Problem, "the Bot API cannot be reached",
			"check the network, and channels.telegram." + account + ".api_root"
	}
	return "channel.unready", health.Warning, status, ""
}

// trouble is what went wrong in one way in one session.
type trouble struct {
	session session.ID
	reason  string
}

type troubles struct {
	n    int
	last time.Time
}

// troubleEvidence is what a finding about the past shows.
type troubleEvidence struct {
	Session session.ID `json:"session"`
	Times   int        `json:"times"`
	Last    time.Time  `json:"last"`
	Reason  string     `json:"reason"`
}

// past reads the journal, backwards from its end, for what could not be delivered or read.
func (x *examination) past(ctx context.Context) error {
	failed, held, unread := map[trouble]troubles{}, map[trouble]troubles{}, map[trouble]troubles{}
	note := func(m map[trouble]troubles, e envelope.Event, reason string) {
		k := trouble{e.Session, reason}
		t := troubles{m[k].n + 1, m[k].last}
		if e.Time.After(t.last) {
			t.last = e.Time
		}
		m[k] = t
	}
	back, err := x.backwards(ctx, func(e envelope.Event) {
		switch b := e.Body.(type) {
		case deliveryv1.Failed:
			note(failed, e, b.Reason)
		case deliveryv1.Unknown:
			if !b.Resend {
				note(held, e, "nobody knows whether it arrived, and outbox.on_unknown is hold")
			}
		case messagev1.Quarantined:
			note(unread, e, b.Reason)
		}
	})
	if err != nil {
		return err
	}
	tell := func(id, check, one, many string, m map[trouble]troubles) {
		for _, k := range slices.SortedFunc(maps.Keys(m), func(a, b trouble) int {
			return cmp.Or(m[b].last.Compare(m[a].last), cmp.Compare(a.session, b.session), cmp.Compare(a.reason, b.reason))
		}) {
			x.report.Sayf(id, health.Warning, check, "see them: jetclaw events --session "+string(k.session), "%s in %s, the last at %s: %s",
				plural(m[k].n, one, many), k.session, m[k].last.Local().Format(time.DateTime), firstLine(k.reason))
			x.report.Findings[len(x.report.Findings)-1].Evidence = troubleEvidence{k.session, m[k].n, m[k].last, k.reason}
		}
	}
	tell("delivery.failed", "deliveries", "message could not be delivered", "messages could not be delivered", failed)
	tell("delivery.held", "deliveries", "message is held", "messages are held", held)
	tell("update.unreadable", "channels", "update could not be read", "updates could not be read", unread)
	if len(failed)+len(held) == 0 {
		fix := ""
		if back < x.o.span {
			fix = "--deep looks at the last " + spanText(x.o.span)
		}
		x.report.Sayf("delivery.ok", health.Fine, "deliveries", fix, "nothing failed in the last %s", spanText(back))
	}
	return nil
}

const (
	pastTime  = 250 * time.Millisecond // without --deep
	pastBatch = 4_000                  // events
)

// telling are the kinds of events that past is about. Nothing else is decoded: it is most of the journal.
func telling() map[string]bool {
	all := map[string]bool{}
	for _, b := range []envelope.Body{deliveryv1.Failed{}, deliveryv1.Unknown{}, messagev1.Quarantined{}} {
		all[envelope.KindOf(b.EventType())] = true
	}
	return all
}

// backwards reads batch after batch until the span is over, or the time for it. It returns how far back it came.
func (x *examination) backwards(ctx context.Context, fn func(envelope.Event)) (time.Duration, error) {
	u, err := x.conn().Journal().Usage(ctx)
	if err != nil {
		return 0, err
	}
	now, until, kinds := time.Now(), time.Now().Add(pastTime), telling()
	since := now.Add(-x.o.span)
	for to := u.Last; to >= max(u.First, 1); {
		from := max(u.First, 1)
		if to > pastBatch {
			from = max(from, to-pastBatch+1)
		}
		oldest := now
		err := x.conn().Scan(ctx, bus.ReplayOptions{From: from, To: to}, func(m bus.Raw) error {
			at, perr := time.Parse(time.RFC3339Nano, m.Header.Get(envelope.HeaderTime))
			if perr == nil && at.Before(oldest) {
				oldest = at
			}
			s, perr := subject.ParseEvent(m.Subject)
			if perr != nil || !kinds[s.Kind()] || at.Before(since) {
				return nil //nolint:nilerr // a message that is no event is told of by chains
			}
			ev, err := x.conn().Decode(ctx, m)
			if errors.Is(err, envelope.ErrEnvelope) {
				return nil
			}
			if err == nil {
				fn(ev)
			}
			return err
		})
		switch {
		case err != nil:
			return 0, err
		case oldest.Before(since), from == max(u.First, 1):
			return x.o.span, nil
		case !x.o.deep && time.Now().After(until):
			return now.Sub(oldest).Round(time.Second), nil
		}
		to = from - 1
	}
	return x.o.span, nil
}

func spanText(d time.Duration) string {
	if days := d.Hours() / 24; days == float64(int(days)) && days > 0 {
		return plural(int(days), "day", "days")
	}
	return d.String()
}
