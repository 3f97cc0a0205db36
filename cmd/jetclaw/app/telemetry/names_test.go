package telemetry

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
)

// TestConventions: what is said to follow the conventions does, in the release that is named.
func TestConventions(t *testing.T) {
	if want := "https://opentelemetry.io/schemas/" + Conventions; semconv.SchemaURL != want {
		t.Fatalf("the package of the conventions is %s, not %s", semconv.SchemaURL, want)
	}
	units := map[string]string{
		genaiconv.ClientOperationDuration{}.Name():         genaiconv.ClientOperationDuration{}.Unit(),
		genaiconv.ClientTokenUsage{}.Name():                genaiconv.ClientTokenUsage{}.Unit(),
		genaiconv.ClientOperationTimeToFirstChunk{}.Name(): genaiconv.ClientOperationTimeToFirstChunk{}.Unit(),
		mcpconv.ClientOperationDuration{}.Name():           mcpconv.ClientOperationDuration{}.Unit(),
	}
	seconds := map[string]string{"s": "_seconds", "{token}": ""}
	for _, m := range Table() {
		if m.Follows == "" {
			continue
		}
		unit, ok := units[m.Follows]
		if want := strings.ReplaceAll(m.Follows, ".", "_") + seconds[unit]; !ok || m.Unit != unit || m.Name != want || m.Type != Histogram {
			t.Errorf("%s in %q follows %s in %q (%v); want %s", m.Name, m.Unit, m.Follows, unit, ok, want)
		}
		delete(units, m.Follows)
	}
	if len(units) > 0 {
		t.Errorf("nothing follows %v", units)
	}
	known := map[string]attribute.Key{
		AttrOperation: semconv.GenAIOperationNameKey, AttrProvider: semconv.GenAIProviderNameKey, AttrRequestModel: semconv.GenAIRequestModelKey,
		AttrConversation: semconv.GenAIConversationIDKey, AttrAgent: semconv.GenAIAgentNameKey, AttrTool: semconv.GenAIToolNameKey,
		AttrToolCall: semconv.GenAIToolCallIDKey, AttrInputTokens: semconv.GenAIUsageInputTokensKey, AttrOutputTokens: semconv.GenAIUsageOutputTokensKey,
		AttrCacheRead: semconv.GenAIUsageCacheReadInputTokensKey, AttrCacheWrite: semconv.GenAIUsageCacheCreationInputTokensKey,
		AttrErrorType: semconv.ErrorTypeKey, AttrMethod: semconv.McpMethodNameKey, AttrMessaging: semconv.MessagingSystemKey,
		AttrDestination: semconv.MessagingDestinationNameKey, AttrMessageID: semconv.MessagingMessageIDKey,
		AttrServiceName: semconv.ServiceNameKey, AttrServiceVersion: semconv.ServiceVersionKey, AttrServiceID: semconv.ServiceInstanceIDKey,
	}
	for ours, theirs := range known {
		if ours != string(theirs) {
			t.Errorf("%s is %s", ours, theirs)
		}
	}
	for label, theirs := range map[string]attribute.Key{
		LabelOperation: semconv.GenAIOperationNameKey, LabelProvider: semconv.GenAIProviderNameKey, LabelModel: semconv.GenAIRequestModelKey,
		LabelTokenType: semconv.GenAITokenTypeKey, LabelErrorType: semconv.ErrorTypeKey, LabelMethod: semconv.McpMethodNameKey,
	} {
		if want := strings.ReplaceAll(string(theirs), ".", "_"); label != want {
			t.Errorf("%s is %s", label, want)
		}
	}
	if chat != semconv.GenAIOperationNameChat.Value.AsString() || SpanTool != semconv.GenAIOperationNameExecuteTool.Value.AsString() ||
		SpanAgent != semconv.GenAIOperationNameInvokeAgent.Value.AsString() {
		t.Error("an operation is called otherwise")
	}
}

func TestTheTableIsWellFormed(t *testing.T) {
	name, label := regexp.MustCompile(`^[a-z][a-z0-9_]*$`), regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, m := range Table() {
		if !name.MatchString(m.Name) || seen[m.Name] {
			t.Errorf("%q", m.Name)
		}
		seen[m.Name] = true
		if m.Follows == "" != strings.HasPrefix(m.Name, "jetclaw_") {
			t.Errorf("%s: ours begin with jetclaw_, and nothing else does", m.Name)
		}
		if total := strings.HasSuffix(m.Name, "_total"); total != (m.Type == Counter) {
			t.Errorf("%s is a %s", m.Name, m.Type)
		}
		if m.Help == "" || strings.ContainsAny(m.Help, "\\\n") || !strings.HasSuffix(m.Help, ".") || m.Unit == "" {
			t.Errorf("%s: help %q, unit %q", m.Name, m.Help, m.Unit)
		}
		if len(m.Labels) > len(labelsKey{}) {
			t.Errorf("%s has %d labels", m.Name, len(m.Labels))
		}
		for _, l := range m.Labels {
			if !label.MatchString(l) || slices.Contains([]string{"le", "session", "person", "text"}, l) {
				t.Errorf("%s has the label %q", m.Name, l)
			}
		}
		if (m.Type == Histogram) != (len(m.Buckets) > 0) || !slices.IsSorted(m.Buckets) {
			t.Errorf("%s is a %s with the buckets %v", m.Name, m.Type, m.Buckets)
		}
	}
}
