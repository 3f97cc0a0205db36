// Package format turns what a model writes, which is Markdown, into what Telegram shows: messages of text with entities.
//
// Entities are used, and not parse_mode, because nothing has to be escaped: a stray asterisk or "<b>" can at worst look odd,
// it cannot make the server refuse the message. Should a server refuse the entities all the same, the sender sends the same
// Part without them: the text is complete by itself, and parts stay aligned, so that nothing is sent twice.
//
// What Telegram asks for, and every Part keeps (core.telegram.org/bots/api#messageentity and #formatting-options, and what
// tdlib does with them in MessageEntity.cpp):
//
//   - 1 to 4096 UTF-16 code units of text, and something visible among them; at most 100 entities (those after them are
//     ignored by the server, without a word); a request of at most 32 KiB before it is parsed.
//   - Offsets and lengths count code units and cut no surrogate pair. Entities lie side by side or within each other.
//   - pre and code neither contain entities nor lie in any: what goes around them is closed before and opened again after.
//     Within a link, code is text, and within a quote, which would fall apart in the middle of a line, it keeps its backticks.
//   - A quote lies in no other quote: the inner one shows its ">".
//   - Neither text nor entities begin or end with whitespace: the server would cut it off, and move the entities.
//   - The address of a text_link is one that the server takes: with a scheme that it knows and a host with a dot. Others are
//     shown beside their label. Mail addresses are: "mailto:a@b.c" becomes http://mailto:a@b.c there.
//   - Tabs become a space each on the server. In code they are widened here, so that its indentation stays.
//
// The input is a stranger's, and may be a megabyte of anything. goldmark takes quadratic time, or a stack as deep as the
// text, for some texts that nobody writes: thousands of quotes within quotes, of open brackets, of columns in a table. What
// is beyond the bounds in parser.go has no meaning there and is shown as it was written. All else here is linear.
package format
