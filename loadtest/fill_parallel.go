package main

const fillParallel = 64
