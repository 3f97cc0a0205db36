package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/mcpv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/mcp/catalogue"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

// listTime bounds what a call waits for a list that has changed.
const listTime = 3 * time.Second

// list asks the server what it offers, and publishes that when it is new.
func (u *upstream) list(ctx context.Context, l *link) error {
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	u.mu.Lock()
	u.stale = false
	u.mu.Unlock()
	tools, err := l.session.Tools(ctx)
	if err != nil {
		u.mu.Lock()
		u.stale = true
		u.mu.Unlock()
		return err
	}
	lists := listingOf(tools, l.session.Info(), u.s.redact)
	u.mu.Lock()
	retired := l.isRetired()
	if !retired {
		u.lists = &lists
	}
	u.mu.Unlock()
	if retired { // what is configured now may be another server
		return nil
	}
	return u.build(ctx)
}

// listingOf is what a server lists, without secrets: what it says of its tools is read by models, and by whoever reads the bus.
func listingOf(tools []client.Tool, info client.Info, redact func(string) string) catalogue.Listing {
	lists := catalogue.Listing{Resources: info.Resources, Prompts: info.Prompts}
	for _, t := range tools {
		lists.Tools = append(lists.Tools, catalogue.Tool{
			Name: t.Name, Title: redact(t.Title), Description: redact(t.Description), Schema: json.RawMessage(redact(string(t.Schema))),
			TaskRequired: t.TaskRequired,
			ReadOnly:     t.ReadOnly, Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld,
		})
	}
	return lists
}

// build makes the catalogue of what the server has listed last, and publishes it when it is new.
func (u *upstream) build(ctx context.Context) error {
	u.building.Lock()
	defer u.building.Unlock()
	if _, err := u.definitionNow(); err != nil {
		return err
	}
	onOffer, err := u.onOffer(ctx)
	if err != nil {
		return err
	}
	u.mu.Lock()
	if u.lists == nil { // another server is configured since
		u.mu.Unlock()
		return nil
	}
	d := u.conf // as it is written: what it refers to is nobody's business
	built := catalogue.Build(u.name, d, *u.lists)
	u.built = &built
	u.mu.Unlock()
	is := digestOf(built.Catalogue)
	same := is == digestOf(onOffer)
	if !same {
		if err := u.publish(ctx, built.Catalogue); err != nil {
			return err
		}
	}
	// Not before: who starts after a crash takes the catalogue for made of this.
	if err := u.s.conn.SetValue(ctx, basisKey+u.name, []byte(basis(d))); err != nil {
		return err
	}
	if same {
		return nil
	}
	u.tell(ctx, mcpv1.Listed{Tools: len(built.Catalogue.Tools), Filtered: built.Filtered, Dropped: built.Dropped, Digest: is})
	return nil
}

// onOffer is what the bus has of the server: another process may have put it there.
func (u *upstream) onOffer(ctx context.Context) (toolv1.Catalogue, error) {
	raw, err := u.s.conn.CatalogOf(ctx, u.executor)
	if err != nil {
		return toolv1.Catalogue{}, err
	}
	var c toolv1.Catalogue
	if raw != nil && json.Unmarshal(raw, &c) != nil {
		c = toolv1.Catalogue{} // it is replaced
	}
	u.mu.Lock()
	u.published = c
	u.mu.Unlock()
	return c, nil
}

// basisKey begins the keys of values that say what a published catalogue was made of.
const basisKey = "basis."

// digestOf identifies what a catalogue offers, whether it is paused or not.
func digestOf(c toolv1.Catalogue) string {
	c.Paused = nil
	raw, err := json.Marshal(c)
	if err != nil || c.Executor == "" {
		return ""
	}
	return canonical.Digest(raw)
}

// pausedWhy is what models are told: the server's own words are for people.
const pausedWhy = "it kept failing"

// publish puts a catalogue on the bus.
func (u *upstream) publish(ctx context.Context, c toolv1.Catalogue) error {
	now := time.Now()
	u.mu.Lock()
	c.Paused = nil
	if u.state.Paused(now) {
		c.Paused = &toolv1.Paused{Until: u.state.Until, Reason: pausedWhy}
	}
	u.mu.Unlock()
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := u.s.conn.SetCatalog(ctx, u.executor, data); err != nil {
		return err
	}
	u.mu.Lock()
	u.published = c
	u.mu.Unlock()
	return nil
}

// republish shows in the catalogue whether the server is paused.
func (u *upstream) republish(ctx context.Context) error {
	u.building.Lock()
	defer u.building.Unlock()
	c, err := u.onOffer(ctx)
	if err != nil {
		return err
	}
	u.mu.Lock()
	same := c.Executor == "" || (c.Paused != nil) == u.state.Paused(time.Now()) &&
		(c.Paused == nil || c.Paused.Until.Equal(u.state.Until))
	u.mu.Unlock()
	if same {
		return nil
	}
	return u.publish(ctx, c)
}

