// Package deliveryv1 has the events of the outbox: what became of everything that was to be shown to a person.
package deliveryv1

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	envelope.Body
	delivery()
}

// Ref names one attempt to deliver one part of one thing.
type Ref struct {
	Delivery string `json:"delivery"`       // id of the event that is shown
	Attempt  int    `json:"attempt"`        // from 1, for each part
	Part     int    `json:"part,omitempty"` // from 0; most things have one
}

// Started claims an attempt on a channel that cannot tell a repeat: appended before the channel is called.
type Started struct {
	Ref
	Worker   string    `json:"worker"`
	Deadline time.Time `json:"deadline"`
	Repeat   bool      `json:"repeat,omitempty"` // an earlier attempt may have arrived; shown as such
}

// Sent says that the channel has it.
type Sent struct {
	Ref
	Receipt string `json:"receipt,omitempty"` // the channel's own id
	More    bool   `json:"more,omitempty"`    // there is another part: only with the last one it is all there
}

// Deferred says that the attempt did not arrive and when the next is due.
type Deferred struct {
	Ref
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	// Untried says that the limits of the channel left no room: it is no attempt that failed.
	Untried bool `json:"untried,omitempty"`
}

// Failed ends the delivery: a permanent error, or too many attempts.
type Failed struct {
	Ref
	Reason string `json:"reason"`
}

// Unknown says that the attempt may have arrived: its worker died between the call and the receipt, or no answer came.
type Unknown struct {
	Ref
	Resend bool `json:"resend"` // the policy at the time: send again marked as a repeat, else hold for a person
}

// Drafting announces that an answer is shown while the model speaks: a message is about to be posted, and edited as the text
// grows. Appended before the channel is called, by whoever does it.
type Drafting struct {
	Turn     string    `json:"turn"`
	Round    int       `json:"round"` // the model call that speaks; each has a draft of its own
	Worker   string    `json:"worker"`
	Deadline time.Time `json:"deadline"` // until then Drafted follows, or nobody knows whether the message is there
}

// Drafted says that it was posted, before it is edited for the first time; what the model call ends with becomes its last text.
type Drafted struct {
	Turn    string `json:"turn"`
	Round   int    `json:"round"`
	Receipt string `json:"receipt,omitempty"` // the channel's own id; "" when it was not posted after all
}

func (Started) EventType() string  { return "delivery.started.v1" }
func (Drafting) EventType() string { return "delivery.drafting.v1" }
func (Drafted) EventType() string  { return "delivery.drafted.v1" }
func (Sent) EventType() string     { return "delivery.sent.v1" }
func (Deferred) EventType() string { return "delivery.deferred.v1" }
func (Failed) EventType() string   { return "delivery.failed.v1" }
func (Unknown) EventType() string  { return "delivery.unknown.v1" }

func (Started) delivery()  {}
func (Drafting) delivery() {}
func (Drafted) delivery()  {}
func (Sent) delivery()     {}
func (Deferred) delivery() {}
func (Failed) delivery()   {}
func (Unknown) delivery()  {}
