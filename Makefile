.PHONY: start test coverage bench check types lint circular

# Why an installation ends without success is in many lines of npm's: the last one says it for a person.
NO_PACKAGES = { echo 'Locanda: i pacchetti non sono stati installati. Servono spazio sul disco e un registry npm raggiungibile:' \
	"$$(npm config get registry)" >&2; exit 1; }

# The packages, and the programs beside them: Node 24, which runs everything, whatever the system's is, and PostgreSQL.
# At the same time: what unpacks one of them keeps one processor busy.
PROGRAMS = .programs/node_modules/.installed
PACKAGES = +@$(MAKE) --silent --jobs=2 $(PROGRAMS)

# Our own script after an installation, and none of the packages'.
AFTER_INSTALL = LOCANDA_NODE= LOCANDA_PROGRAMS=apart PATH="$$PWD/node_modules/.bin:$$PATH" sh .patches/after-install

# Installs and starts the server, with a PostgreSQL of its own in ./data. Without npm in between, which would stay in
# memory and hand signals on.
start:
	$(PACKAGES) node_modules/.production || $(NO_PACKAGES)
	PATH="$$PWD/node_modules/.bin:$$PATH" exec sh -c "$$(node -p 'require("./package.json").scripts.start')"

# Installs and passes the tests; with TESTS=all those that take long, too.
test:
	$(PACKAGES) node_modules/.development || $(NO_PACKAGES)
	npm test

# What the last whole run of the tests has left unexecuted of the codec, the rules and the ledger; fails below 100 %.
coverage:
	$(PACKAGES) node_modules/.development || $(NO_PACKAGES)
	npm run coverage

# Speed, as ratios against a bare peer in the same run.
bench:
	$(PACKAGES) node_modules/.development || $(NO_PACKAGES)
	npm run bench

# Types, lint and formatting, circular imports. Side by side: each keeps one processor busy, and little more.
CHECKS = types lint circular
check:
	$(PACKAGES) node_modules/.development || $(NO_PACKAGES)
	+@$(MAKE) --no-print-directory --jobs --output-sync --keep-going $(CHECKS)

$(CHECKS):
	npm run $@

# What an installation that has ended is known by: it goes before the next one begins.
DONE = node_modules/.production node_modules/.development

# Of what .patches/leave-out.cjs removes from what runs in production; no patch is for such a file.
NOT_EVEN_UNPACKED = --exclude='*.map' --exclude='*.d.mts' --exclude='*.d.cts'

# What runs in production; `test` brings the rest.
node_modules/.production: package-lock.json
	rm -f $(DONE)
	npm_config_omit=dev node .programs/packages.cjs . $(NOT_EVEN_UNPACKED)
	npm_config_omit=dev $(AFTER_INSTALL)
	touch $@

node_modules/.development: package-lock.json
	rm -f $(DONE)
	node .programs/packages.cjs .
	$(AFTER_INSTALL)
	touch $(DONE)

$(PROGRAMS): .programs/package-lock.json
	rm -f $@
	LOCANDA_NODE= node .programs/install.cjs
	touch $@