// withdraw takes the tools of the server away.
func (u *upstream) withdraw(ctx context.Context) {
	u.mu.Lock()
	none := u.published.Executor == ""
	u.mu.Unlock()
	if none {
		return
	}
	if err := u.s.conn.DropCatalog(ctx, u.executor); err != nil {
		u.log.Warn("the tools of an MCP server are still on offer; calls of them are answered", "error", err)
		return
	}
	u.mu.Lock()
	u.published, u.built = toolv1.Catalogue{}, nil
	u.mu.Unlock()
}

// offer sees to it that the tools of the server are known: it asks the server, beside, when nobody has as it is configured now.
func (u *upstream) offer(ctx context.Context) {
	u.mu.Lock()
	d, known := u.conf, u.lists != nil
	published := u.published.Executor != ""
	u.mu.Unlock()
	if known {
		if err := u.build(ctx); err == nil {
			return
		}
	}
	if published {
		made, ok, err := u.s.conn.Value(ctx, basisKey+u.name)
		if err == nil && ok && string(made) == basis(d) {
			return
		}
	}
	u.mu.Lock()
	again := u.surveying != nil
	if !again {
		u.surveying = make(chan struct{})
	}
	u.mu.Unlock()
	if !again {
		u.s.spawn(u.survey)
	}
}

// surveyor is in whose name a server that has a connection for each conversation is asked what it offers.
const surveyor = session.ID("")

// survey asks the server what it offers, until that is known, or nobody wants to know.
func (u *upstream) survey(ctx context.Context) {
	u.mu.Lock()
	surveying := u.surveying
	u.mu.Unlock()
	asked := sync.OnceFunc(func() { close(surveying) })
	end := func(anyhow bool) bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		select {
		case <-u.anew: // it was configured otherwise meanwhile
			if !anyhow {
				return false
			}
		default:
		}
		asked()
		u.surveying = nil
		return true
	}
	for try := 1; ; try++ {
		wait := u.untilTrial()
		if wait <= 0 {
			if u.surveyed(ctx) {
				if end(false) {
					return
				}
				continue
			}
			wait = min(time.Duration(try)*surveyAgain, time.Minute)
		}
		asked()
		select {
		case <-ctx.Done():
			end(true)
			return
		case <-u.anew:
			try = 0
		case <-time.After(wait):
		}
	}
}

// surveyAgain is how long a server that could not be asked is left alone; it grows with the tries.
const surveyAgain = 2 * time.Second

// untilTrial is how long the pause of the server will last.
func (u *upstream) untilTrial() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := time.Now(); u.state.Paused(now) {
		return min(u.state.Until.Sub(now), lookEvery) // somebody may end it
	}
	return 0
}

// maxSlot is how long a server that is asked keeps others from being asked: one that is silent is waited for beside them.
const maxSlot = time.Second

// surveyed asks once. It returns true when there is no more to do.
func (u *upstream) surveyed(ctx context.Context) bool {
	select {
	case u.s.slots <- struct{}{}:
		leave := sync.OnceFunc(func() { <-u.s.slots })
		defer leave()
		defer time.AfterFunc(maxSlot, leave).Stop()
	case <-ctx.Done():
		return true
	}
	u.mu.Lock()
	done := !u.on || u.problem != nil || u.login != nil || u.lists != nil
	u.mu.Unlock()
	if done {
		return true
	}
	l, err := u.acquire(ctx, surveyor, true)
	if err != nil {
		return needsLogin(err)
	}
	u.release(l)
	if u.s.crowded() {
		u.s.endAll(u.idle(time.Now().Add(briefly)), "its tools are known")
	}
	return true
}

// crowd is how many connections are kept for a moment in case the server is called at once: each may be a process.
const crowd = 8

// crowded says whether there are more.
func (s *Service) crowded() bool {
	n := 0
	for _, u := range s.all() {
		u.mu.Lock()
		n += len(u.links)
		u.mu.Unlock()
	}
	return n > crowd
}

// changed hears that a list may have changed. The new one is read beside, and by the next call that ends.
func (u *upstream) changed(kind client.Kind) {
	if kind != client.KindTools {
		return
	}
	u.mu.Lock()
	u.stale = true
	u.mu.Unlock()
	u.keepUp(time.Now())
}

// How long a list is left alone that was read beside calls, and how long one that changes each time: to read a long one takes a
// while, and who changes it all the time is to take none from others.
const (
	leastRest = 500 * time.Millisecond
	mostRest  = 30 * time.Second
)

// keepUp reads the list again, beside, when it may have changed and it is time.
func (u *upstream) keepUp(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.stale || now.Before(u.relist) {
		return
	}
	for _, l := range u.links {
		if now.Sub(u.relist) < 2*u.rest {
			u.rest = min(2*u.rest, mostRest)
		} else {
			u.rest = leastRest
		}
		u.relist = now.Add(u.rest)
		u.s.spawn(func(ctx context.Context) { u.refresh(ctx, l) })
		return
	}
}

// refresh reads the list again when it may have changed.
func (u *upstream) refresh(ctx context.Context, l *link) {
	select {
	case <-l.open:
	default:
		return // it is about to list
	}
	u.mu.Lock()
	stale := u.stale
	u.mu.Unlock()
	if !stale || l.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if err := u.list(ctx, l); err != nil {
		u.log.Debug("what an MCP server offers now is not known yet", "error", err)
	}
}
