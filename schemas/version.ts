import { Type, type Static } from '@sinclair/typebox'
import { Closed } from './common.ts'

/**
 * `latestCommit`: the full hash. Empty if neither the package nor its own repository has one. `hostingDeploy`:
 * `HOSTING_DEPLOY`, else `local`.
 */
export const VersionResponse = Closed({
  version: Type.String({ examples: ['0.1.0'] }),
  latestCommit: Type.String({
    description: 'L’hash del commit; vuoto se non si sa',
    examples: ['4b825dc642cb6eb9a060e54bf8d69288fbee4904']
  }),
  hostingDeploy: Type.String({ examples: ['local'] })
})
export type VersionResponse = Static<typeof VersionResponse>
