package telemetry

import "slices"

// Conventions is the release of OpenTelemetry's semantic conventions that names are taken from. It is the last one of the
// main repository that has GenAI and MCP: nothing of them is stable, and they have moved since. Prometheus spells a
// name of theirs with underscores, with the unit behind it.
const Conventions = "1.41.0"

// Type is what a metric is.
type Type string

// The types, as Prometheus writes them.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric is one row of the table of all metrics.
type Metric struct {
	Name    string
	Type    Type
	Unit    string // UCUM, as the conventions write it; "1" for a number of nothing
	Help    string
	Labels  []string  // in their order; each has few values, none of which a person or a model has written
	Buckets []float64 // of a histogram
	// Follows is the name in the conventions; "" for one of ours.
	Follows string
}

// The metrics of the conventions.
const (
	ModelDuration   = "gen_ai_client_operation_duration_seconds"
	ModelTokens     = "gen_ai_client_token_usage" //nolint:gosec // tokens of a model
	ModelFirstChunk = "gen_ai_client_operation_time_to_first_chunk_seconds"
	MCPDuration     = "mcp_client_operation_duration_seconds"
)

// Ours.
const (
	BuildInfo   = "jetclaw_build_info"
	Ready       = "jetclaw_ready"
	ModuleReady = "jetclaw_module_ready"

	BusConnected  = "jetclaw_bus_connected"
	BusReconnects = "jetclaw_bus_reconnects_total"
	BusRefusals   = "jetclaw_bus_refusals_total"

	EventsAppended  = "jetclaw_events_appended_total"
	AppendConflicts = "jetclaw_append_conflicts_total"
	AppendFailures  = "jetclaw_append_failures_total"
	AppendDuration  = "jetclaw_append_duration_seconds"

	Doorbells            = "jetclaw_doorbells_total"
	DoorbellsRedelivered = "jetclaw_doorbells_redelivered_total"
	DoorbellsQuarantined = "jetclaw_doorbells_quarantined_total"
	SessionsQuarantined  = "jetclaw_sessions_quarantined_total"
	FoldEvents           = "jetclaw_fold_events"
	EffectsRunning       = "jetclaw_effects_running"
	EffectDuration       = "jetclaw_effect_duration_seconds"

	Messages       = "jetclaw_messages_total"
	Turns          = "jetclaw_turns_total"
	Rounds         = "jetclaw_rounds_total"
	Takeovers      = "jetclaw_takeovers_total"
	Calls          = "jetclaw_calls_total"
	CallDecisions  = "jetclaw_call_decisions_total"
	Approvals      = "jetclaw_approvals_total"
	Deliveries     = "jetclaw_deliveries_total"
	ModelCost      = "jetclaw_model_cost_usd_total"
	ModelUnpriced  = "jetclaw_model_unpriced_tokens_total"
	ModelFallbacks = "jetclaw_model_fallbacks_total"

	ConsumerPending     = "jetclaw_consumer_pending"
	ConsumerAckPending  = "jetclaw_consumer_ack_pending"
	ConsumerAckLimit    = "jetclaw_consumer_ack_pending_limit"
	ConsumerRedelivered = "jetclaw_consumer_redelivered"
	ConsumerPaused      = "jetclaw_consumer_paused"
	JournalBytes        = "jetclaw_journal_bytes"
	JournalLimit        = "jetclaw_journal_limit_bytes"
	JournalMessages     = "jetclaw_journal_messages"
	DeadLetters         = "jetclaw_dead_letters"
	ProbeFailures       = "jetclaw_probe_failures_total"

	SpansMade     = "jetclaw_spans_made_total"
	SpansExported = "jetclaw_spans_exported_total"
	SpansDropped  = "jetclaw_spans_dropped_total"
)

// The labels. Those of the conventions are spelled as Prometheus does.
const (
	LabelOperation = "gen_ai_operation_name"
	LabelProvider  = "gen_ai_provider_name"
	LabelModel     = "gen_ai_request_model"
	LabelTokenType = "gen_ai_token_type" //nolint:gosec // tokens of a model
	LabelErrorType = "error_type"
	LabelMethod    = "mcp_method_name"

	LabelService  = "service"  // the service of this process that it happened in
	LabelModule   = "module"   // a part of this process
	LabelType     = "type"     // of events: "turn.started.v1"
	LabelOutcome  = "outcome"  // how it ended
	LabelCause    = "cause"    // class of a failure
	LabelExecutor = "executor" // "builtin", or the configured name of an MCP server
	LabelChannel  = "channel"  // "telegram", "http", "terminal", …
	LabelDecision = "decision"
	LabelStream   = "stream"
	LabelConsumer = "consumer"
	LabelVersion  = "version"
	LabelGo       = "goversion"
)

