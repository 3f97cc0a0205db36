// Package result is the one shape in which every scenario of loadtest says what it has measured, and the page that shows it.
//
// A figure is a number with its unit, one value a round, beside its floor and its goal. Distributions, series over time and marks (a
// kill, and how soon all went on) are there for the page. Detail is the scenario's own report, for who wants to know all of it. A
// reader may rely on what is here: fields are only added. The page is one file with static pictures: no script, nothing from
// elsewhere.
package result

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// Format is the version of the shape; it changes only when a field changes its meaning.
const Format = 1

// Result is what one run of a scenario has come to.
type Result struct {
	Format        int               `json:"format"`
	Scenario      string            `json:"scenario"`
	Options       map[string]string `json:"options"` // the flags in force
	Seed          uint64            `json:"seed,omitempty"`
	Date          time.Time         `json:"date"` // of its end
	Took          time.Duration     `json:"took_ns"`
	Rounds        int               `json:"rounds,omitempty"`
	Machine       Machine           `json:"machine"`
	Figures       []Figure          `json:"figures"`
	Distributions []Distribution    `json:"distributions,omitempty"`
	Series        []Series          `json:"series,omitempty"`
	Marks         []Mark            `json:"marks,omitempty"`
	Detail        any               `json:"detail,omitempty"`
}

// Figure is one number that was measured.
type Figure struct {
	ID     string    `json:"id,omitempty"` // by which it is found again: names may have numbers in them
	Name   string    `json:"figure"`
	Unit   string    `json:"unit,omitempty"`   // "": a number of things
	Values []float64 `json:"values,omitempty"` // one a round; none where Said is all there is
	Value  float64   `json:"value"`            // their median
	Floors []float64 `json:"floors,omitempty"` // of the same rounds
	Floor  float64   `json:"floor,omitempty"`  // their median
	Ratio  float64   `json:"ratio,omitempty"`  // to the floor: the median of the rounds' own
	Goal   string    `json:"goal,omitempty"`   // "": it has none
	Said   string    `json:"said,omitempty"`   // as the text of the scenario says it
	Met    bool      `json:"met"`              // true without a goal
}

// Goal is a figure with a goal, as the text of a scenario says it.
func Goal(name, goal, said string, met bool) Figure {
	return Figure{Name: name, Goal: goal, Said: said, Met: met}
}

// Of is a figure without a goal.
func Of(id, name, unit string, values ...float64) Figure {
	return Figure{Name: name, Met: true}.As(id).In(unit, values...)
}

// As names the figure for who looks it up.
func (f Figure) As(id string) Figure {
	f.ID = id
	return f
}

// In adds the numbers, one a round.
func (f Figure) In(unit string, values ...float64) Figure {
	f.Unit, f.Values, f.Value = unit, values, stat.Median(values)
	return f
}

// Beside adds the floors of the same rounds.
func (f Figure) Beside(floors ...float64) Figure {
	f.Floors, f.Floor = floors, stat.Median(floors)
	f.Ratio = stat.Ratio(f.Value, f.Floor)
	if len(floors) == len(f.Values) {
		var each []float64
		for i, x := range floors {
			each = append(each, stat.Ratio(f.Values[i], x))
		}
		f.Ratio = stat.Median(each)
	}
	return f
}

// Distribution is how long things took, beside how long they take at the least.
type Distribution struct {
	Name   string  `json:"name"`
	Curves []Curve `json:"curves"`
}

// Curve is one set of durations.
type Curve struct {
	Name  string         `json:"name"`
	Floor bool           `json:"floor,omitempty"`
	Hist  stat.Histogram `json:"histogram"`
}

// Series is one number over time.
type Series struct {
	Name   string     `json:"name"`
	Unit   string     `json:"unit"`
	Points []Point    `json:"points"`
	Slope  *stat.Line `json:"slope,omitempty"` // of what is in Points from From on, by seconds
	From   float64    `json:"slope_from,omitempty"`
}

// Point is one reading.
type Point struct {
	At    float64 `json:"at_s"` // from the beginning
	Value float64 `json:"value"`
}

// Mark is something that was done to what is measured.
type Mark struct {
	What  string   `json:"what"`
	At    float64  `json:"at_s"`              // from the beginning, as in a series
	Ready *float64 `json:"ready_s,omitempty"` // from there until it was ready again; nil: it was not, before the next one
	Again *float64 `json:"again_s,omitempty"` // from ready until the first interrupted thing went on; nil: none was interrupted
}

// Read reads a result.
func Read(path string) (r Result, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("result: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("result %s: %w", path, err)
	}
	if r.Format != Format {
		return r, fmt.Errorf("result %s: format %d, want %d", path, r.Format, Format)
	}
	return r, nil
}

// Write writes it as JSON.
func (r Result) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Figure is the figure of that id.
func (r Result) Figure(id string) (Figure, bool) {
	for _, f := range r.Figures {
		if f.ID == id {
			return f, true
		}
	}
	return Figure{}, false
}
