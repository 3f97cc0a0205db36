package fakemodel

import (
	"maps"
	"net/http"
	"time"
)

const (
	maxTally  = 1 << 20
	maxModels = 1000
)

// Tally is what the model was asked about one marker.
type Tally struct {
	Requests int           // that came in
	Refused  int           // of them, with a status
	Finished int           // whose answer was written, but perhaps for its last bytes
	Took     time.Duration // of the last finished: from the request's first line read to the answer's last bytes
	Spent    time.Duration // of all finished
	Bytes    int           // of the last request's body
}

// Count is what was reported of one model. Tokens count once the answer that reports them is on its way.
type Count struct {
	Calls     int `json:"calls"`     // requests that could be read
	Answered  int `json:"answered"`  // whole
	Refused   int `json:"refused"`   // with a status
	Summaries int `json:"summaries"` // of Answered: requests to summarise
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
}

func (c Count) plus(o Count) Count {
	return Count{
		c.Calls + o.Calls, c.Answered + o.Answered, c.Refused + o.Refused, c.Summaries + o.Summaries,
		c.Input + o.Input, c.Output + o.Output,
	}
}

// Counts is the answer of GET /counts.
type Counts struct {
	Total  Count            `json:"total"`
	Models map[string]Count `json:"models"` // by the name that was asked for; at most a thousand, others are in Total only
}

// Open is what was being answered at one moment.
type Open struct {
	All       int
	Summaries int
	Models    map[string]int
}

// book has all that is counted.
type book struct {
	tally     map[string]*Tally // at most maxTally markers, later ones are not counted
	counts    Counts
	open      map[string]int // requests by model, once they are read
	summaries int            // of them
}

func newBook() book {
	return book{tally: map[string]*Tally{}, counts: Counts{Models: map[string]Count{}}, open: map[string]int{}}
}

func (b *book) mark(marks []string, f func(*Tally)) {
	for _, m := range marks {
		t := b.tally[m]
		if t == nil {
			if len(b.tally) >= maxTally {
				continue
			}
			t = &Tally{}
			b.tally[m] = t
		}
		f(t)
	}
}

func (b *book) add(model string, c Count) {
	b.counts.Total = b.counts.Total.plus(c)
	if _, ok := b.counts.Models[model]; ok || len(b.counts.Models) < maxModels {
		b.counts.Models[model] = b.counts.Models[model].plus(c)
	}
}

func (b *book) opened(t talk, n int) {
	if b.open[t.Model] += n; b.open[t.Model] == 0 {
		delete(b.open, t.Model)
	}
	if t.summary() {
		b.summaries += n
	}
}

// Tally is the count of one marker.
func (s *Server) Tally(m string) Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.book.tally[m]; t != nil {
		return *t
	}
	return Tally{}
}

// Counts is what was reported so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{s.book.counts.Total, maps.Clone(s.book.counts.Models)}
}

// OpenNow is what is being answered now.
func (s *Server) OpenNow() Open {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Open{All: s.Open(), Summaries: s.book.summaries, Models: maps.Clone(s.book.open)}
}

func (s *Server) getCounts(w http.ResponseWriter) { writeJSON(w, http.StatusOK, s.Counts()) }

// do changes the book.
func (s *Server) do(f func(*book)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.book)
}
