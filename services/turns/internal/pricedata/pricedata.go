// Package pricedata holds the list prices and context windows of the vendors' own models, as package price reads them.
package pricedata

import _ "embed"

//go:embed prices.json
var prices []byte

// JSON is the data file.
func JSON() []byte { return prices }
