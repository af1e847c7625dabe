import closeWithGrace from 'close-with-grace'
import { build } from './app.ts'
import { ConfigError, readConfig } from './config.ts'

/** The process: environment → configuration → build → listen → signals. Nothing below this file reads `process`. */
async function start (): Promise<void> {
  const config = readConfig(process.env)
  const app = await build({ config })
  // Longer than the longest call to the police: an end in the middle of one would leave its outcome unknown.
  closeWithGrace({ delay: 75_000, logger: false }, async ({ err, signal }) => {
    if (err) app.log.fatal({ err }, 'unexpected failure')
    else app.log.info({ signal }, 'closing')
    await app.close()
  })
  const address = await app.listen({ port: config.PORT, host: config.HOST })
  app.log.info({ address, mode: config.ALLOGGIATI_MODE }, 'ready')
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`Locanda vuole Node 22.18 o successivo, questo è ${process.versions.node}: usare «npm start»\n`)
  process.exit(1)
}

start().catch((err: unknown) => {
  const reason = err instanceof ConfigError ? err.message : err instanceof Error ? err.stack : String(err)
  process.stderr.write(`Locanda non può partire: ${reason}\n`)
  process.exit(1)
})
