/*
 * The test files that took more than eight seconds of processor time when all were measured (two cores, Node 24.21): a
 * seventh of the files, and half of the time of all. Servers that are started and killed, whole matrices of routes and
 * roles, thousands of invented cases, recognition of pictures. `make test` leaves them out; `make test TESTS=all`, and
 * with it the continuous integration, runs them.
 */

/** They take long by the clock, too: each is a process of its own. */
export const LONGEST: ReadonlySet<string> = new Set([
  'test/crash/crash.test.ts',
  'test/documents/retention.test.ts',
  'test/identity/attacks/fuzz.test.ts',
  'test/identity/guards/matrix-changing.test.ts',
  'test/identity/guards/matrix-reading.test.ts',
  'test/operations/restore.test.ts',
  'test/plugins/database/embedded/cluster.test.ts',
  'test/plugins/database/embedded/places.test.ts',
  'test/scanning/mrz/reader/accuracy.test.ts',
  'test/server-start.test.ts',
  'test/server.test.ts',
  'test/system/email-servers.test.ts'
])

export const LONG: ReadonlySet<string> = new Set([
  ...LONGEST,
  'test/alloggiati/answers.test.ts',
  'test/alloggiati/duplicates.test.ts',
  'test/alloggiati/ledger/decision.test.ts',
  'test/alloggiati/ledger/model.test.ts',
  'test/alloggiati/ledger/suspension.test.ts',
  'test/alloggiati/ledger/two-processes.test.ts',
  'test/alloggiati/misbehaviours/rehearsal.test.ts',
  'test/alloggiati/misbehaviours/send.test.ts',
  'test/alloggiati/write-ahead.test.ts',
  'test/cli/login.test.ts',
  'test/cli/service-key.test.ts',
  'test/contract.test.ts',
  'test/contract/matrix.test.ts',
  'test/deploy/rolling.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/hanging-database.test.ts',
  'test/identity/external/directory.test.ts',
  'test/identity/factors/levels.test.ts',
  'test/identity/pages/browser.test.ts',
  'test/identity/pages/every-page.test.ts',
  'test/identity/refresh/model.test.ts',
  'test/identity/routes/revocation.test.ts',
  'test/identity/sign-in/timing.test.ts',
  'test/letters/killed.test.ts',
  'test/letters/letters.test.ts',
  'test/letters/struttura.test.ts',
  'test/log-reader.test.ts',
  'test/operations/embedded.test.ts',
  'test/operations/nightly.test.ts',
  'test/pdf/make.test.ts',
  'test/pdf/render.test.ts',
  'test/plugins/logging.test.ts',
  'test/plugins/storage/rotation.test.ts',
  'test/plugins/storage/s3.test.ts',
  'test/plugins/streams.test.ts',
  'test/plugins/validation.test.ts',
  'test/reports/hostile.test.ts',
  'test/scanning/mrz/reader/read-picture.test.ts',
  'test/scanning/ocr/ocr.test.ts',
  'test/storage/client.test.ts',
  'test/system/processes.test.ts',
  'test/typed-client.test.ts'
])
