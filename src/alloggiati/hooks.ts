import fp from 'fastify-plugin'
import type { Transaction } from '#src/database/connect.ts'

/**
 * Called as the first statement of the transaction that makes a submission ready: a new one, or one that a person
 * decides to send again. What it throws is answered to the caller, and nothing is sent. Submissions that are under way
 * already do not ask.
 */
export type BeforeReady = (tx: Transaction) => Promise<void>

export interface SubmissionHooks { beforeReady: BeforeReady }

declare module 'fastify' {
  interface FastifyInstance {
    /** Has a function called at a step of every submission: the police area need not know who has a say in it. */
    addSubmissionHook<Name extends keyof SubmissionHooks> (name: Name, hook: SubmissionHooks[Name]): void
    /** The registered hooks, in the order in which they were added: for the police area alone. */
    submissionHooks: { readonly [Name in keyof SubmissionHooks]: readonly SubmissionHooks[Name][] }
  }
}

/** The hooks of submissions to the police. Registered before the areas. */
export default fp(async function submissionHooks (app) {
  const hooks: { [Name in keyof SubmissionHooks]: SubmissionHooks[Name][] } = { beforeReady: [] }
  app.decorate('submissionHooks', hooks)
  app.decorate('addSubmissionHook', (name, hook) => { hooks[name].push(hook) })
}, { name: 'submission-hooks', dependencies: ['database'] })
