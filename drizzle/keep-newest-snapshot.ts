import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/* Runs after drizzle-kit, which reads only the newest snapshot. Deletes the others, and puts the newest on one line. */
const META = new URL('migrations/meta/', import.meta.url)
const snapshots = readdirSync(META).filter((name) => name.endsWith('_snapshot.json')).sort()
const newest = new URL(snapshots.pop()!, META)
for (const name of snapshots) rmSync(new URL(name, META))
writeFileSync(newest, `${JSON.stringify(JSON.parse(readFileSync(newest, 'utf8')))}\n`)
