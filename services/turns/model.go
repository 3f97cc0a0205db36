package turns

import (
	"github.com/jetclaw/jetclaw/services/turns/internal/offline"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
)

// Model answers requests; see provider.Model.
type Model = provider.Model

// Catalog finds models by reference ("provider/model").
type Catalog interface {
	// Model is the model of a reference. An error is for the person: no such provider, or it cannot be used.
	Model(ref string) (Model, error)
	// Providers are the names that a reference may begin with.
	Providers() []string
	// Named are the references that the configuration names, in its order: what /model lists.
	Named() []string
}

// NewOffline is the built-in model that needs nothing and thinks nothing.
func NewOffline() Model { return offline.Model{} }
