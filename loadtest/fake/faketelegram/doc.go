// Package faketelegram is Telegram for tests: an HTTP server that keeps the rules of the Bot API, and the people who write to
// its bots.
//
// A test starts a server, says things as a person (Say, Edit, Tap, React, Migrate), and reads what the bot did (Messages,
// Answers, Calls, Report), or waits for it (Wait). Troubles are arranged: a chat that refuses (Refuse), a call that fails in
// one of many ways (Fail), a chat that is held after too many messages (Hold), updates of any form (Inject), or the same ones
// a second time (Replay).
//
// The rules are those of https://core.telegram.org/bots/api, and where that is silent, of the source of Telegram's own server
// (github.com/tdlib/telegram-bot-api): how an offset confirms, which of two polls ends and when, what stays allowed, the
// words of the refusals. So are the limits on sending, which Telegram does not promise: see Limits.
//
// On top of that it is strict, as bugs hide where Telegram is kind: entities that Telegram would mend in silence are refused,
// with a description that begins "Bad Request: strict:", and so is a parse_mode. Options.Lenient turns this off; entities are
// then kept as they came, and a parse_mode is not applied.
//
// What it does not have: inline mode, payments, business accounts, stickers' sets, and sending anything but text.
//
// Its clock is Options.Now and the timers of package time, so that it can be driven within a synctest bubble through
// New and Handler. It keeps everything in memory until Close. Whoever has the token can call it: keep it on loopback.
package faketelegram
