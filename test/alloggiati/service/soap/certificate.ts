import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificate { key: string, cert: string }

/** Creates a self-signed certificate for one name in `folder`. Undefined without openssl. */
export function selfSigned (folder: string, name: string): Certificate | undefined {
  const key = join(folder, 'key.pem')
  const cert = join(folder, 'cert.pem')
  try {
    execFileSync('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
      '-subj', '/CN=prova', '-addext', `subjectAltName=${name}`, '-keyout', key, '-out', cert
    ], { stdio: 'ignore' })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}
