.PHONY: start test check coverage bench

# `npm ci` writes node_modules/.installed last (package.json, postinstall). It runs when the lock file is newer than
# that, when an installation was interrupted, and when the packages for development are asked for and missing.
PRODUCTION = @test node_modules/.installed -nt package-lock.json || npm ci --omit=dev
DEVELOPMENT = @test -d node_modules/tap -a node_modules/.installed -nt package-lock.json || npm ci

# Installs and starts the server, with a PostgreSQL of its own in ./data.
start:
	$(PRODUCTION)
	@exec npm start

# Installs and runs all tests. It says how long they take, and ends with a count.
test:
	$(DEVELOPMENT)
	@.ci/test

# Types, style, circular imports.
check:
	$(DEVELOPMENT)
	@npm run check

# Runs the tests of the police area. Fails when a line or branch of the codec, the rules or the ledger is not covered.
coverage:
	$(DEVELOPMENT)
	@npm run coverage

# Speed, as ratios against a bare peer in the same run.
bench:
	$(DEVELOPMENT)
	@npm run bench
