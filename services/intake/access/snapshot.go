package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// stored is a snapshot.
type stored struct {
	People   []Person  `json:"people,omitempty"`
	Requests []Request `json:"requests,omitempty"`
	Moves    []move    `json:"moves,omitempty"`
}

var errSnapshot = errors.New("snapshot of who was let in is damaged")

// MarshalJSON writes a snapshot.
func (s State) MarshalJSON() ([]byte, error) {
	return json.Marshal(stored{People: s.people, Requests: s.requests, Moves: s.moves})
}

// UnmarshalJSON reads a snapshot, whole or not at all.
func (s *State) UnmarshalJSON(data []byte) error {
	var st stored
	if err := json.Unmarshal(data, &st); err != nil {
		return fmt.Errorf("%w: %w", errSnapshot, err)
	}
	out := State{people: nilled(st.People), requests: nilled(st.Requests)}
	for _, m := range st.Moves { // a circle would be walked for ever
		if m.From >= 0 || m.To >= 0 || out.root(m.Door, m.From) == m.To {
			return fmt.Errorf("%w: a group moved from %d to %d", errSnapshot, m.From, m.To)
		}
		out.moves = append(out.moves, m)
	}
	*s = out
	return nil
}

// nilled is a list in the one form that nothing has.
func nilled[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clip(list)
}
