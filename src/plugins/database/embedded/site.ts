import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Log } from './problems.ts'

/** Everything that starting, finding and stopping the cluster of one `DATA_DIR` has to know. */
export interface Site {
  /** `DATA_DIR`, absolute and free of symbolic links. */
  home: string
  /** The data folder, `DATA_DIR/postgres`, or where that link points. */
  folder: string
  binaries: Binaries
  /** Whom PostgreSQL runs as; undefined: the user of this process. */
  account: Account | undefined
  /** Folder of the Unix socket; undefined: loopback TCP with `password`. */
  socketFolder: string | undefined
  /** Of TCP, or in the socket's name. */
  port: number
  password: string | undefined
  /** Of PostgreSQL, in place of the usual ones. */
  settings: Readonly<Record<string, string>>
  log: Log
}
