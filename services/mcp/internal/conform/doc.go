// Package conform holds jetclaw's MCP client against the client suite of the protocol's own conformance tests
// (@modelcontextprotocol/conformance of npm). It has tests only, under the build tag peers: `just test-mcp-peers` brings what they
// need.
//
// The suite starts the client as a program and watches what it does at its fake servers. That program is the test binary itself:
// it connects with packages client and oauth as the service does, logs in where it is refused, and calls every tool.
//
// Scenarios that may fail are in testdata/accepted.yml, each with its reason. One that is there and passes fails the test.
package conform
