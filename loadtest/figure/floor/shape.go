package floor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Step is one append of a turn.
type Step struct {
	Kind   string   `json:"kind"`
	Suffix string   `json:"suffix,omitempty"`
	Header int      `json:"header"` // mean bytes of the headers
	Data   int      `json:"data"`   // mean bytes of the body
	Rings  []string `json:"rings"`  // consumers that are delivered it
}

// Shape is the turn that a run consisted of.
type Shape struct {
	Steps    []Step         `json:"steps"`
	Answered int            `json:"answered"` // index of the step that ends the turn: from then on the reply can be read
	Turns    int            `json:"turns"`    // seen in the journal
	Share    float64        `json:"share"`    // of them that have exactly these steps
	Appends  map[string]int `json:"appends"`  // all events of the journal by kind
	Bells    []store.Bell   `json:"bells"`    // the journal's consumers
}

// Deliveries is the number of doorbells of a turn.
func (s Shape) Deliveries() int {
	n := 0
	for _, st := range s.Steps {
		n += len(st.Rings)
	}
	return n
}

func (s Shape) String() string {
	var b strings.Builder
	for i, st := range s.Steps {
		if i > 0 {
			b.WriteString(" → ")
		}
		fmt.Fprintf(&b, "%s(%d+%d B)", st.Kind, st.Header, st.Data)
		if len(st.Rings) > 0 {
			b.WriteString(" rings " + strings.Join(st.Rings, ", "))
		}
	}
	return b.String()
}

// ErrNoTurn says that a journal has no finished turn.
var ErrNoTurn = errors.New("the journal has no finished turn")

// ShapeOf counts the turns of a journal and takes the most frequent sequence of events as the turn's shape.
func ShapeOf(journal []store.Record, bells []store.Bell) (Shape, error) {
	s := Shape{Appends: map[string]int{}}
	for _, b := range bells {
		if b.Stream == subject.Journal {
			s.Bells = append(s.Bells, b)
		}
	}
	turns := group(journal, s.Appends)
	count := map[string]int{}
	for _, t := range turns {
		count[signature(t)]++
		s.Turns++
	}
	best := ""
	for sig, n := range count {
		if n > count[best] || n == count[best] && sig < best {
			best = sig
		}
	}
	if best == "" {
		return Shape{}, ErrNoTurn
	}
	s.Share = float64(count[best]) / float64(s.Turns)
	s.mean(turns, best)
	s.Answered = slices.IndexFunc(s.Steps, func(st Step) bool { return st.Kind == "turn.completed" })
	if len(s.Steps[0].Rings) == 0 {
		return Shape{}, fmt.Errorf("%s rings no consumer of %v", s.Steps[0].Kind, s.Bells)
	}
	return s, nil
}

// mean fills the steps from all turns of one signature.
func (s *Shape) mean(turns [][]store.Record, sig string) {
	n := 0
	for _, t := range turns {
		if signature(t) != sig {
			continue
		}
		if s.Steps == nil {
			for _, r := range t {
				st := Step{Kind: r.Kind()}
				if e, err := subject.ParseEvent(r.Subject); err == nil {
					st.Suffix = e.Suffix
				}
				for _, b := range s.Bells {
					if b.Rings(r.Subject) {
						st.Rings = append(st.Rings, b.Name)
					}
				}
				s.Steps = append(s.Steps, st)
			}
		}
		for i, r := range t {
			s.Steps[i].Header += r.Header
			s.Steps[i].Data += r.Data
		}
		n++
	}
	for i := range s.Steps {
		s.Steps[i].Header /= n
		s.Steps[i].Data /= n
	}
}

func signature(t []store.Record) string {
	var kinds []string
	for _, r := range t {
		kinds = append(kinds, r.Kind())
	}
	return strings.Join(kinds, " ")
}

// group collects the events of each answered message: itself, its turn's, the turn's calls', and its delivery's, by what the
// bodies name; anything else by its cause.
func group(journal []store.Record, appends map[string]int) [][]store.Record {
	type key struct {
		session session.ID
		id      string
	}
	owner := map[key]string{} // event or turn → the message that it belongs to
	turns := map[key][]store.Record{}
	var order []key
	for _, r := range journal {
		appends[r.Kind()]++
		at := func(id string) key { return key{r.Session, id} }
		msg := ""
		switch b := r.Body.(type) {
		case messagev1.Received:
			msg = r.ID
			order = append(order, at(msg))
		case turnv1.Started:
			if len(b.Messages) > 0 {
				msg = b.Messages[0]
				owner[at(b.Turn)] = msg
			}
		case turnv1.Continued:
			msg = owner[at(b.Turn)]
		case turnv1.Resumed:
			msg = owner[at(b.Turn)]
		case turnv1.Stepped:
			msg = owner[at(b.Turn)]
		case turnv1.Completed:
			msg = owner[at(b.Turn)]
		case turnv1.Failed:
			msg = owner[at(b.Turn)]
		case callv1.Dispatched:
			msg = owner[at(b.Turn)]
		case callv1.Awaiting:
			msg = owner[at(b.Turn)]
		case callv1.Denied:
			msg = owner[at(b.Turn)]
		case callv1.Started:
			msg = owner[at(b.Turn)]
		case callv1.Asked:
			msg = owner[at(b.Turn)]
		case callv1.Completed:
			msg = owner[at(b.Turn)]
		case deliveryv1.Started:
			msg = owner[at(b.Delivery)]
		case deliveryv1.Sent:
			msg = owner[at(b.Delivery)]
		default:
			msg = owner[at(r.Cause)]
		}
		owner[at(r.ID)] = msg
		if msg != "" {
			turns[at(msg)] = append(turns[at(msg)], r)
		}
	}
	var out [][]store.Record
	for _, k := range order {
		if slices.ContainsFunc(turns[k], func(r store.Record) bool { return r.Kind() == "turn.completed" }) {
			out = append(out, turns[k])
		}
	}
	return out
}
