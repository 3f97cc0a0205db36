package thread

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// stored is a snapshot. Rows are packed, some 20 bytes each, because 10,000 of them have to fit one bus message.
type stored struct {
	Deleted bool       `json:"deleted,omitempty"`
	Waits   string     `json:"waits,omitempty"`
	Turn    string     `json:"turn,omitempty"`
	Answers []string   `json:"answers,omitempty"` // of the turn
	Open    []Approval `json:"open,omitempty"`
	// Permissions are the open questions of programs.
	Permissions []Permission `json:"permissions,omitempty"`
	Rows        []byte       `json:"rows,omitempty"` // slot, uvarint cursor, uvarint outcome-cursor or 0, status; by slot
}

var errSnapshot = errors.New("snapshot of a thread is damaged")

// MarshalJSON writes a snapshot; equal states have equal snapshots.
func (s State) MarshalJSON() ([]byte, error) {
	st := stored{
		Deleted: s.deleted, Waits: s.waits, Turn: s.running.turn, Answers: s.running.messages, Open: s.running.open,
		Permissions: s.permissions,
	}
	if s.table.n > 0 {
		st.Rows = make([]byte, 0, s.table.n*(len(slot{})+8))
	}
	s.table.each(func(e entry) {
		st.Rows = append(st.Rows, e.slot[:]...)
		st.Rows = binary.AppendUvarint(st.Rows, e.cursor)
		var after uint64
		if e.outcome > e.cursor {
			after = e.outcome - e.cursor
		}
		st.Rows = append(binary.AppendUvarint(st.Rows, after), byte(e.status))
	})
	return json.Marshal(st)
}

// UnmarshalJSON reads a snapshot, whole or not at all.
func (s *State) UnmarshalJSON(data []byte) error {
	var st stored
	if err := json.Unmarshal(data, &st); err != nil {
		return fmt.Errorf("%w: %w", errSnapshot, err)
	}
	out := State{deleted: st.Deleted, waits: st.Waits, running: running{turn: st.Turn}}
	if len(st.Answers) > 0 { // one form of nothing: equal states are equal values
		out.running.messages = st.Answers
	}
	if len(st.Open) > 0 {
		out.running.open = st.Open
	}
	if len(st.Permissions) > 0 {
		out.permissions = st.Permissions
	}
	var run []entry
	for rest := st.Rows; len(rest) > 0; {
		e, n := readEntry(rest)
		if n == 0 || len(run) > 0 && !less(run[len(run)-1].slot, e.slot) {
			return fmt.Errorf("%w at row %d", errSnapshot, len(run))
		}
		run, rest = append(run, e), rest[n:]
	}
	if len(run) > 0 {
		out.table = table{root: build(run, 0), n: len(run)}
	}
	*s = out
	return nil
}

// readEntry takes one row and says how long it was; 0 for a damaged one.
func readEntry(b []byte) (e entry, n int) {
	if n = copy(e.slot[:], b); n < len(e.slot) {
		return entry{}, 0
	}
	var c, o int
	if e.cursor, c = binary.Uvarint(b[n:]); c <= 0 {
		return entry{}, 0
	}
	n += c
	after, o := binary.Uvarint(b[n:])
	if n += o; o <= 0 || n >= len(b) {
		return entry{}, 0
	}
	if after > 0 {
		e.outcome = e.cursor + after
	}
	if e.status = Status(b[n]); e.status < Pending || e.status > Done {
		return entry{}, 0
	}
	return e, n + 1
}

func less(a, b slot) bool { return string(a[:]) < string(b[:]) }
