package health

import "fmt"

// Severity says how bad something is.
type Severity string

// The severities.
const (
	Fine    Severity = "ok"
	Warning Severity = "warning" // it works, and somebody should know
	Problem Severity = "problem" // something does not work
)

// Finding is what there is to say about one thing.
type Finding struct {
	ID       string   `json:"id"` // of the kind of finding, stable: "session.stuck"
	Severity Severity `json:"severity"`
	Check    string   `json:"check"` // what was looked at: "configuration", "telegram mybot"
	Text     string   `json:"text"`
	Evidence any      `json:"evidence,omitempty"`
	Fix      string   `json:"fix,omitempty"` // what to do
}

// Report is all that was found.
type Report struct {
	OK       bool      `json:"ok"` // no problem; see Close
	Findings []Finding `json:"findings"`
}

// Add notes a finding.
func (r *Report) Add(f Finding) { r.Findings = append(r.Findings, f) }

// Sayf notes a finding without evidence.
func (r *Report) Sayf(id string, s Severity, check, fix, format string, args ...any) {
	r.Add(Finding{ID: id, Severity: s, Check: check, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// Unknown notes that a check could not be made. It says nothing of what the check would have found.
func (r *Report) Unknown(area string, s Severity, check, fix string, err error) {
	r.Sayf(area+".unknown", s, check, fix, "could not be looked at: %s", err)
}

// Close says whether all is well.
func (r *Report) Close() {
	r.OK = true
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	for _, f := range r.Findings {
		r.OK = r.OK && f.Severity != Problem
	}
}
