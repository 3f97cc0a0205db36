module github.com/jetclaw/jetclaw/deploy/check

go 1.26
