// Package botapi speaks Telegram's Bot API: the types that are used, and a client without surprises. It is the wire of a
// third party that two services speak, intake (updates, files, answers to taps) and outbox (messages); it knows of neither.
//
// A method makes one HTTP request and no other: it repeats nothing, waits for no limit and follows no redirect, as the URL
// holds the token. (Go's transport takes a second connection by itself when a kept one was closed and not a byte had been
// written to it. That is no repeat.) What became of the request is the Class of its *Error:
//
//	NotSent       nothing of it can have arrived: no such host, no connection, bad TLS, a proxy that refused
//	Refused       an answer that says no, and will again: 400, 403, 404, a redirect
//	Limited       429: not before RetryAfter
//	Unauthorized  401: the token is wrong or was revoked
//	Conflict      409: somebody else polls with this token, or a webhook is set
//	Later         the Bot API itself says that it failed (ok:false with 5xx), or 408, 425
//	Unknown       written, and no readable answer: cut, timed out, garbage, HTML with 200; also 5xx that is not in the Bot
//	              API's own words, since a proxy that lost the answer says that, too
//
// For a message only NotSent, Limited and Later mean that sending it again shows it once. Where a status came and the rest of
// the answer did not, the status decides. What answers, but not as the Bot API, is Foreign as well: a wrong api_root, a proxy,
// a captive portal.
//
// HTTP/1.1 only: over HTTP/2 Go repeats a POST that the server has reset, and one dead connection would hold the poll and all
// messages. Kept connections are given up after some idle seconds, long before servers do, since a request that is written
// just as the server closes is Unknown.
//
// The token is in no error: not in its text and not in what it wraps. Errors of net/http are described in words of ours; the
// server's words are made printable, cleared of the token in all spellings, and cut. The token cannot hold characters
// that net/url would quote: New refuses them.
//
// Updates are read one by one, so that one that cannot be read stops no other; see [Client.GetUpdates] for those without
// a number. Source: https://core.telegram.org/bots/api (10.1), and for the texts of errors the server, tdlib/telegram-bot-api.
package botapi
