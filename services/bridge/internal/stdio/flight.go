package stdio

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// flights are the requests that were read and are not answered yet.
type flights struct {
	maxOpen  int
	maxBytes int
	mu       sync.Mutex
	open     map[jsonrpc.ID]int // guarded by mu; bytes of the line
	bytes    int                // guarded by mu; the sum of open
	leaving  int                // guarded by mu; messages that the writer has taken and not written yet
	idle     chan struct{}      // guarded by mu; closed when nothing is open or leaving; nil while nobody waits for it
}

func newFlights(maxOpen, maxBytes int) *flights {
	return &flights{maxOpen: maxOpen, maxBytes: maxBytes, open: make(map[jsonrpc.ID]int)}
}

// enter takes a place for a request, whose id is not in use.
func (f *flights) enter(id jsonrpc.ID, size int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.open) >= f.maxOpen || f.bytes+size > f.maxBytes {
		return false
	}
	f.open[id] = size
	f.bytes += size
	return true
}

// uses says whether an id is in use.
func (f *flights) uses(id jsonrpc.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.open[id]
	return ok || id == syncID
}

// leave gives the place of a request back, whose answer is about to be written; for an id that is not in use there is none.
func (f *flights) leave(id jsonrpc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes -= f.open[id]
	delete(f.open, id)
	f.leaving++
}

// left says that what leave was called for has been written, or never will be.
func (f *flights) left() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leaving--
	f.tell()
}

// landed is closed once every request is answered and every answer written.
func (f *flights) landed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.tell()
	return idle
}

// tell is called with mu held.
func (f *flights) tell() {
	if f.idle != nil && len(f.open) == 0 && f.leaving == 0 {
		close(f.idle)
		f.idle = nil
	}
}
