package main

// nowText has the fake model call a tool that does next to nothing, so that what is measured is the way there and back.
const nowText = "!tool now {} what do you hear?"
