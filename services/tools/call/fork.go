package call

import (
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// forked begins a session with the past of another one: what its model has read there it knows here. What may run is
// another matter: nobody has allowed anything here. Anywhere but at the beginning it means nothing.
func (s State) forked(ev envelope.Event, b turnv1.Forked) State {
	if ev.Prev != 0 {
		return s
	}
	for _, line := range b.Events {
		old, err := envelope.ParseLine(line, registry.Decode)
		if err != nil { // whatever it was, it may have been read
			s.Taint = Taint{Untrusted: true, Private: true}
			continue
		}
		s = s.Apply(old)
	}
	s.Turn, s.Calls, s.Always = "", nil, nil
	return s
}
