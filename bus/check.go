package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// whoAmI is where a server tells a connection which user it is, and what that one may do.
const whoAmI = "$SYS.REQ.USER.INFO"

// RefusedError says that the bus does not let a user do what it needs.
type RefusedError struct {
	User      string   // whose work it is
	Publish   []string // what it may not
	Subscribe []string
	Whose     string // whose key it has instead, where that can be told
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the bus does not let the user %s do what it needs: ", e.User)
	switch e.Whose {
	case "":
	case another:
		fmt.Fprintf(&b, "it may not subscribe to %s, so that its key is that of another user; give it its own", strings.Join(e.Subscribe, ", "))
		return b.String()
	default:
		fmt.Fprintf(&b, "its key is that of the user %s; give it its own", e.Whose)
		return b.String()
	}
	var parts []string
	for _, p := range []struct {
		verb string
		all  []string
	}{{"publish to ", e.Publish}, {"subscribe to ", e.Subscribe}} {
		if len(p.all) == 0 {
			continue
		}
		more := ""
		if n := len(p.all); n > refusedShown {
			more = fmt.Sprintf(" and %d more", n-refusedShown)
		}
		parts = append(parts, p.verb+strings.Join(p.all[:min(len(p.all), refusedShown)], ", ")+more)
	}
	fmt.Fprintf(&b, "it may not %s. `jetclaw nats permissions --user %s` prints what this version needs, and `… --conf` the file of users "+
		"for all servers", strings.Join(parts, "; nor "), e.User)
	return b.String()
}

const refusedShown = 3

// MissingError says that the bus has not got what a service needs.
type MissingError struct {
	User string
	What []string // "stream EV", "consumer EV/turns"
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the bus has not got what %s needs: %s; `jetclaw topology apply` makes it (with the key of the user %s)",
		e.User, strings.Join(e.What, ", "), Admin)
}

// Check says at a start why a service could not work on this bus, instead of waiting for answers that never come: *RefusedError,
// *MissingError, ErrNewer, ErrOlder. want is what its user is to be allowed.
func (c *Conn) Check(ctx context.Context, spec Spec, want Permissions) error {
	if err := c.CheckUser(ctx, want); err != nil {
		return err
	}
	p := patience{until: time.Now().Add(settleTime)}
	if err := c.checkContract(ctx, spec, p); err != nil {
		return err
	}
	return c.checkObjects(ctx, spec, p)
}

// mayDo is what a server tells of the permissions of a user; nil lists are everything.
type mayDo struct {
	Publish   *allowed `json:"publish"`
	Subscribe *allowed `json:"subscribe"`
}

type allowed struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

func (a *allowed) all(subj string) bool {
	if a == nil {
		return true
	}
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(f string) bool { return covers(f, subj) })
	}
	return (len(a.Allow) == 0 || in(a.Allow)) && !in(a.Deny)
}

