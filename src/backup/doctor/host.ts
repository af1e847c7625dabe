import { access, constants, statfs } from 'node:fs/promises'
import { isWithin } from '#src/config/backup-folder.ts'
import type { Config } from '#src/config/config.ts'
import { lastBackup, OLD_MS } from '../kept-backups.ts'
import { codeOf, fault, ok, warning, type Look } from './finding.ts'

const MIB = 1024 * 1024
const TIGHT = 1024 * MIB
const FULL = 64 * MIB

/** Room where the embedded database and the files are. */
export function disk ({ DATA_DIR }: Config): Look {
  return async () => {
    const room = await roomIn(DATA_DIR)
    const text = `${Math.floor(room / MIB)} MiB liberi in DATA_DIR`
    if (room < FULL) return fault(`${text}: fare posto subito`)
    return room < TIGHT ? warning(`${text}: fare posto`) : ok(text)
  }
}

async function roomIn (folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** The nightly backups, and whether there is room for the next one: it is whole before an old one goes. */
export function backups ({ BACKUP_DIR: folder, DATA_DIR }: Config): Look {
  return async () => {
    if (folder === undefined) return warning('nessun salvataggio notturno: impostare BACKUP_DIR e BACKUP_PASSPHRASE')
    try {
      await access(folder, constants.W_OK)
      const { age, size } = await lastBackup(folder)
      const room = await roomIn(folder)
      if (room < Math.max(size, FULL)) {
        const last = age === Infinity ? '' : `, l’ultimo salvataggio ne ha ${Math.ceil(size / MIB)}`
        return fault(`${Math.floor(room / MIB)} MiB liberi in BACKUP_DIR${last}: fare posto`)
      }
      const inside = isWithin(DATA_DIR, folder)
        ? '; BACKUP_DIR è in DATA_DIR: chi perde quella cartella perde anche i salvataggi'
        : ''
      if (age === Infinity) {
        return warning(`in BACKUP_DIR non c’è ancora nessun salvataggio: «locanda job backup»${inside}`)
      }
      if (age > OLD_MS) {
        return warning(`l’ultimo salvataggio ha più di due giorni: vedere il lavoro «backup» in «locanda job»${inside}`)
      }
      const made = `l’ultimo è di ${Math.round(age / 3_600_000)} ore fa${inside}`
      return inside === '' ? ok(made) : warning(made)
    } catch (err) {
      return fault(`in BACKUP_DIR non si può scrivere (${codeOf(err)}): controllare cartella e permessi`)
    }
  }
}

/** Where the master key is. */
export function masterKey ({ MASTER_KEY_ORIGIN: { file } }: Config, isOwn: boolean | undefined): Look {
  return async () => {
    if (isOwn === false) return fault('non è quella con cui è stato scritto il database: rimettere quella di allora')
    return file === undefined
      ? ok('nella variabile MASTER_KEY: conservarne una copia')
      : ok(`in ${file}: conservarne una copia altrove`)
  }
}
