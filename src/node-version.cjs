'use strict'

/*
 * Node loads this file with `-r` before every entry point. It is plain JavaScript, because an old Node would fail on a
 * TypeScript file with a stack trace.
 */

if (!process.features.typescript) {
  process.stderr.write(
    'Locanda richiede Node 22.18 o successivo; questo è Node ' + process.versions.node + '. «npm ci» installa ' +
      'Node 24 fra le dipendenze opzionali, e «make start» e «npm start» lo usano\n'
  )
  process.exit(1)
}
