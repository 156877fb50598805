# Every task of this repository. `make help` lists them; `make test` is the truth of CI.

SHELL := bash
.DEFAULT_GOAL := help

ARGS ?=
SECTIONS ?=
PREFIX ?= $(HOME)/.local
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help
help: ## List the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

.PHONY: run
run: build ## Start a sandbox at http://127.0.0.1:8080 (ARGS="--listen 127.0.0.1:9000" to change it)
	@scripts/run.sh $(ARGS)

.PHONY: build
build: ## Build target/release/atoll with its web pages
	@scripts/setup.sh run
	cargo build --release --package atoll

.PHONY: install
install: build ## Put atoll and aio, manual pages and completions below PREFIX (~/.local)
	@scripts/install.sh "$(TARGET)/release/atoll" "$(PREFIX)"

.PHONY: test
test: ## Run every test (SECTIONS="format lint rust contract sdk mcp ui" for some)
	@scripts/setup.sh test
	@scripts/test.sh $(SECTIONS)

.PHONY: bench
bench: build ## Measure, side by side with the peers (ARGS="--quick" for a look, ARGS="exec start" for some)
	@scripts/bench.sh $(ARGS)

.PHONY: soak
soak: build ## Run the long tests (ARGS="--minutes 5 steady" for a short or single one)
	@scripts/soak.sh $(ARGS)

.PHONY: contract
contract: ## Rewrite the generated files in contract/
	@scripts/setup.sh test
	@scripts/contract.sh

.PHONY: clean
clean: ## Remove everything built or installed in this directory
	cargo clean
	rm -rf .tools web/node_modules web/dist
