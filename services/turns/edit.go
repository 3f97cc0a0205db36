package turns

import (
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// matters says whether an event of the past means something for a fold of the fork. What was shown to people, who was let in
// and what was refused is history of the other session only.
func matters(ev envelope.Event) bool {
	if ev.ID == "" { // no event, but a place in the chain
		return false
	}
	switch ev.Body.(type) {
	case deliveryv1.Event, accessv1.Event, messagev1.Refused, messagev1.Reacted, messagev1.Quarantined, messagev1.Decision,
		messagev1.PermissionAnswer:
		return false
	}
	return true
}

// apply edits one event of the past in place.
func (e *Edit) apply(past []envelope.Event) (*turnv1.Edit, error) {
	if len(e.Text) > maxText {
		return nil, fault.New(fault.TooLarge, "edit: the text has %d bytes, at most %d can stand in a conversation", len(e.Text), maxText)
	}
	for i, ev := range past {
		if ev.Cursor != e.Cursor {
			continue
		}
		body, ok := withText(ev.Body, e.Text)
		switch b := body.(type) {
		case messagev1.Received:
			ok = ok && (len(b.Files) > 0 || strings.TrimSpace(b.Text) != "")
		case messagev1.Edited:
			ok = ok && strings.TrimSpace(b.Text) != ""
		}
		switch {
		case ok:
			past[i].Body = body
			return &turnv1.Edit{Cursor: ev.Cursor, Kind: ev.Kind()}, nil
		case body != nil:
			return nil, fault.New(fault.Invalid, "edit: a message needs a text, and that of event %d would be empty", e.Cursor)
		}
		return nil, fault.New(fault.Invalid, "edit: event %d is %s, and %s", e.Cursor, ev.Kind(), e.instead(past))
	}
	return nil, fault.New(fault.Invalid, "edit: event %d is none of the past that is taken over, and %s", e.Cursor, e.instead(past))
}

// instead says what can be edited, the nearest of it.
func (e *Edit) instead(past []envelope.Event) string {
	const what = "what can be edited is the text of a message.received, a message.edited or a call.completed"
	var nearest envelope.Event
	for _, ev := range past {
		if editable(ev) && (nearest.Cursor == 0 || distance(ev.Cursor, e.Cursor) < distance(nearest.Cursor, e.Cursor)) {
			nearest = ev
		}
	}
	if nearest.Cursor == 0 {
		return what + ": there is none here"
	}
	return fmt.Sprintf("%s: the nearest is event %d (%s)", what, nearest.Cursor, nearest.Kind())
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// editable says whether the text of an event can be another one in a fork.
func editable(ev envelope.Event) bool {
	body, _ := withText(ev.Body, "")
	return body != nil
}

// withText is a body with another text; nil for one that has none which a person may want to be another.
func withText(body envelope.Body, text string) (envelope.Body, bool) {
	switch b := body.(type) {
	case messagev1.Received:
		b.Text = text
		return b, true
	case messagev1.Edited:
		b.Text = text
		return b, true
	case callv1.Completed: // whose words it was counts as before: who edits it may have copied some of it
		b.Content, b.Cut = text, 0
		return b, true
	}
	return nil, false
}
