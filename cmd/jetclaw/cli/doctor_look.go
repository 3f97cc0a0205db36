package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake"
)

// storeAlarm is the share of the journal's room at which somebody should know.
const storeAlarm = 0.7

func examineStore(ctx context.Context, x *examined, e app.Env, c app.Client) error {
	u, err := c.Conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	l, hint := fine, ""
	switch {
	case u.Full() >= 0.9:
		l, hint = problem, "new messages are refused: delete sessions (jetclaw sessions prune), or raise bus.max_bytes"
	case u.Full() >= storeAlarm:
		l, hint = warning, "at 90 % new messages are refused: jetclaw sessions prune, or a higher bus.max_bytes"
	}
	x.add("journal", l, hint, "%d of %d MB are used (%.0f %%)", u.Bytes>>20, u.MaxBytes>>20, 100*u.Full())
	files, err := c.Conn.FileUsage(ctx)
	if err != nil {
		return err
	}
	l, hint = fine, ""
	if files.Full() >= storeAlarm {
		l, hint = warning, "from 75 % on files that people send are not kept: delete sessions (jetclaw sessions prune)"
	}
	x.add("files", l, hint, "%d of %d MB are used (%.0f %%)", files.Bytes>>20, files.MaxBytes>>20, 100*files.Full())
	if e.Config.Remote.URL == "" {
		promise := "an event that was acknowledged is on disk"
		if e.Config.Bus.Sync == "interval" {
			promise = "a power failure can lose the last moments; a killed process loses nothing"
		}
		x.add("journal", fine, "", "bus.sync is %s: %s", e.Config.Bus.Sync, promise)
	}
	return nil
}

// channelTime is how long intake has to say how its channels do.
const channelTime = 3 * time.Second

// examineBots asks the daemon how its bots do.
func (s *shell) examineBots(ctx context.Context, x *examined, e app.Env, c app.Client) {
	bots := e.Config.Bots(s.lookup)
	if len(bots) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, channelTime)
	defer cancel()
	got, err := bus.Ask[intake.Channels](ctx, c.Conn, "intake", "channels", intake.ChannelsRequest{})
	if err != nil {
		l, hint := warning, "start it: jetclaw run"
		if k := fault.KindOf(err); k != fault.Unavailable && k != fault.NotFound {
			hint = err.Error()
		}
		x.add("telegram", l, hint, "%s configured, and no daemon serves them", plural(len(bots), "bot is", "bots are"))
		return
	}
	known := map[string]bool{}
	for _, b := range got.Telegram {
		known[b.Account] = true
		name := "telegram " + b.Account
		if b.Username != "" {
			name += " (@" + b.Username + ")"
		}
		l, text, hint := botHealth(string(b.Status), b.Account)
		if text += " since " + b.Since.Local().Format(time.DateTime); l == problem && b.LastError != "" {
			text += ": " + b.LastError
		}
		x.add(name, l, hint, "%s", text)
	}
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		if !known[name] {
			x.add("telegram "+name, warning, "restart the daemon", "it is configured, and the daemon does not know it")
		}
	}
}

// botHealth says what a bot's status means.
func botHealth(status, account string) (l level, text, hint string) {
	switch status {
	case "polling":
		return fine, "takes updates", ""
	case "webhook":
		return fine, "takes updates by its webhook", ""
	case "unauthorized":
		return problem, "the token is refused", "get a new token from @BotFather, put it where the configuration says, and restart"
	case "conflict":
		return problem, "another program takes its updates", "stop the other program that uses this token"
	case "unreachable":
		return problem, "the Bot API cannot be reached", "check the network, and channels.telegram." + account + ".api_root"
	}
	return warning, status, ""
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

// examinePast reads the journal for what could not be delivered or read.
func examinePast(ctx context.Context, x *examined, c app.Client, span time.Duration) error {
	failed, held, unread := map[trouble]troubles{}, map[trouble]troubles{}, map[trouble]troubles{}
	note := func(m map[trouble]troubles, e envelope.Event, reason string) {
		k := trouble{e.Session, reason}
		m[k] = troubles{m[k].n + 1, e.Time}
	}
	err := c.Conn.Replay(ctx, bus.ReplayOptions{Since: time.Now().Add(-span)}, func(e envelope.Event) error {
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
		return nil
	})
	if err != nil {
		return err
	}
	const look = "see them: jetclaw events --session "
	tell := func(check, one, many string, m map[trouble]troubles) {
		for _, k := range slices.SortedFunc(maps.Keys(m), func(a, b trouble) int {
			return cmp.Or(m[b].last.Compare(m[a].last), cmp.Compare(a.session, b.session), cmp.Compare(a.reason, b.reason))
		}) {
			x.add(check, warning, look+string(k.session), "%s in %s, the last at %s: %s",
				plural(m[k].n, one, many), k.session, m[k].last.Local().Format(time.DateTime), firstLine(k.reason))
		}
	}
	tell("deliveries", "message could not be delivered", "messages could not be delivered", failed)
	tell("deliveries", "message is held", "messages are held", held)
	tell("channels", "update could not be read", "updates could not be read", unread)
	if len(failed)+len(held) == 0 {
		x.add("deliveries", fine, "", "nothing failed in the last %s", spanText(span))
	}
	return nil
}

func spanText(d time.Duration) string {
	if days := d.Hours() / 24; days == float64(int(days)) && days > 0 {
		return plural(int(days), "day", "days")
	}
	return d.String()
}
