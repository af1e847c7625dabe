import type { Context } from '../context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { table } from '../table.ts'

/** Says of everything that the installation of this environment needs whether it is well; 1 where something is not. */
export async function doctor ({ terminal: { env }, out }: Context): Promise<Exit> {
  const { examine } = await import('#src/backup/index.ts')
  const findings = await examine(env)
  out.result(table([{ title: 'esito' }, { title: 'che cosa' }, { title: '' }],
    findings.map(({ level, subject, text }) => [level, subject, text])), {
    data: findings.map(({ level, subject, text }) => ({ esito: level, oggetto: subject, testo: text }))
  })
  return findings.some(({ level }) => level === 'errore') ? EXIT.failed : EXIT.ok
}
