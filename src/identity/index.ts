/* Exports of identity for other areas and the app. */
export { checkProvider } from './external/jwks.ts'
export { adminKeyScopes } from './keys/key-store.ts'
export { accountFingerprint } from './people/email.ts'
export { firstAdministrator, type Account } from './people/first-admin.ts'
export {
  banAgain, bansInForce, deleteAgain, endRestoredAccess, presentPeople, type Ban, type RevokedKey
} from './people/restored-access.ts'
export { countUsersAndSessions } from './sign-in/person-sessions.ts'
export { renderAuthError } from './protocol/errors.ts'
export { isLanguage, type Language } from './languages.ts'
export { CONFIRM_PAGE } from './sign-in/account-mails.ts'
export { injectRoute, type RouteCall } from './pages/call-route.ts'
export { default as pageForms } from './pages/form-checks.ts'
export { setNextPage } from './pages/page-cookies.ts'
export { fill, languageOf } from './pages/page-texts.ts'
export {
  ACCOUNT, findVisitor, RedirectError, requireVisitor, SIGN_IN, type Visitor
} from './pages/page-visitor.ts'
export { proofPage } from './pages/show-error.ts'
export { isAdmin, isStaff } from './people/roles.ts'
export { default as identity } from './plugin.ts'
export { default as identityRoutes } from './routes.ts'
export { momentaryServiceKey, serviceKey } from './tokens/machine-tokens.ts'
