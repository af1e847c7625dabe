'use strict'

/*
 * Comes before every entry: a Node that does not read TypeScript would end with a stack. Therefore plain JavaScript of
 * any age, and a module that is loaded with `-r`, which every Node knows.
 */

if (!process.features.typescript) {
  process.stderr.write(
    'Locanda vuole un Node che legga TypeScript, dal 22.18 in poi; questo è ' + process.versions.node +
      ': «npm ci», senza escludere le dipendenze opzionali, ne porta uno, che «make start» e «npm run» trovano\n'
  )
  process.exit(1)
}
