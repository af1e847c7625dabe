import { statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { EmbeddedError } from './problems.ts'

/** An operating-system user for a child process. */
export interface Account { uid: number, gid: number }

/**
 * Who may stand in for root, in order of preference. initdb wants a name in the user database, so a bare number will
 * not do.
 */
const STAND_INS = ['postgres', 'nobody']

/** The user id of this process; undefined where there are none (Windows). */
export function ownUid (): number | undefined {
  try {
    const { uid } = userInfo()
    return uid < 0 ? undefined : uid
  } catch {
    // The user database has no entry for the user, as in some containers.
    return statSync('/proc/self', { throwIfNoEntry: false })?.uid
  }
}

/**
 * Whom PostgreSQL runs as: undefined for an ordinary user, who runs it himself. Root may not: then the owner of the
 * data folder, so that nothing changes hands between restarts, else the first stand-in of the system.
 * @throws EmbeddedError when the folder is another user's, or root finds no stand-in
 */
export async function chooseAccount (folder: string): Promise<Account | undefined> {
  const uid = ownUid()
  if (uid === undefined) return undefined
  const owner = await stat(folder).catch(() => undefined)
  if (uid !== 0) {
    if (owner && owner.uid !== uid) {
      throw new EmbeddedError(
        `la cartella ${folder} appartiene all'utente ${owner.uid}, il server gira come utente ${uid}`
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  return standIn(await readFile('/etc/passwd', 'utf8'))
}

/** The stand-in for root among the lines of a passwd file (name:password:uid:gid:…). */
export function standIn (passwd: string): Account {
  const users = new Map(passwd.split('\n').map((line) => line.split(':')).map((fields) => [fields[0], fields]))
  for (const name of STAND_INS) {
    const fields = users.get(name)
    if (fields && Number(fields[2]) > 0) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw new EmbeddedError(
    `non gira come root e manca un utente fra ${STAND_INS.join(', ')}: ` +
      'avviare il server come utente ordinario o indicare DATABASE_URL'
  )
}
