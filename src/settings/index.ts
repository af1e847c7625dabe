/* What the app may use of the settings. */
export { default as settings } from './plugin.ts'
export { default as settingsRoutes } from './routes.ts'
