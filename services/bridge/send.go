package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

type sendIn struct {
	Session string `json:"session_key"`
	Text    string `json:"text"`
	Wait    bool   `json:"wait,omitempty"`
	Timeout int    `json:"timeout_ms,omitempty"`
	Key     string `json:"idempotency_key,omitempty"`
}

type sendOut struct {
	Delivery string `json:"deliveryId"`
	Session  string `json:"sessionKey"`
	Cursor   uint64 `json:"cursor"`
	Status   string `json:"status" jsonschema:"queued; sent: the channel has it; deferred: it is tried again; failed; unknown: it may have arrived"`
	Receipt  string `json:"receipt,omitempty" jsonschema:"the channel's own id of it"`
	Reason   string `json:"reason,omitempty"`
}

// outbox is asked to say something.
const outbox = "outbox"

type sendQuestion struct {
	Session    string               `json:"session"`
	Text       string               `json:"text"`
	Key        string               `json:"key,omitempty"`
	By         string               `json:"by"`
	Permission *noticev1.Permission `json:"permission,omitempty"`
}

type sendReceipt struct {
	Delivery string     `json:"delivery"`
	Session  session.ID `json:"session"`
	Cursor   uint64     `json:"cursor"`
}

func (b *Bridge) messagesSend(ctx context.Context, r *mcp.CallToolRequest, in sendIn) (string, sendOut, error) {
	id, err := sessionOf(in.Session)
	if err != nil {
		return "", sendOut{}, err
	}
	if id.Channel() == event.Client {
		return "", sendOut{}, fault.New(fault.Invalid, "nobody reads %s: it has the calls of a program outside", id)
	}
	if in.Key == "" {
		in.Key = rand.Text() // so that asking once more, after a restart of jetclaw, sends nothing twice
	}
	got, err := ask[sendReceipt](ctx, b.line, outbox, "send", sendQuestion{Session: string(id), Text: in.Text, Key: in.Key, By: clientOf(r.Session, r.Extra)})
	if err != nil {
		return "", sendOut{}, notThere(id, err)
	}
	out := sendOut{Delivery: got.Delivery, Session: string(got.Session), Cursor: got.Cursor, Status: "queued"}
	if in.Wait {
		limit := waitUsual
		if in.Timeout > 0 {
			limit = time.Duration(in.Timeout) * time.Millisecond
		}
		if err := b.fate(ctx, id, &out, limit); err != nil {
			return "", sendOut{}, err
		}
	}
	return "message: " + out.Status, out, nil
}

var errSent = errors.New("the time to wait is over")

// fate waits for what becomes of a delivery, and says what is known when the time is over.
func (b *Bridge) fate(ctx context.Context, id session.ID, out *sendOut, limit time.Duration) error {
	wait, cancel := context.WithTimeoutCause(ctx, limit, errSent)
	defer cancel()
	q := query{after: out.Cursor, session: id, types: []event.Type{event.DeliveryType}, limit: pollMost}
	b.wait(wait, out.Cursor)
	for {
		p, changed, err := b.glance(wait, q)
		switch {
		case errors.Is(context.Cause(wait), errSent):
			return nil
		case fault.KindOf(err) == fault.Invalid: // the reader is not there yet
			p.next = q.after
		case err != nil:
			return err
		}
		for _, e := range p.events {
			d, ok := e.Body.(event.Delivery)
			if !ok || d.ID != out.Delivery {
				continue
			}
			if out.Status, out.Receipt, out.Reason = d.Status, d.Receipt, d.Reason; d.Final() {
				return nil
			}
		}
		if q.after = p.next; p.more {
			continue
		}
		select {
		case <-changed:
		case <-wait.Done():
			if errors.Is(context.Cause(wait), errSent) {
				return nil
			}
			return context.Cause(wait)
		}
	}
}

// clientOf is what the program at the other end is called in the journal: by the name of its token, where it has one, and by the name
// that it gives itself, which proves nothing. extra may be nil.
func clientOf(s *mcp.ServerSession, extra *mcp.RequestExtra) string {
	name := "mcp"
	if extra != nil && extra.TokenInfo != nil {
		token, _, _ := strings.Cut(extra.TokenInfo.UserID, "/")
		name += ":" + plain(token)
	}
	if own := nameOfClient(s); own != "" {
		name += ":" + plain(own)
	}
	return name
}

// nameOfClient is how a program calls itself; "" when it does not.
func nameOfClient(s *mcp.ServerSession) string {
	if s == nil || s.InitializeParams() == nil || s.InitializeParams().ClientInfo == nil {
		return ""
	}
	return s.InitializeParams().ClientInfo.Name
}

// plain keeps a name to what can be read anywhere, and short.
func plain(name string) string {
	const most = 40
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == ':' {
			return '-'
		}
		return r
	}, name)
	return name[:min(len(name), most)]
}
