package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// ofTargets are labels that Prometheus gives to all that it asks.
var ofTargets = []string{"job", "instance", "component", "le", "__name__"} //nolint:gochecknoglobals // a constant

// expression parses PromQL and asks the table for every metric and label in it.
func expression(t *testing.T, where, text string) {
	t.Helper()
	table := metricTable(t)
	e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v\n%s", where, err, text)
		return
	}
	known := slices.Clone(ofTargets)
	var all []string
	parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name := v.Name
		all = append(all, name)
		if name == "up" || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "go_") {
			return nil
		}
		row, ok := table[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, is := strings.CutSuffix(name, suffix); is && table[base].kind == "histogram" {
				row, ok = table[base], true
			}
		}
		if !ok {
			t.Errorf("%s: there is no metric %q", where, name)
			return nil
		}
		known = append(known, row.labels...)
		for _, m := range v.LabelMatchers {
			if m.Name != model.MetricNameLabel && !slices.Contains(slices.Concat(ofTargets, row.labels), m.Name) {
				t.Errorf("%s: %s has no label %q", where, name, m.Name)
			}
		}
		// What only grows is asked for its growth; what does not is not.
		grows := slices.ContainsFunc(path, func(p parser.Node) bool {
			c, ok := p.(*parser.Call)
			return ok && slices.Contains([]string{"rate", "increase", "irate"}, c.Func.Name)
		})
		if counts := row.kind != "gauge"; counts != grows {
			t.Errorf("%s: %s is a %s: asked for its growth: %v", where, name, row.kind, grows)
		}
		return nil
	})
	if len(all) == 0 {
		t.Errorf("%s asks for nothing: %s", where, text)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		var names []string
		switch n := n.(type) {
		case *parser.AggregateExpr:
			names = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				names = n.VectorMatching.MatchingLabels
			}
		}
		for _, l := range names {
			if !slices.Contains(known, l) {
				t.Errorf("%s: grouped by %q, which none of %v has", where, l, all)
			}
		}
		return nil
	})
}

// TestRules reads the rules as promtool does, and asks each alert for what a person needs who is woken by it.
func TestRules(t *testing.T) {
	groups, errs := rulefmt.ParseFile(filepath.Join(deployDir, "prometheus", "rules.yml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if len(errs) > 0 {
		return
	}
	seen := map[string]bool{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || r.Alert == "" {
				t.Errorf("%q: a second one, or no alert", r.Alert)
			}
			seen[r.Alert] = true
			expression(t, r.Alert, r.Expr)
			if s := r.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			_, anchor, ok := strings.Cut(r.Annotations["runbook_url"], "/deploy/RUNBOOK.md#")
			if !ok || !slices.Contains(anchorsOf(readFile(t, filepath.Join(deployDir, "RUNBOOK.md"))), anchor) {
				t.Errorf("%s: the runbook has no section %q", r.Alert, r.Annotations["runbook_url"])
			}
			if r.Annotations["summary"] == "" {
				t.Errorf("%s has no summary", r.Alert)
			}
		}
	}
	for _, need := range []string{"NotReady", "LagGrows", "DeadLetters", "Conflicts", "Journal70", "Journal90", "NoLeader", "BusLost", "DeliveriesUnknown", "PermissionRefused", "Budget"} {
		if !seen["Jetclaw"+need] {
			t.Errorf("there is no alert Jetclaw%s", need)
		}
	}
}