// CheckUser is the part of Check that is about the user alone: a *RefusedError when it may not do what it is to be allowed.
func (c *Conn) CheckUser(ctx context.Context, want Permissions) error {
	m, err := c.askWhoAmI(ctx)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused
	}
	if err != nil {
		c.log.Debug("the bus does not tell who we are; permissions are not looked at", "error", err)
		return orCause(ctx)
	}
	var told struct {
		Data *struct {
			Permissions *mayDo `json:"permissions"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Data, &told); err != nil || told.Data == nil || told.Data.Permissions == nil {
		return nil //nolint:nilerr // a server that asks nobody
	}
	may := told.Data.Permissions
	e := &RefusedError{User: c.service}
	for _, subj := range want.Publish {
		if !may.Publish.all(subj) {
			e.Publish = append(e.Publish, subj)
		}
	}
	for _, subj := range want.Subscribe {
		if !may.Subscribe.all(subj) {
			e.Subscribe = append(e.Subscribe, subj)
		}
	}
	if len(e.Publish)+len(e.Subscribe) == 0 {
		return nil
	}
	if may.Subscribe != nil {
		for _, subj := range may.Subscribe.Allow {
			name, ok := strings.CutPrefix(strings.TrimSuffix(subj, ".>"), inboxRoot)
			if ok && name != c.service {
				e.Whose = name
			}
		}
	}
	return e
}

// askWhoAmI asks with an inbox of its own, so that it sees when that is refused: each user may have its own only.
func (c *Conn) askWhoAmI(ctx context.Context) (*nats.Msg, error) {
	inbox := c.nc.NewInbox()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var asked error
	m, err := once(ctx, c, inbox, func(ctx context.Context) (m *nats.Msg, err error) {
		sub, err := c.nc.SubscribeSync(inbox)
		if err != nil {
			return nil, err
		}
		defer func() { _ = sub.Unsubscribe() }()
		m, asked = once(ctx, c, whoAmI, func(ctx context.Context) (*nats.Msg, error) {
			if err := c.nc.PublishRequest(whoAmI, inbox, nil); err != nil {
				return nil, err
			}
			return sub.NextMsgWithContext(ctx)
		})
		return m, asked
	})
	switch {
	case errors.Is(asked, errRefused):
		return nil, &RefusedError{User: c.service, Publish: []string{whoAmI}}
	case errors.Is(err, errRefused):
		return nil, &RefusedError{User: c.service, Subscribe: []string{inboxPrefix(c.service) + ".>"}, Whose: another}
	}
	return m, err
}

// another is whose key it is when nothing but that can be told.
const another = "another"

// orCause is why ctx has ended, nil while it has not.
func orCause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// CheckJournal says why no work is to be had from this bus: a *MissingError when it has no journal, what is wrong when that cannot be
// found out.
func (c *Conn) CheckJournal(ctx context.Context) error {
	_, err := c.contract(ctx)
	if missing(err) {
		return &MissingError{User: c.service, What: []string{"stream " + subject.Journal}}
	}
	return err
}

func (c *Conn) checkContract(ctx context.Context, spec Spec, p patience) error {
	if !spec.ReadsJournal() {
		return nil
	}
	var n int
	err := p.ask(ctx, func() (err error) {
		n, err = c.contract(ctx)
		return err
	})
	if missing(err) {
		return &MissingError{User: c.service, What: []string{"stream " + subject.Journal}}
	}
	if err != nil {
		return err
	}
	if err := newer(n); err != nil {
		return err
	}
	if n < registry.Contract {
		return fmt.Errorf("%w: it keeps contract %d, and this one %d: run `jetclaw topology apply` of this version first "+
			"(with the key of the user %s)", ErrOlder, n, registry.Contract, Admin)
	}
	return nil
}

// missing says whether a server has answered that there is no such thing.
func missing(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Code == 404
}

func (c *Conn) checkObjects(ctx context.Context, spec Spec, p patience) error {
	e := &MissingError{User: c.service}
	look := func(what string, ask func() error) error {
		err := p.ask(ctx, ask)
		if missing(err) || errors.Is(err, nats.ErrNoResponders) {
			e.What = append(e.What, what)
			return nil
		}
		return err
	}
	consumer := func(stream, durable string) error {
		return look("consumer "+stream+"/"+durable, func() error {
			var resp struct {
				Error *jetstream.APIError `json:"error"`
			}
			if err := c.api(ctx, "CONSUMER.INFO."+stream+"."+durable, struct{}{}, &resp); err != nil {
				return err
			}
			if resp.Error != nil {
				return fault.New(fault.Unavailable, "consumer %s of %s: %w", durable, stream, resp.Error)
			}
			return nil
		})
	}
	stream := func(what, name string) error {
		return look(what, func() error {
			_, err := c.streamInfo(ctx, name)
			return err
		})
	}
	value := func(bucket, key string) error {
		return look("bucket "+bucket, func() error {
			_, err := c.request(ctx, "$JS.API.DIRECT.GET.KV_"+bucket+"."+key, nil) // any answer will do
			return err
		})
	}
	var wrong []error
	if len(spec.Doorbells) > 0 {
		wrong = append(wrong, consumer(subject.Journal, spec.Name))
	}
	if spec.RungInTime() {
		wrong = append(wrong, consumer(subject.Timers, TimerConsumer(spec.Name)))
	}
	if spec.Snapshots {
		wrong = append(wrong, value(subject.Snap, "$KV."+subject.Snap+"."+spec.Name+".none"))
	}
	if spec.Values {
		wrong = append(wrong, value(subject.Settings, valuePrefix+spec.Name+".none"))
	}
	if spec.ReadsCatalog {
		wrong = append(wrong, stream("bucket "+subject.Catalog, "KV_"+subject.Catalog))
	}
	if spec.ReadsJournal() {
		wrong = append(wrong, stream("store "+subject.Blobs, blobStream))
	}
	if spec.System {
		wrong = append(wrong, look("stream "+subject.System, func() error {
			_, err := c.leaderGet(ctx, subject.System, leaderRequest{LastFor: ">"})
			return ignoreNone(err)
		}))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if len(e.What) > 0 {
		return e
	}
	return nil
}

func ignoreNone(err error) error {
	if errors.Is(err, ErrNoEvent) {
		return nil
	}
	return err
}

// patience asks again for a while what nobody has answered: a cluster that has just begun, or lost a leader, has nobody who could.
type patience struct{ until time.Time }

func (p patience) ask(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil || missing(err) || time.Now().After(p.until) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settlePause):
		}
	}
}

const (
	settleTime  = 12 * time.Second // an election takes up to nine
	settlePause = 250 * time.Millisecond
)
