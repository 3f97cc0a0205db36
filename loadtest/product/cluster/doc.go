// Package cluster runs jetclaw as a company would: three NATS servers and every service in processes of its own, all on loopback,
// and every connection between two of them through a proxy that can break it (package wire).
//
//	service ──proxy──▶ each NATS server       a proxy for each process and server
//	NATS server ──proxy──▶ another one        a proxy for each pair
//
// No server tells anybody another address than those of the proxies, so that nothing finds a way around them. Who watches (this
// program) goes straight to the servers.
//
// Each process of a service has a home of its own, as it would on a machine of its own, with the same keys and one workspace; two
// processes on one home would share the read model's file. Every process dies with this one (package daemon).
package cluster
