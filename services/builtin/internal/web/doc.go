// Package web is the builtin executor's window on the web: the tools web_fetch and web_search.
//
// web_fetch reads one page that the model chose. What it can be talked into is bounded here and in package egress:
//
//	where    http and https, ports 80 and 443, public addresses (egress), each redirect anew, at most 5, never from https
//	         to http; a host written as a number is read as browsers read it and checked as the address that it is
//	as whom  no cookies, no credentials, no Referer, no proxy of the environment; HTTP/1.1, a connection a request
//	how much 30 s, 5 MiB of text after decompression, 16 MiB on the wire, 64 KiB of header
//	what     HTML as Markdown (package markdown), text, JSON and XML as they are; anything else is named, not shown
//
// A page is shown 64 KiB at a time. Nothing is kept between calls: one that goes on from an offset reads the page again.
//
// web_search asks one provider that the operator configured. Its connection goes to exactly that host and follows no
// redirect, so its address may be a private one. Without a provider there is no such tool.
//
// Everything that comes back is marked as untrusted. An error that is not so marked holds no word of a page or a provider,
// and none holds the provider's key.
package web
