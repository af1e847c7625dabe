'use strict'

/*
 * Loaded with `-r` before every entry, so it is plain JavaScript for a Node of any age: an older Node would fail on the
 * first TypeScript file with a stack trace.
 */

if (!process.features.typescript) {
  process.stderr.write(
    'Locanda richiede Node 22.18 o successivo; questo è Node ' + process.versions.node + '. «npm ci» installa ' +
      'Node 24 fra le dipendenze opzionali, e «make start» e «npm start» lo usano\n'
  )
  process.exit(1)
}