// Other stands for label values that are not expected, and for all beyond maxSeries of a metric.
const Other = "other"

var (
	// As the conventions have them.
	durations = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokens    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	chunks    = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	mcpTimes  = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

	appends = []float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}
	effects = []float64{0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	folds   = []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096}
)

// Table is every metric of jetclaw, but for those of the Go runtime and the process (go_*, process_*).
func Table() []Metric {
	own := []string{LabelService}
	consumer := []string{LabelStream, LabelConsumer}
	model := []string{LabelOperation, LabelProvider, LabelModel}
	return []Metric{
		{
			ModelDuration, Histogram, "s", "How long calls of models took.",
			slices.Concat(model, []string{LabelErrorType}), durations, "gen_ai.client.operation.duration",
		},
		{
			ModelTokens, Histogram, "{token}", "Tokens of a model's call, as the provider counts them.",
			slices.Concat(model, []string{LabelTokenType}), tokens, "gen_ai.client.token.usage",
		},
		{
			ModelFirstChunk, Histogram, "s", "How long models took to say the first of an answer that is streamed.",
			model, chunks, "gen_ai.client.operation.time_to_first_chunk",
		},
		{
			MCPDuration, Histogram, "s", "How long requests to MCP servers took.",
			[]string{LabelMethod, LabelExecutor, LabelErrorType},
			mcpTimes, "mcp.client.operation.duration",
		},

		{BuildInfo, Gauge, "1", "Always 1; its labels say which jetclaw this is.", []string{LabelVersion, LabelGo}, nil, ""},
		{Ready, Gauge, "1", "1 when /readyz says 200.", nil, nil, ""},
		{ModuleReady, Gauge, "1", "1 for each module of this process that is ready.", []string{LabelModule}, nil, ""},

		{BusConnected, Gauge, "1", "1 when the service's connection to NATS is up.", own, nil, ""},
		{BusReconnects, Counter, "1", "How often the service has lost NATS and found it again.", own, nil, ""},
		{BusRefusals, Counter, "1", "Refusals by the permissions of NATS: the service is built, or its user configured, wrongly.", own, nil, ""},

		{EventsAppended, Counter, "{event}", "Events that this process has appended to the journal.", []string{LabelService, LabelType}, nil, ""},
		{AppendConflicts, Counter, "1", "Appends that lost the compare-and-set: the session had news.", own, nil, ""},
		{AppendFailures, Counter, "1", "Appends that failed otherwise, by the kind of the failure.", []string{LabelService, LabelCause}, nil, ""},
		{AppendDuration, Histogram, "s", "How long the journal took to acknowledge an append.", own, appends, ""},

		{Doorbells, Counter, "1", "Doorbells that were delivered, repeats included.", own, nil, ""},
		{DoorbellsRedelivered, Counter, "1", "Doorbells that were delivered before: after a nak, or because nobody had settled them.", own, nil, ""},
		{DoorbellsQuarantined, Counter, "1", "Doorbells that were given up: they are dead letters now.", own, nil, ""},
		{SessionsQuarantined, Counter, "1", "Sessions that were put apart because a machine panicked over them.", own, nil, ""},
		{FoldEvents, Histogram, "{event}", "Events that had to be read for a fold, beside the one that rang.", own, folds, ""},
		{EffectsRunning, Gauge, "1", "Effects that run now: model calls, tool calls, deliveries.", own, nil, ""},
		{EffectDuration, Histogram, "s", "How long effects ran.", []string{LabelService, LabelOutcome}, effects, ""},

		{Messages, Counter, "{message}", "What came in from people, by what became of it.", []string{LabelChannel, LabelOutcome}, nil, ""},
		{Turns, Counter, "{turn}", "Turns that ended.", []string{LabelOutcome, LabelCause}, nil, ""},
		{Rounds, Counter, "1", "Model calls that were begun for turns, repeats after a take-over not counted.", nil, nil, ""},
		{Takeovers, Counter, "1", "Model calls that were begun again in place of a worker that is gone.", nil, nil, ""},
		{Calls, Counter, "{call}", "Tool calls that ended.", []string{LabelExecutor, LabelOutcome}, nil, ""},
		{CallDecisions, Counter, "{call}", "What the gate decided about tool calls.", []string{LabelDecision}, nil, ""},
		{Approvals, Counter, "1", "What became of questions to people; requested counts the questions.", []string{LabelDecision}, nil, ""},
		{Deliveries, Counter, "1", "What became of attempts to show something to a person.", []string{LabelChannel, LabelOutcome}, nil, ""},
		{ModelCost, Counter, "USD", "Money that models have cost, where the price is known.", []string{LabelModel}, nil, ""},
		{ModelUnpriced, Counter, "{token}", "Tokens of models whose price is not known.", []string{LabelModel}, nil, ""},
		{ModelFallbacks, Counter, "1", "Models that failed and were replaced by the next one.", []string{LabelModel, LabelCause}, nil, ""},

		{ConsumerPending, Gauge, "1", "Lag: doorbells that were not delivered yet, to whatever process.", consumer, nil, ""},
		{ConsumerAckPending, Gauge, "1", "Doorbells that are delivered and not settled.", consumer, nil, ""},
		{ConsumerAckLimit, Gauge, "1", "So many may be delivered and not settled; then nothing new is delivered.", consumer, nil, ""},
		{ConsumerRedelivered, Gauge, "1", "Of the doorbells that are not settled, those that were delivered more than once.", consumer, nil, ""},
		{ConsumerPaused, Gauge, "1", "1 while the consumer is paused.", consumer, nil, ""},
		{JournalBytes, Gauge, "By", "Size of the journal.", nil, nil, ""},
		{JournalLimit, Gauge, "By", "Size at which the journal takes no event any more; at 90 % no new messages.", nil, nil, ""},
		{JournalMessages, Gauge, "{event}", "Events in the journal.", nil, nil, ""},
		{DeadLetters, Gauge, "1", "Dead letters that nobody has dealt with.", nil, nil, ""},
		{ProbeFailures, Counter, "1", "Questions to NATS for these metrics that failed: what they would have told is left out.", nil, nil, ""},

		{SpansMade, Counter, "{span}", "Spans that were made and sampled. What was neither exported nor dropped waits, or found the queue full.", nil, nil, ""},
		{SpansExported, Counter, "{span}", "Spans that the collector has taken.", nil, nil, ""},
		{SpansDropped, Counter, "{span}", "Spans that the collector has not taken, or was not there to take.", nil, nil, ""},
	}
}

