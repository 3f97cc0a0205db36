package intake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// The verbs about people. They are for whoever can read the home's keys: no other way in leads to them.
const (
	verbPairingList    = "pairing-list"
	verbPairingApprove = "pairing-approve"
	verbPairingRevoke  = "pairing-revoke"
)

// PairingListRequest asks who wants in and who is (svc.intake.pairing-list).
type PairingListRequest struct{}

// PairingList is the answer, each part oldest first. Who is let in by the configuration alone is not in it.
type PairingList struct {
	Requests []access.Request `json:"requests"` // that are open
	People   []access.Person  `json:"people"`
}

// PairingApproveRequest lets in who was told a code (svc.intake.pairing-approve). The same code again gets the same answer.
// fault.NotFound: nobody waits with it.
type PairingApproveRequest struct {
	Code  string `json:"code"`            // in upper or lower case
	Owner bool   `json:"owner,omitempty"` // as an owner; who is one already stays one
}

// PairingApproved says who is in.
type PairingApproved struct {
	access.Person
	Already bool   `json:"already"`        // they were, as that
	Told    bool   `json:"told"`           // a notice in their session says so
	Note    string `json:"note,omitempty"` // why they were not told
}

// PairingRevokeRequest sends somebody away (svc.intake.pairing-revoke). fault.NotFound: they were not let in.
type PairingRevokeRequest struct {
	Who     string `json:"who"`               // a number, or an identity as telegram:12345
	Account string `json:"account,omitempty"` // "": at all doors
}

// PairingRevoked says who was sent away.
type PairingRevoked struct {
	Who   string          `json:"who"`
	Doors []accessv1.Door `json:"doors"` // where they were in, or had asked to be
	Owner bool            `json:"owner"` // they were an owner, and are none any more
	// Still are the accounts where the configuration lets them in all the same.
	Still []string `json:"still"`
}

func (s *Service) onPairingList(ctx context.Context, data []byte) (any, error) {
	var r PairingListRequest
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	st, _, err := s.access.Fold(ctx, accessv1.Session, 0)
	if err != nil {
		return nil, err
	}
	return PairingList{Requests: append([]access.Request{}, st.Requests(time.Now())...), People: append([]access.Person{}, st.People()...)}, nil
}

func (s *Service) onPairingApprove(ctx context.Context, data []byte) (any, error) {
	var r PairingApproveRequest
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	a, err := s.approve(ctx, strings.TrimSpace(r.Code), r.Owner)
	if err != nil {
		return nil, err
	}
	// They are in, whatever becomes of the notice; who approves the code again tells them again.
	if a.Note, err = s.welcome(ctx, a.Person); err != nil {
		a.Note = "they could not be told: " + err.Error() + "; approve the code again to repeat it"
	}
	a.Told = a.Note == ""
	return a, nil
}

// approve lets in who was told a code, unless they are.
func (s *Service) approve(ctx context.Context, code string, owner bool) (a PairingApproved, err error) {
	var (
		wrong error
		by    accessv1.Granted
	)
	err = s.decideAccess(ctx, func(st access.State) (accessv1.Event, string) {
		if by, wrong = grantOf(st, code, time.Now()); wrong != nil {
			return nil, ""
		}
		var in bool
		if a.Person, in = st.Person(by.Door, by.Who); in && (a.Owner || !owner) {
			a.Already = true
			return nil, ""
		}
		by.Owner = owner
		a.Already = false
		return by, ""
	})
	switch {
	case cmp.Or(err, wrong) != nil:
		return a, cmp.Or(err, wrong)
	case a.Already:
		return a, nil
	}
	st, _, err := s.access.Fold(ctx, accessv1.Session, 0)
	if err != nil {
		return a, err
	}
	in := false
	if a.Person, in = st.Person(by.Door, by.Who); !in {
		return a, fault.New(fault.Conflict, "%s was let in and sent away at once by somebody else", by.Who)
	}
	return a, nil
}

// grantOf is what a code stands for.
func grantOf(st access.State, code string, now time.Time) (accessv1.Granted, error) {
	r, asked := st.Request(code)
	if asked && r.Open(now) {
		return accessv1.Granted{Door: r.Door, Who: r.Who, Name: r.Name, By: local}, nil
	}
	if p, in := st.Approved(code); in {
		return accessv1.Granted{Door: p.Door, Who: p.Who, Name: p.Name, By: local}, nil
	}
	const again = "a code is good for an hour; when they write to the bot again, they are told a new one"
	if asked {
		return accessv1.Granted{}, fault.New(fault.NotFound, "the code %s has expired: %s", r.Code, again)
	}
	return accessv1.Granted{}, fault.New(fault.NotFound, "nobody waits with the code %.20q: %s", code, again)
}

