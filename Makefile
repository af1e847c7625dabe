# Why an installation ends without success is in many lines of npm's: the last one says it for a person.
NO_PACKAGES = { echo 'Locanda: i pacchetti non sono stati installati. Serve la rete, o un registry npm raggiungibile:' \
	"$$(npm config get registry)" >&2; exit 1; }

.PHONY: start test coverage bench check

# Two installations at the same time: one of them keeps one processor busy.
MAKEFLAGS += --jobs=2

# Node 24, which runs everything, whatever the system's is.
NODE = .node/node_modules/.installed
# Our own script after an installation, and none of other packages.
AFTER_INSTALL = LOCANDA_NODE=apart PATH="$$PWD/node_modules/.bin:$$PATH" sh .patches/after-install
LINK_NODE = ln -sf ../../.node/node_modules/.bin/node node_modules/.bin/node

# What runs in production; `test` brings the rest.
node_modules/.production: package-lock.json
	npm ci --omit=dev --ignore-scripts || $(NO_PACKAGES)
	npm_config_omit=dev $(AFTER_INSTALL)
	$(LINK_NODE)
	touch $@

node_modules/.development: package-lock.json
	npm ci --ignore-scripts || $(NO_PACKAGES)
	$(AFTER_INSTALL)
	$(LINK_NODE)
	touch node_modules/.production $@

$(NODE): .node/package-lock.json
	npm ci --prefix .node || $(NO_PACKAGES)
	touch $@

# Installs and starts the server, with a PostgreSQL of its own in ./data. Without npm in between, which would stay in
# memory and hand signals on.
start: node_modules/.production $(NODE)
	PATH="$$PWD/node_modules/.bin:$$PATH" exec sh -c "$$(node -p 'require("./package.json").scripts.start')"

# Installs and passes the tests.
test: node_modules/.development $(NODE)
	npm test

# What the last whole run of the tests has left unexecuted of the codec, the rules and the ledger; fails below 100 %.
coverage: node_modules/.development $(NODE)
	npm run coverage

# Speed, as ratios against a bare peer in the same run.
bench: node_modules/.development $(NODE)
	npm run bench

# Types, lint and formatting, circular imports.
check: node_modules/.development $(NODE)
	npm run check
