// Package oauth keeps the OAuth 2.1 credentials of MCP servers that are reached over HTTP: a login in two steps, tokens that are
// renewed before they end, a logout that wins. It follows the authorization chapter of the protocol (2025-11-25 and 2026-07-28,
// with the fallbacks of 2025-03-26).
//
// # The record
//
// A server has one record, under its name, shared by all processes: where its authorization server is, who we are there, the
// tokens, a login that is under way, the scopes that a refusal asked for, and the lease of a refresh. It is encrypted, with its
// name inside, and only ever changed by compare-and-set on the revision that was read.
//
// It belongs to one URL (scheme, host, port, path). The record of another URL is not used: tokens never go where they were not
// issued for. The tokens belong to the issuer and the client that they were got with, and are only sent to its endpoints.
//
// # A login
//
//	Begin    discovery, registration, PKCE; what Finish needs is stored for ten minutes; the person opens the URL
//	Finish   checks state and iss, exchanges the code; one write puts the new tokens in the place of the old ones
//
// Until that write the old tokens are in use. A second Begin takes the place of the first.
//
// # A refresh
//
// A refresh token may be good for one use, and a second use may end the login. Therefore:
//
//	it dies                             the record has   what follows
//	before the lease is stored          the old tokens   nothing happened
//	after the lease, before the answer  lease, old       others wait until the lease ends, then try the old refresh token once;
//	or before the answer is stored      tokens           the server takes it, or it is burnt and a login is needed
//	after the answer is stored          the new tokens   nothing
//
// Each stored set of tokens has an id. The answer to a refresh is stored only where the tokens that it renews still are; after a
// logout or another login it is dropped. A caller that gives up does not stop the refresh, for its answer would be lost.
//
// # What is not trusted
//
// URLs that a server names are called only over https (http on this machine, if the server itself is there), and not at private
// addresses, but for the host that the operator configured. Token requests follow no redirects. Answers have at most 1 MiB. No
// token, code, verifier or secret is in an error or a log.
package oauth
