/* Exports of identity for other areas and the app. */
export { checkProvider } from './external/jwks.ts'
export { adminKeyScopes } from './keys/key-store.ts'
export { accountFingerprint } from './people/email.ts'
export { firstAdministrator, type Account } from './people/first-admin.ts'
export {
  banAgain, bansInForce, deleteAgain, endRestoredAccess, presentPeople, type Ban, type RevokedKey
} from './people/restored-access.ts'
export { countPeople } from './sign-in/person-sessions.ts'
export { renderAuthError } from './protocol/errors.ts'
export { default as identity } from './plugin.ts'
export { default as identityRoutes } from './routes.ts'
export { momentaryServiceKey, serviceKey } from './tokens/machine-tokens.ts'
