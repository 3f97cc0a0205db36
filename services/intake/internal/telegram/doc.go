// Package telegram is the Telegram channel's way in: updates are polled for, or come to a webhook, and each is handed to intake's
// gate.
//
// It promises:
//   - Nothing is lost. An update is confirmed to Telegram when it is done, and not before: when its event is in the journal (as
//     a message or as a refusal), or there is nothing of it to be kept. Until then it comes again after a crash, with the same
//     key, and so is the same event.
//   - What happens in a chat keeps its order. Chats do not wait for each other: not for a slow file, and not for an update that
//     cannot be taken in now.
//   - An update that nobody can read, or that makes this package panic, is kept aside in the session
//     AGENT.telegram.ACCOUNT.quarantine, and is in nobody's way.
//   - Who is let in is judged once, in one place, whatever they do: Desk.Judge. Without a verdict nothing happens, neither in nor
//     out.
//   - The token is in no log line and no error, nor is what people write.
//
// # An update
//
//	getUpdates ─► window ─► lane of its chat ─► read ─► judge ─► files ─► submit ─► window: done
//	  offset ◄──────┘        (albums gather)                                          │
//	    └──────── never past an update that is not done ◄─────────────────────────────┘
//
// window.go says up to where may be confirmed. While an update is not done, polls go on every 0.6 s with the offset of the oldest
// such one; what is new behind it (up to 100 updates, the server's limit) is begun with. Sooner, the server would give one
// update to who asks the same again; and it would slow down who does not offer to wait 3 s. What comes again while it
// is in a lane is not put there twice. lane.go has the order, album.go how albums gather. letter.go and those beside it read an
// update: they call nobody. clerk.go takes it from there.
//
//	journal full, busy, unreachable         tried again after 1 s to 30 s, for ever; the chat waits
//	the gate refuses                        done; the sender is told in the chat
//	fails ten times, nobody knows why       quarantine
//	401                                     this bot stops, and says what to do; all else goes on
//	409                                     said; tried again after 5 s to 15 s, for ever; a webhook is removed
//	429                                     not before retry_after
//	5xx, no network, HTML, garbage          tried again after 1 s to 30 s, for ever
//
// # Names
//
// A session is AGENT.telegram.ACCOUNT.PEER: a chat's number (12345, -100777), and in a forum that of the topic (-100777_t42). A
// group that has moved keeps the number it had first. Keys begin with the bot's own number, which no configuration changes:
//
//	tg.BOT.17      message 17            tg.BOT.cID     a tap on a button
//	tg.BOT.e900    an edit, update 900   tg.BOT.r900    a reaction
//	tg.BOT.u900    a message without id  tg.BOT.q900    quarantine
//
// # Albums
//
// Messages of one media group are one message, with the key of its first, when less than a second is between them; they are done
// together, and the window confirms all of them or none. The first ones often come in one answer and the rest in the next. So
// an album is complete when
//
//   - something else follows in its chat;
//   - a poll that was made a second after its last message came has no more of it;
//   - many updates wait, and ten of others follow: a backlog is taken in without waiting, as the next poll is made at once
//     when nothing is left to do but the album at the end of an answer;
//   - five seconds have passed, in which perhaps no poll was answered.
//
// At a webhook they are single messages, as the server sends the second only when the first is taken.
//
// # When it dies
//
//   - Before an update is done: it comes again, to the next holder of the lease.
//   - Between the append and the offset: it comes again, and its key is known: one event.
//   - While a file is on its way: it is fetched again; the same bytes are kept once.
//   - Between a decision by a button and the answer to the tap: the decision counts, and the query expires unanswered.
//   - One process polls for a bot: the holder of the lease telegram.ACCOUNT. If two do for a moment, Telegram ends one of the
//     polls (409), and what both have got has the same keys.
package telegram
