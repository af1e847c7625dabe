/* What other areas and the app may use of identity. */
export { adminKeyScopes } from './keys/key-store.ts'
export { accountFingerprint } from './people/email.ts'
export { firstAdministrator, type Account } from './people/first-admin.ts'
export { countPeople } from './people/count.ts'
export { renderAuthError } from './protocol/errors.ts'
export { default as identity } from './plugin.ts'
export { default as identityRoutes } from './routes.ts'
export { momentaryServiceKey, serviceKey } from './tokens/machine-tokens.ts'
