package turn

// helpText answers /help, and Telegram's /start: often it is the first thing that a person reads here.
const helpText = "Hello! I am an assistant. Write to me in plain words: ask, or say what is to be done. You can also send pictures and " +
	"files, forward messages, and reply to what was said before. Before I do something risky I ask.\n" + `
/new: begin afresh (/new keep: with a summary of what was)
/stop: stop what I am doing, and drop what waits
/status: what is going on, and what it has used
/model: which model answers (/model NAME: another one)
/queue: what a message does while I am at work (/queue MODE: something else)
/compact: replace what was said so far by a summary
/approve: allow what I have asked for
/deny: do not allow it
/help: this text`
