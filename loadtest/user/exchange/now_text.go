package exchange

// NowText has the fake model call a tool that does next to nothing, so that what is measured is the way there and back.
const NowText = "!tool now {} what do you hear?"
