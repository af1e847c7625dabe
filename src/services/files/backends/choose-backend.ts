import { join } from 'node:path'
import type { Config } from '#src/config/config.ts'
import type { Backend } from './backend.ts'
import { folderBackend } from './folder-backend.ts'
import { s3Backend, s3Settings } from './s3-backend.ts'

/** The configured file backend: an S3 bucket, else a folder in `DATA_DIR`. */
export function chooseBackend (config: Config): Backend {
  const remote = s3Settings(config)
  return remote ? s3Backend(remote) : folderBackend(filesFolder(config))
}

/** The folder of the file backend without S3. */
export function filesFolder ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string {
  return join(DATA_DIR, 'files')
}
