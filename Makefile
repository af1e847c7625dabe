.PHONY: start demo test check coverage bench

# `npm ci` writes node_modules/.installed last (package.json, postinstall). It runs if the lock file is newer than
# that file, if an installation was interrupted, and if packages for development are needed and missing.
PRODUCTION = @test node_modules/.installed -nt package-lock.json || npm ci --omit=dev
DEVELOPMENT = @test -d node_modules/tap -a node_modules/.installed -nt package-lock.json || npm ci

# Installs and starts the server, with its own PostgreSQL in ./data.
start:
	$(PRODUCTION)
	@exec npm start

# Installs and starts a server in sandbox mode with an invented house, in ./data-demo. Prints the sign-in.
demo:
	$(PRODUCTION)
	@exec npm run -s demo

# Installs and runs all tests. Prints how long they take, and at the end the counts.
test:
	$(DEVELOPMENT)
	@.ci/test

# Checks types, style and circular imports.
check:
	$(DEVELOPMENT)
	@npm run check

# Runs the tests of the police area. Fails when a line or branch of the codec, the rules or the ledger is not covered.
coverage:
	$(DEVELOPMENT)
	@npm run coverage

# Measures speed, as ratios to a minimal program in the same run.
bench:
	$(DEVELOPMENT)
	@npm run bench