// Attributes of spans. Those of the conventions first.
const (
	AttrOperation      = "gen_ai.operation.name"
	AttrProvider       = "gen_ai.provider.name"
	AttrRequestModel   = "gen_ai.request.model"
	AttrConversation   = "gen_ai.conversation.id" // the session
	AttrAgent          = "gen_ai.agent.name"
	AttrTool           = "gen_ai.tool.name"
	AttrToolCall       = "gen_ai.tool.call.id"
	AttrInputTokens    = "gen_ai.usage.input_tokens"  //nolint:gosec // tokens of a model
	AttrOutputTokens   = "gen_ai.usage.output_tokens" //nolint:gosec // tokens of a model
	AttrCacheRead      = "gen_ai.usage.cache_read.input_tokens"
	AttrCacheWrite     = "gen_ai.usage.cache_creation.input_tokens"
	AttrErrorType      = "error.type"
	AttrMethod         = "mcp.method.name"
	AttrMessaging      = "messaging.system" // "nats"
	AttrDestination    = "messaging.destination.name"
	AttrMessageID      = "messaging.message.id" // id of the event
	AttrServiceName    = "service.name"
	AttrServiceVersion = "service.version"
	AttrServiceID      = "service.instance.id"

	AttrTarget   = "jetclaw.target" // of the process: what runs in it
	AttrStream   = "jetclaw.stream" // with AttrCursor: where the event lies; `jetclaw events --since` opens it
	AttrCursor   = "jetclaw.cursor"
	AttrSession  = "jetclaw.session"
	AttrEvent    = "jetclaw.event.type"
	AttrService  = "jetclaw.service"
	AttrExecutor = "jetclaw.executor"
	AttrOutcome  = "jetclaw.outcome"
	AttrLink     = "jetclaw.link" // of a link: what was waited for
)

// Beginnings of span names; the target follows after a space.
const (
	SpanAppend  = "append"       // {type}: one event was appended
	SpanEffect  = "perform"      // {service}: an effect of a claim that has no name in the conventions
	SpanChat    = "chat"         // {model}: one model call
	SpanTool    = "execute_tool" // {tool}
	SpanAgent   = "invoke_agent" // {agent}: one step of a turn, from its claim to its outcome
	SpanDeliver = "deliver"      // {channel}: an attempt to show something to a person
)