// welcomeText is what somebody is told who was let in.
const welcomeText = "You are let in. Write your message again."

// welcome tells somebody, once, that they are let in; or says why that is not possible.
func (s *Service) welcome(ctx context.Context, p access.Person) (note string, err error) {
	door, ok := s.doors[p.Account]
	user, numbered := userOf(p.Channel, p.Who)
	if !ok || !numbered || p.Channel != channelTelegram {
		return "they were not told: there is no bot " + p.Account + " in the configuration", nil
	}
	sid, err := session.New(door.Agent, p.Channel, p.Account, strconv.FormatInt(user, 10))
	if err != nil {
		return "", err
	}
	st, last, err := s.fold(ctx, sid, 0)
	if err != nil {
		return "", err
	}
	if st.Deleted() {
		return "they were not told: their conversation was deleted; it begins anew when they write", nil
	}
	key := "let-in." + strconv.FormatUint(p.Cursor, 10)
	if told, err := s.has(ctx, last, p.Cursor, key); told || err != nil {
		return "", err
	}
	_, err = s.journal.AppendFact(ctx, envelope.Event{
		ID: thread.MessageID(sid, key), Session: sid, Key: key, Body: noticev1.Posted{Service: name, Text: welcomeText},
	}, last)
	return "", err
}

// lookBack bounds how many events are looked through for a notice: whoever has said so much knows that they are in.
const lookBack = 100

// has says whether a session has an event with a key, from its last one back to a cursor of the journal.
func (s *Service) has(ctx context.Context, last, after uint64, key string) (bool, error) {
	for range lookBack {
		if last <= after {
			return false, nil
		}
		e, err := s.journal.Get(ctx, last)
		if errors.Is(err, bus.ErrNoEvent) { // the session was deleted, and has begun anew
			return true, nil
		}
		if err != nil || e.Key == key {
			return err == nil, err
		}
		last = e.Prev
	}
	return true, nil
}

// userOf is the number in an identity of a channel.
func userOf(channel, who string) (int64, bool) {
	text, ok := strings.CutPrefix(who, channel+":")
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ok && err == nil && n > 0 && access.Identity(channel, n) == who
}

func (s *Service) onPairingRevoke(ctx context.Context, data []byte) (any, error) {
	var r PairingRevokeRequest
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	who := strings.TrimSpace(r.Who)
	if !strings.Contains(who, ":") {
		who = channelTelegram + ":" + who
	}
	user, ok := userOf(channelTelegram, who)
	if !ok {
		return nil, fault.New(fault.Invalid, "who %.40q: want the number of a person, as 12345 or telegram:12345", r.Who)
	}
	a := PairingRevoked{Who: who, Doors: []accessv1.Door{}, Still: s.configured(user, r.Account)}
	for { // a door at a time; each is gone from the fold that follows
		var gone accessv1.Door
		err := s.decideAccess(ctx, func(st access.State) (accessv1.Event, string) {
			var known, owner bool
			if gone, owner, known = knownAt(st, who, r.Account, time.Now()); !known {
				gone = accessv1.Door{}
				return nil, ""
			}
			a.Owner = a.Owner || owner
			return accessv1.Revoked{Door: gone, Who: who, By: local}, ""
		})
		switch {
		case err != nil:
			return nil, err
		case gone != accessv1.Door{}:
			a.Doors = append(a.Doors, gone)
		case len(a.Doors) == 0:
			return nil, notIn(a, r.Account)
		default:
			return a, nil
		}
	}
}

// knownAt is a door where somebody is in, or waits to be; of one account, or of any.
func knownAt(st access.State, who, account string, now time.Time) (d accessv1.Door, owner, ok bool) {
	for _, p := range st.People() {
		if p.Who == who && (account == "" || account == p.Account) {
			return p.Door, p.Owner, true
		}
	}
	for _, r := range st.Requests(now) {
		if r.Who == who && (account == "" || account == r.Account) {
			return r.Door, false, true
		}
	}
	return d, false, false
}

// configured are the accounts where the configuration lets somebody in privately.
func (s *Service) configured(user int64, account string) []string {
	still := []string{}
	for name, d := range s.doors {
		if (account == "" || account == name) && (d.Policy.Mode == access.Open || slices.Contains(d.Policy.Allow, user)) {
			still = append(still, name)
		}
	}
	slices.Sort(still)
	return still
}

func notIn(a PairingRevoked, account string) error {
	at := ""
	if account != "" {
		at = " at the bot " + account
	}
	if len(a.Still) > 0 {
		return fault.New(fault.NotFound, "%s was not let in by a code%s: the configuration lets them in at %s, by access, allow or owners",
			a.Who, at, strings.Join(a.Still, ", "))
	}
	return fault.New(fault.NotFound, "%s was not let in%s", a.Who, at)
}
