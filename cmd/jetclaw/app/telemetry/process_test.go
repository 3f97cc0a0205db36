package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	events "github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape is the text of a process's metrics, read as strictly as the format is described.
type scrape struct {
	types   map[string]string
	help    map[string]string
	series  map[string]float64 // as written
	samples []sample
}

type sample struct {
	name   string
	labels [][2]string
	value  float64
}

var (
	lineOf  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelOf = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\n"])*)"(?:, ?|$)`)
)

func read(t *testing.T, p *Process) scrape {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return parseText(t, b.String())
}

func parseText(t *testing.T, text string) scrape {
	t.Helper()
	s := scrape{types: map[string]string{}, help: map[string]string{}, series: map[string]float64{}}
	begun := map[string]bool{} // families whose samples have begun
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			if _, twice := s.help[name]; twice || begun[name] {
				t.Errorf("HELP of %s comes late or twice", name)
			}
			s.help[name] = help
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, typ, _ := strings.Cut(rest, " ")
			if _, twice := s.types[name]; twice || begun[name] {
				t.Errorf("TYPE of %s comes late or twice", name)
			}
			s.types[name] = typ
			continue
		}
		m := lineOf.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no line of the format: %q", line)
			continue
		}
		one := sample{name: m[1]}
		for rest := m[2]; rest != ""; {
			l := labelOf.FindStringSubmatch(rest)
			if l == nil {
				t.Errorf("labels of %q", line)
				break
			}
			one.labels = append(one.labels, [2]string{l[1], l[2]})
			rest = rest[len(l[0]):]
		}
		var err error
		if one.value, err = strconv.ParseFloat(m[3], 64); err != nil {
			t.Errorf("value of %q: %v", line, err)
		}
		key := strings.TrimSuffix(line, " "+m[3])
		if _, twice := s.series[key]; twice {
			t.Errorf("%s twice", key)
		}
		s.series[key] = one.value
		s.samples = append(s.samples, one)
		begun[s.family(one.name)] = true
	}
	s.histograms(t)
	return s
}

// family is the metric that a sample is of.
func (s scrape) family(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && s.types[base] == string(Histogram) {
			return base
		}
	}
	return name
}

// histograms checks that buckets are cumulative, end with +Inf, and agree with the count.
func (s scrape) histograms(t *testing.T) {
	t.Helper()
	last, lastLe := map[string]float64{}, map[string]float64{}
	for _, one := range s.samples {
		base, ok := strings.CutSuffix(one.name, "_bucket")
		if !ok || s.types[base] != string(Histogram) {
			continue
		}
		i := slices.IndexFunc(one.labels, func(l [2]string) bool { return l[0] == "le" })
		if i < 0 {
			t.Errorf("%s without le", one.name)
			continue
		}
		le, err := strconv.ParseFloat(one.labels[i][1], 64)
		rest := slices.Delete(slices.Clone(one.labels), i, i+1)
		key := base + fmt.Sprint(rest)
		if _, seen := last[key]; err != nil || seen && (le <= lastLe[key] || one.value < last[key]) {
			t.Errorf("%s: le %v is %v after %v", key, le, one.value, last[key])
		}
		last[key], lastLe[key] = one.value, le
	}
	for _, one := range s.samples {
		base, ok := strings.CutSuffix(one.name, "_count")
		if !ok || s.types[base] != string(Histogram) {
			continue
		}
		key := base + fmt.Sprint(slices.Clone(one.labels))
		if !math.IsInf(lastLe[key], 1) || last[key] != one.value {
			t.Errorf("%s: the last bucket %v is of %v, the count %v", key, last[key], lastLe[key], one.value)
		}
	}
}

const aSession = "main.telegram.mybot.12345"

// busy is a process in which everything that is counted has happened.
func busy(t *testing.T) *Process {
	t.Helper()
	p := New(Config{Version: "1.2.3"})
	p.Models([]string{"one/known"})
	p.Modules(func(context.Context) (bool, map[string]bool) {
		return false, map[string]bool{"turns": true, "mcp": false}
	})
	h := p.Hooks("turns")
	for _, typ := range events.All() {
		h.Appended(envelope.Event{Session: aSession, Cursor: 1, Body: typ.Zero}, time.Now(), nil)
	}
	out := turnv1.Outcome{Model: "one/known", Usage: turnv1.Usage{Input: 10, Output: 5, Cost: 2_500_000_000, Priced: true}, Tried: []turnv1.Try{{Model: "one/other", Cause: turnv1.TimedOut}}}
	for _, b := range []envelope.Body{
		turnv1.Completed{Outcome: out},
		turnv1.Failed{Outcome: out, Cause: turnv1.OverBudget},
		turnv1.Cancelled{Turn: "t", Reason: turnv1.Stopped},
		turnv1.Stepped{Outcome: turnv1.Outcome{Model: "one/known", Usage: turnv1.Usage{Input: 7}}},
		callv1.Completed{Executor: "mcp_files", Outcome: callv1.Unknown},
		approvalv1.Decided{Answer: callv1.Approval{Decision: callv1.AllowOnce}},
		approvalv1.Decided{Answer: callv1.Approval{Decision: "a person's words"}},
	} {
		h.Appended(envelope.Event{Session: aSession, Cursor: 1, Body: b}, time.Now(), nil)
	}
	h.Appended(envelope.Event{Body: turnv1.Started{}}, time.Now(), fmt.Errorf("append: %w", &bus.Conflict{Last: 1, Known: true}))
	h.Appended(envelope.Event{Body: turnv1.Started{}}, time.Now(), fault.New(fault.Full, "no room"))
	h.Rang(envelope.Event{Body: messagev1.Received{}}, 1)
	h.Rang(envelope.Event{Body: messagev1.Received{}}, 3)
	h.GivenUp()
	h.Refused()
	h.Poisoned()
	h.Folded(3)
	ctx, end := h.Effect(t.Context(), envelope.Event{Session: aSession, Body: turnv1.Started{}})
	ctx, seen := p.ModelCall(ctx, "one/known")
	seen.Said()
	seen.Said()
	seen.Ended(turnv1.Usage{Input: 10, Output: 5}, nil)
	_, seen = p.ModelCall(ctx, "one/known")
	seen.Ended(turnv1.Usage{}, fmt.Errorf("call: %w", context.DeadlineExceeded))
	_, _, ended := p.MCPRequest(ctx, "mcp_files", "tools/call", "read")
	ended(nil)
	end(turnv1.Completed{}, nil)
	return p
}

// TestEveryNameIsTold: what is in the table is in the text, and the other way round.
func TestEveryNameIsTold(t *testing.T) {
	s := read(t, busy(t))
	table := map[string]Metric{}
	for _, m := range Table() {
		table[m.Name] = m
		if s.types[m.Name] != string(m.Type) || s.help[m.Name] != m.Help {
			t.Errorf("%s is told as a %q: %q", m.Name, s.types[m.Name], s.help[m.Name])
		}
	}
	told := map[string]bool{}
	for _, one := range s.samples {
		name := s.family(one.name)
		told[name] = true
		m, ok := table[name]
		if !ok {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("%s is not in the table", name)
			}
			continue
		}
		var labels []string
		for _, l := range one.labels {
			if l[0] != "le" {
				labels = append(labels, l[0])
			}
		}
		if !slices.Equal(labels, m.Labels) {
			t.Errorf("%s has the labels %v, not %v", one.name, labels, m.Labels)
		}
	}
	// What only a connection can tell is told where there is one: see TestBuses.
	fromNATS := []string{
		BusConnected, BusReconnects, ConsumerPending, ConsumerAckPending, ConsumerAckLimit, ConsumerRedelivered, ConsumerPaused,
		JournalBytes, JournalLimit, JournalMessages, DeadLetters,
	}
	for name := range table {
		if told[name] == slices.Contains(fromNATS, name) {
			t.Errorf("%s: told %v", name, told[name])
		}
	}
}

func TestWhatHappenedIsCounted(t *testing.T) {
	s := read(t, busy(t))
	for series, want := range map[string]float64{
		`jetclaw_build_info{version="1.2.3",goversion="` + goVersion() + `"}`: 1,
		`jetclaw_ready`:                        0,
		`jetclaw_module_ready{module="turns"}`: 1,
		`jetclaw_module_ready{module="mcp"}`:   0,
		`jetclaw_events_appended_total{service="turns",type="turn.completed.v1"}`:                                      2,
		`jetclaw_append_conflicts_total{service="turns"}`:                                                              1,
		`jetclaw_append_failures_total{service="turns",cause="full"}`:                                                  1,
		`jetclaw_doorbells_total{service="turns"}`:                                                                     2,
		`jetclaw_doorbells_redelivered_total{service="turns"}`:                                                         1,
		`jetclaw_doorbells_quarantined_total{service="turns"}`:                                                         1,
		`jetclaw_sessions_quarantined_total{service="turns"}`:                                                          1,
		`jetclaw_bus_refusals_total{service="turns"}`:                                                                  1,
		`jetclaw_fold_events_sum{service="turns"}`:                                                                     3,
		`jetclaw_effects_running{service="turns"}`:                                                                     0,
		`jetclaw_effect_duration_seconds_count{service="turns",outcome="completed"}`:                                   1,
		`jetclaw_turns_total{outcome="failed",cause="over_budget"}`:                                                    1,
		`jetclaw_turns_total{outcome="cancelled",cause="stopped"}`:                                                     1,
		`jetclaw_rounds_total`:                                                                                         2,
		`jetclaw_takeovers_total`:                                                                                      1,
		`jetclaw_calls_total{executor="mcp_files",outcome="unknown"}`:                                                  1,
		`jetclaw_approvals_total{decision="allow-once"}`:                                                               1,
		`jetclaw_approvals_total{decision="requested"}`:                                                                1,
		`jetclaw_deliveries_total{channel="telegram",outcome="sent"}`:                                                  1,
		`jetclaw_messages_total{channel="telegram",outcome="received"}`:                                                1,
		`jetclaw_model_cost_usd_total{gen_ai_request_model="one/known"}`:                                               5,
		`jetclaw_model_unpriced_tokens_total{gen_ai_request_model="one/known"}`:                                        7,
		`jetclaw_model_fallbacks_total{gen_ai_request_model="other",cause="timed_out"}`:                                2,
		`mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call",executor="mcp_files",error_type=""}`: 1,
		`gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="one",gen_ai_request_model="known",error_type=""}`:        1,
		`gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="one",gen_ai_request_model="known",error_type="timeout"}`: 1,
		`gen_ai_client_operation_time_to_first_chunk_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="one",gen_ai_request_model="known"}`:           1,
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="one",gen_ai_request_model="known",gen_ai_token_type="input"}`:             10,
	} {
		if got, ok := s.series[series]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", series, got, ok, want)
		}
	}
}

// TestNoLabelIsWhatSomebodyWrote: people, models and servers write texts, names and ids into events; none of it comes out.
func TestNoLabelIsWhatSomebodyWrote(t *testing.T) {
	const poison = "p0ison"
	p := New(Config{Version: "1"})
	p.Models([]string{"one/known"})
	h := p.Hooks("turns")
	out := turnv1.Outcome{Turn: poison, Model: "one/" + poison, Usage: turnv1.Usage{Input: 1, Priced: true}, Tried: []turnv1.Try{{Model: poison, Cause: turnv1.TimedOut, Detail: poison}}}
	from := messagev1.Sender{ID: "telegram:" + poison, Name: poison}
	for _, b := range []envelope.Body{
		messagev1.Received{From: from, Text: poison},
		messagev1.Refused{From: from, Detail: poison},
		messagev1.Control{From: from, Argument: poison},
		turnv1.Completed{Outcome: out, Text: poison},
		turnv1.Failed{Outcome: out, Text: poison, Detail: poison, Cause: turnv1.TimedOut},
		turnv1.Stepped{Outcome: out, Calls: []turnv1.Call{{ID: poison, Tool: poison}}},
		callv1.Dispatched{Request: callv1.Request{Turn: poison, Call: poison, Tool: poison, Executor: "builtin"}},
		callv1.Completed{Executor: "builtin", Call: poison, Content: poison, Outcome: callv1.OK},
		callv1.Denied{Call: poison, Reason: poison},
		approvalv1.Decided{Reason: poison, Answer: callv1.Approval{Decision: poison, By: poison}},
		deliveryv1.Failed{Reason: poison},
		deliveryv1.Sent{Receipt: poison},
	} {
		e := envelope.Event{ID: poison, Session: "main." + poison + "." + poison + "." + poison, Cause: poison, Key: poison, Cursor: 1, Body: b}
		h.Appended(e, time.Now(), nil)
		h.Appended(e, time.Now(), errors.New(poison))
		h.Rang(e, 1)
		_, end := h.Effect(t.Context(), e)
		end(b, errors.New(poison))
	}
	_, seen := p.ModelCall(t.Context(), "one/"+poison)
	seen.Said()
	seen.Ended(turnv1.Usage{Input: 1}, errors.New(poison))
	_, _, ended := p.MCPRequest(t.Context(), "mcp_files", poison, poison)
	ended(errors.New(poison))
	for series := range read(t, p).series {
		if strings.Contains(series, poison) {
			t.Error(series)
		}
	}
}

// TestSeriesAreBounded: too many values become one.
func TestSeriesAreBounded(t *testing.T) {
	p := New(Config{})
	h := p.Hooks("mcp")
	for i := range 3 * maxSeries {
		h.Appended(envelope.Event{Session: aSession, Cursor: 1, Body: callv1.Completed{Executor: fmt.Sprint("mcp_", i), Outcome: callv1.OK}}, time.Now(), nil)
	}
	n, all := 0, 0.
	for series, value := range read(t, p).series {
		if strings.HasPrefix(series, Calls+"{") {
			n++
			all += value
		}
	}
	if n != maxSeries+1 || all != 3*maxSeries {
		t.Errorf("%d series count %v calls", n, all)
	}
}

// TestOddValuesStayInTheFormat: whatever a label value is, the text can be read.
func TestOddValuesStayInTheFormat(t *testing.T) {
	p := New(Config{Version: "1\"\\\n} x{é" + strings.Repeat("v", 1000)})
	p.Hooks("a\"b\\").GivenUp()
	if s := read(t, p); s.series[`jetclaw_doorbells_quarantined_total{service="a_b_"}`] != 1 {
		t.Error("it is lost")
	}
}

func BenchmarkAppended(b *testing.B) {
	p := New(Config{})
	h := p.Hooks("turns")
	e := envelope.Event{Session: aSession, Cursor: 1, Body: turnv1.Completed{}}
	began := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		h.Appended(e, began, nil)
	}
}

func goVersion() string { return clean(runtime.Version()) }
