package registry_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/registry"
)

// Whoever adds a type of event raises the contract: a jetclaw without it would pass the event by.
func TestContractKnowsItsTypes(t *testing.T) {
	const contract, types = 1, "e9384a451c676856"
	var names []string
	for _, typ := range registry.All() {
		names = append(names, typ.Name)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	if is := hex.EncodeToString(sum[:8]); is != types || registry.Contract != contract {
		t.Errorf("contract %d has the types %s; this test knows %d and %s: raise registry.Contract with the types, and tell it here",
			registry.Contract, is, contract, types)
	}
}
