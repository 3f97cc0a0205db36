package thread

import (
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the form of State and the meaning of Apply; snapshots of another version are dropped.
const Version = "6"

// Status is what became of something that came in.
type Status uint8

// The statuses. Only Pending changes, once.
const (
	Pending   Status = iota + 1 // a message that no turn has answered yet, or a command or decision without an outcome yet
	Completed                   // it was answered; a stop or a new beginning is, too, when it has happened, and a decision that came too late
	Failed                      // a turn or a command gave up on it
	Cancelled                   // a person stopped its turn, or it gave way to others
	Refused                     // the gate did not admit it
	Done                        // an edit, or an answer to a program's question: taken, nothing answers it
)

var statusNames = [...]string{"unknown", "pending", "completed", "failed", "cancelled", "refused", "done"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return statusNames[0]
}

// State is the fold of one session; the zero value is a session that nobody has written to.
type State struct {
	table   table
	deleted bool   // nothing but a new message may follow
	waits   string // the turn that waits for open calls, or ""
	running running
	// permissions are the questions of programs outside that are open, oldest first, at most maxPermissions; never written through.
	permissions []Permission
}

// Item is one thing that came in.
type Item struct {
	Cursor  uint64 // of its event
	Status  Status
	Outcome uint64 // cursor of the event that ended it, 0 while pending and for what nothing answers
}

// Find looks up by id; ids are also keys, see MessageID.
func (s State) Find(id string) (Item, bool) {
	e, ok := s.table.get(slotOf(id))
	return Item{Cursor: e.cursor, Status: e.status, Outcome: e.outcome}, ok
}

// Len is how many things came in since the session began.
func (s State) Len() int { return s.table.n }

// Deleted says that the session's last event is its tombstone.
func (s State) Deleted() bool { return s.deleted }

// WaitsForCalls says that the running turn waits for tool calls.
func (s State) WaitsForCalls() bool { return s.waits != "" }

// Apply folds one committed event.
func (s State) Apply(e envelope.Event) State {
	s.running = s.running.apply(e)
	switch b := e.Body.(type) {
	case messagev1.Received:
		s.deleted = false
		return s.came(e, Pending)
	case messagev1.Refused:
		return s.came(e, Refused)
	case messagev1.Control:
		// In a journal from before all commands were answered, a stop that found nothing to stop has no answer: it stays
		// pending for ever, which is true of it and keeps nobody waiting but whoever asks for its reply.
		return s.came(e, Pending)
	case messagev1.Decision:
		return s.came(e, Pending)
	case messagev1.Edited, messagev1.Reacted, messagev1.Quarantined:
		return s.came(e, Done)
	case messagev1.PermissionAnswer:
		return s.answeredTo(b.Request).came(e, Done)
	case noticev1.Posted:
		if b.Permission != nil {
			s = s.askedFor(e, *b.Permission)
		}
	case turnv1.Stepped:
		s.waits = b.Turn
	case turnv1.Continued, turnv1.Resumed:
		s.waits = ""
	case turnv1.Completed, turnv1.Failed:
		s.waits = ""
	case turnv1.Cancelled:
		if b.Turn != "" { // else only what waited is cancelled, and the turn goes on
			s.waits = ""
		}
	case turnv1.SessionDeleted:
		return State{deleted: true}
	}
	for _, end := range Ends(e.Body) {
		s = s.ended(end, e.Cursor)
	}
	return s
}

// came adds what came in. A second event of a known id is a repeat that slipped past the server's window.
func (s State) came(e envelope.Event, status Status) State {
	k := slotOf(e.ID)
	if _, ok := s.table.get(k); ok {
		return s
	}
	s.table = s.table.put(entry{slot: k, cursor: e.Cursor, status: status})
	return s
}

// ended settles messages and commands; what is settled already stays so.
func (s State) ended(end End, cursor uint64) State {
	for _, id := range end.IDs {
		if e, ok := s.table.get(slotOf(id)); ok && e.status == Pending {
			e.status, e.outcome = end.Status, cursor
			s.table = s.table.put(e)
		}
	}
	return s
}
