import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadingError } from './lib/missing-packages.ts'
import { speedUpLoading } from './loading.ts'
import type { Rotation } from './services/files/key-rotation.ts'

/**
 * `npm run keys:rotate` rewraps the keys of all stored files. It needs the server's environment. The server may be
 * running. If the command is killed, its next run resumes.
 */
async function rotate (): Promise<Rotation> {
  speedUpLoading()
  const [{ ConfigError, readConfig }, { createKeys }, { connect }, { rotateKeys }, { startEmbedded }] =
    await Promise.all([
      import('./config/config.ts'),
      import('./lib/secrets.ts'),
      import('./database/connect.ts'),
      import('./services/files/key-rotation.ts'),
      import('./database/embedded/cluster.ts')
    ])
  // Check first, because the command would create a cluster or key for a server that does not exist.
  const dataDir = resolve(process.env.DATA_DIR || './data')
  if (!process.env.DATABASE_URL && !existsSync(join(dataDir, 'postgres'))) {
    throw new ConfigError('DATA_DIR', `nessun server ha i suoi dati in ${dataDir}`)
  }
  if (!process.env.MASTER_KEY && !existsSync(join(dataDir, 'master.key'))) {
    throw new ConfigError('MASTER_KEY', `manca, e non c’è ${join(dataDir, 'master.key')}`)
  }
  const config = readConfig(process.env)
  const embedded = config.DATABASE_URL === undefined ? await startEmbedded({ dataDir, log: () => {} }) : undefined
  // A single session, because the advisory lock belongs to a session.
  const { db, sql, close } = connect(config.DATABASE_URL ?? embedded!.url, 1)
  try {
    return await rotateKeys({ db, sql }, createKeys(config.MASTER_KEY))
  } finally {
    await close()
    await embedded?.stop()
  }
}

function report ({ rewrapped, resumed, damaged }: Rotation): void {
  process.stdout.write(`${resumed ? 'Rotazione ripresa' : 'Rotazione'}: ${rewrapped} file con la chiave nuova\n`)
  if (damaged.length === 0) return
  process.stderr.write('Di questi file la chiave è danneggiata, o MASTER_KEY non è quella con cui sono stati ' +
    `scritti: ${damaged.join(', ')}\n`)
  process.exitCode = 1
}

rotate().then(report, async (err: unknown) => {
  const reason = loadingError(err) ?? await reasonOf(err)
  process.stderr.write(`Le chiavi dei file non sono state ruotate: ${reason}\n`)
  process.exitCode = 1
})

async function reasonOf (err: unknown): Promise<string> {
  const [{ startError }, { ForeignMasterKeyError, RotationUnderWayError }] = await Promise.all([
    import('./start-error.ts'), import('./services/files/key-rotation.ts')
  ])
  if (err instanceof ForeignMasterKeyError) return 'MASTER_KEY non è quella con cui sono stati scritti i file'
  return err instanceof RotationUnderWayError ? 'un’altra rotazione è in corso' : startError(err)
}
