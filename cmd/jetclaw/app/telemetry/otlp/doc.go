// Package otlp sends spans to an OpenTelemetry collector, by OTLP over HTTP with JSON (opentelemetry-proto 1.x): the small part of
// what the official exporter does that is needed here, at a thirtieth of its size.
//
// What is configured is read from the environment variables that every OpenTelemetry program reads (FromEnv). Spans come from the
// SDK's batcher, in batches, one after the other, off the path of all work; its queue is bounded and lossy. A batch is
// tried again, with growing waits or as long as the collector asks for, while it answers 429, 502, 503 or 504 or cannot be reached,
// until the batcher's own time limit (OTEL_BSP_EXPORT_TIMEOUT, 30 s); then it is dropped and counted. Anything
// else that the collector says is final. Nothing is reported to OpenTelemetry's global error handler, which would write past the
// redaction of logs: failures are logged here, once until it works again.
package otlp
