package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
)

// Target says what of a jetclaw runs in this process.
type Target struct {
	Server   bool     // the embedded server
	Services []string // in the order of the list of modules
}

const (
	targetAll  = "all"
	targetNATS = "nats" // the embedded server alone
)

// TargetError says that there is no such target.
type TargetError struct{ Text string }

func (e *TargetError) Error() string { return e.Text }

// TargetNames are all targets.
func TargetNames() []string {
	names := []string{targetAll, targetNATS}
	list := modules()
	for i := range list { // who is asked first comes first
		names = append(names, list[len(list)-1-i].spec.Name)
	}
	return names
}

// String is the target as it is written; "" for all.
func (t Target) String() string {
	if t.Server && len(t.Services) == len(modules()) {
		return ""
	}
	var names []string
	for _, name := range TargetNames() {
		if name == targetNATS && t.Server || t.has(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseTarget reads a comma-separated list: all, nats, names of services.
func ParseTarget(list string) (Target, error) {
	var t Target
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(TargetNames(), name) {
			return t, &TargetError{fmt.Sprintf("there is no target %q; %s", name, suggest.Hint(name, TargetNames()))}
		}
		wanted[name] = true
	}
	t.Server = wanted[targetAll] || wanted[targetNATS]
	for _, m := range modules() {
		if wanted[targetAll] || wanted[m.spec.Name] {
			t.Services = append(t.Services, m.spec.Name)
		}
	}
	return t, nil
}

func (t Target) has(service string) bool { return slices.Contains(t.Services, service) }

// everything is the target all.
func everything() Target {
	t := Target{Server: true}
	for _, m := range modules() {
		t.Services = append(t.Services, m.spec.Name)
	}
	return t
}
