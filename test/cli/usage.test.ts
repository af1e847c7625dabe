import t from 'tap'
import { runningVersion } from '#src/lib/version.ts'
import { errorOf, user } from './process.ts'

const COMMANDS: readonly string[][] = [
  ['login'],
  ['logout'],
  ['key'],
  ['prenotazioni', 'list'],
  ['prenotazioni', 'show'],
  ['alloggiati', 'check'],
  ['alloggiati', 'valida'],
  ['alloggiati', 'invio'],
  ['admin', 'create'],
  ['admin', 'reset-password'],
  ['service-key']
]
/** What the library would say by itself. */
const ENGLISH = /usage:|options:|commands:|arguments:|display|output the|\boptions?\b|\[command\]|default:/i

t.test('every command explains itself in Italian, on standard output, and the whole as well', async (t) => {
  const { act } = user(t)
  for (const command of [[], ['prenotazioni'], ['alloggiati'], ...COMMANDS]) {
    const { code, stdout, stderr } = await act([...command, '--help'])
    t.equal(code, 0, command.join(' '))
    t.equal(stderr, '')
    t.match(stdout, new RegExp(`^Uso: ${['locanda', ...command].join(' ')}\\b`))
    t.match(stdout, '--json')
    t.notMatch(stdout, ENGLISH)
  }
})

t.test('what takes arguments shows examples, and the whole names every exit code', async (t) => {
  const { act } = user(t)
  for (const command of [
    [],
    ['login'],
    ['key'],
    ['prenotazioni', 'list'],
    ['prenotazioni', 'show'],
    ['alloggiati', 'valida'],
    ['alloggiati', 'invio']
  ]) {
    t.match((await act([...command, '--help'])).stdout, /\nEsemp[io]+:\n {2}locanda /, command.join(' '))
  }
  t.match((await act(['help'])).stdout, /0 {2}.*\n.*1 {2}.*\n.*2 {2}.*\n.*3 {2}.*\n.*4 {2}.*\n.*5 {2}/)
})

t.test('--version is the version that the server reports', async (t) => {
  const { version } = await runningVersion()
  t.same(await user(t).run(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
})

t.test(
  'a wrong use ends with 2, one line on standard error that names what is wrong, and nothing on standard output',
  async (t) => {
    const { act } = user(t)
    const cases: [args: string[], says: string | RegExp][] = [
      [['prenotazzioni'], '«prenotazzioni»: forse prenotazioni?'],
      [['login', '--emial', 'x'], '«--emial»: forse --email?'],
      [['login', '--email'], '--email'],
      [['login', 'anna@example.com'], 'Troppi argomenti'],
      [['login'], '--email'],
      [['login', '--email', 'anna@example.com', '--password', 'CANARY'], '--password'],
      [['prenotazioni', 'show'], 'id'],
      [['prenotazioni', 'show', '0'], 'id'],
      [['prenotazioni', 'show', '1e3'], 'id'],
      [['prenotazioni', 'show', '2147483648'], 'id'],
      [['prenotazioni', 'list', '--da', '2026-02-30'], '--da'],
      [['prenotazioni', 'list', '--a', 'oggi'], '--a'],
      [['prenotazioni', 'list', '--limit', '1001'], '--limit'],
      [['prenotazioni', 'list', '--sort', 'nome'], '--sort'],
      [['admin', 'create'], '--email'],
      [['admin', 'reset-password', '--genera'], '--email'],
      [['key', '--giorni', '366'], '--giorni'],
      [['key', '--scope', 'lettura', 'tutto'], '--scope'],
      [['alloggiati', 'valida'], '--prenotazione'],
      [['alloggiati', 'valida', 'schedine.json', '--prenotazione', '1'], '--prenotazione'],
      [['alloggiati', 'valida', 'schedine.json', '--appartamento', '1'], '--appartamento'],
      [['prenotazioni', 'list', '--url', 'ftp://127.0.0.1'], '--url'],
      [['prenotazioni', 'list', '--url', 'http://127.0.0.1/?x=1'], '--url'],
      [['prenotazioni', 'list', '--url', 'locanda'], '--url']
    ]
    for (const [args, says] of cases) {
      const { code, stdout, stderr } = await act(args)
      t.equal(code, 2, args.join(' '))
      t.equal(stdout, '')
      t.match(stderr, /^Errore: [^\n]+\n$/)
      t.match(stderr, says)
      t.notMatch(stderr, 'CANARY')
    }
  }
)

t.test('an address with a password in it is refused without repeating it, wherever it comes from', async (t) => {
  const { act } = user(t)
  for (const ended of [
    await act(['prenotazioni', 'list', '--url', 'http://anna:CANARY@127.0.0.1']),
    await act(['prenotazioni', 'list'], { env: { LOCANDA_URL: 'http://anna:CANARY@127.0.0.1' } })
  ]) {
    t.equal(ended.code, 2)
    t.match(ended.stderr, /--url|LOCANDA_URL/)
    t.notMatch(ended.stderr, 'CANARY')
  }
})

t.test('a command that is missing ends with 2 and shows which there are', async (t) => {
  const { act } = user(t)
  for (const [args, shows] of [
    [[], 'prenotazioni'],
    [['prenotazioni'], 'show <id>'],
    [['alloggiati'], 'valida']
  ] as const) {
    const { code, stdout, stderr } = await act(args)
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, shows)
  }
})

t.test('with --json an error is one object on standard error', async (t) => {
  const { act } = user(t)
  for (const args of [
    ['prenotazzioni'],
    ['login', '--emial', 'x'],
    ['prenotazioni', 'show', 'x'],
    ['prenotazioni'],
    ['alloggiati', 'valida']
  ]) {
    const ended = await act(['--json', ...args])
    t.equal(ended.code, 2, args.join(' '))
    t.equal(ended.stdout, '')
    t.strictSame(Object.keys(errorOf(ended)), ['codice', 'messaggio', 'uscita'])
    t.match(errorOf(ended), { codice: 'USO_NON_VALIDO', messaggio: /./, uscita: 2 })
  }
  t.equal(errorOf(await act(['prenotazioni', '--json', 'list'])).codice, 'NON_AUTENTICATO', 'wherever it stands')
  t.equal(errorOf(await act(['prenotazioni', 'list', '--json'])).codice, 'NON_AUTENTICATO')
})

t.test('a real Send is refused before anything else, whatever is given with it', async (t) => {
  const { act } = user(t)
  for (const args of [['schedine.json'], ['--prenotazione', '1'], ['-']]) {
    const { code, stdout, stderr } = await act(['alloggiati', 'invio', ...args], {
      input: '{"ospiti":[],"prenotazione":{},"testMode":true}'
    })
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, /--test/)
    t.match(stderr, /applicazione/)
  }
})

t.test('the process itself ends with these codes, and keeps results apart from errors', async (t) => {
  const { run } = user(t)
  t.match(await run(['--help']), { code: 0, stdout: /^Uso: locanda/, stderr: '' })
  t.match(await run(['prenotazzioni']), { code: 2, stdout: '', stderr: /^Errore: [^\n]+\n$/ })
  t.match(errorOf(await run(['--json', 'prenotazioni', 'list'])), { uscita: 3 })
})
