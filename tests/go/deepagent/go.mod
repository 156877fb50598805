module atoll.test/deepagent

go 1.18
