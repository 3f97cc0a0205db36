// Package call is the pure machine of the gate: for each tool call that a model has asked for, whether it is handed to its
// executor, parked until a person has decided, or denied.
package call