// TestScrapes: Prometheus asks every service that compose starts, at the port of its monitor, in the form that it reads.
func TestScrapes(t *testing.T) {
	for _, file := range []string{"prometheus.yml", "kubernetes.yml"} {
		var c struct {
			Global    map[string]any `json:"global"`
			RuleFiles []string       `json:"rule_files"`
			Scrape    []struct {
				Job     string           `json:"job_name"`
				Relabel []map[string]any `json:"relabel_configs"`
				Pods    []map[string]any `json:"kubernetes_sd_configs"`
				DNS     []struct {
					Names   []string `json:"names"`
					Type    string   `json:"type"`
					Port    int      `json:"port"`
					Refresh string   `json:"refresh_interval"`
				} `json:"dns_sd_configs"`
			} `json:"scrape_configs"`
		}
		text := readFile(t, filepath.Join(deployDir, "prometheus", file))
		if err := yaml.UnmarshalStrict([]byte(text), &c, yaml.DisallowUnknownFields); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(c.Scrape) != 1 || c.Scrape[0].Job != "jetclaw" || !strings.Contains(text, "target_label: component") {
			t.Errorf("%s: jobs %+v: the rules ask for job jetclaw and for component", file, c.Scrape)
		}
		if file == "prometheus.yml" {
			dns := c.Scrape[0].DNS[0]
			want := slices.Sorted(slices.Values(targets))
			if !slices.Equal(slices.Sorted(slices.Values(dns.Names)), want) || dns.Port != 9464 {
				t.Errorf("asks %v at %d", dns.Names, dns.Port)
			}
		}
	}
}

// TestScalersAsk parses what KEDA asks Prometheus for.
func TestScalersAsk(t *testing.T) {
	for _, o := range objects(t, "overlays/production") {
		if o.kind != "ScaledObject" {
			continue
		}
		var s struct {
			Spec struct {
				Triggers []struct{ Metadata map[string]string }
			}
		}
		if err := yaml.Unmarshal([]byte(o.yaml), &s); err != nil {
			t.Fatal(err)
		}
		for _, trigger := range s.Spec.Triggers {
			expression(t, "ScaledObject "+o.name, trigger.Metadata["query"])
		}
	}
}

// notADashboard is what Grafana's own type of a dashboard does not have, or would have otherwise.
func notADashboard(data []byte) []string {
	var d dashboard.Dashboard //nolint:staticcheck // files that are provisioned are of this version
	err := d.UnmarshalJSONStrict(data)
	var list cog.BuildErrors // it may be an empty one
	if err != nil && !errors.As(err, &list) {
		return []string{err.Error()}
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Error())
	}
	return all
}

// panel is of a dashboard what is looked at here.
type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ H, W, X, Y int }
	Targets []struct {
		Expr       string `json:"expr"`
		RefID      string `json:"refId"`
		Datasource struct {
			UID string `json:"uid"`
		} `json:"datasource"`
	} `json:"targets"`
}

func TestDashboard(t *testing.T) {
	data := []byte(readFile(t, filepath.Join(deployDir, "dashboards", "jetclaw.json")))
	for _, problem := range notADashboard(data) {
		t.Errorf("not a dashboard, to the letter: %s", problem)
	}
	wrong := strings.Replace(string(data), `"gridPos"`, `"gridPosition"`, 1)
	if len(notADashboard([]byte(wrong))) == 0 {
		t.Error("a field that no dashboard has is taken")
	}
	var d struct {
		UID    string
		Panels []panel
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	source := readFile(t, filepath.Join(deployDir, "compose", "grafana", "provisioning", "datasources", "prometheus.yaml"))
	ids, taken := map[int]bool{}, map[[2]int]string{}
	asked := 0
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: a second one, or without a name", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
					t.Fatalf("%q lies over %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			asked++
			if !strings.Contains(source, "uid: "+target.Datasource.UID+"\n") {
				t.Errorf("%q asks %q, which is not provisioned", p.Title, target.Datasource.UID)
			}
			text := strings.NewReplacer("$__rate_interval", "5m", "$component", ".*").Replace(target.Expr)
			if strings.Contains(text, "$") {
				t.Errorf("%q: an unknown variable in %s", p.Title, text)
			}
			expression(t, fmt.Sprintf("panel %q", p.Title), text)
		}
	}
	if asked < 30 {
		t.Errorf("only %d questions", asked)
	}
}
