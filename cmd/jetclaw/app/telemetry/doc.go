// Package telemetry is what a process of jetclaw tells about itself: metrics, health and traces. names.go is the one list of
// all names.
package telemetry
