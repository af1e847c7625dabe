import { join } from 'node:path'
import type { Config } from '#src/config/config.ts'
import type { Backend } from './backend.ts'
import { filesBackend } from './files.ts'
import { s3Backend, s3Settings } from './s3.ts'

/** Where an installation keeps its files: the S3 bucket of its settings, else a folder in `DATA_DIR`. */
export function backendOf (config: Config): Backend {
  const remote = s3Settings(config)
  return remote ? s3Backend(remote) : filesBackend(filesFolder(config))
}

/** The folder of the files, where they are not in S3. */
export function filesFolder ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string {
  return join(DATA_DIR, 'files')
}
