package main

import "time"

const restPoll = time.Second
