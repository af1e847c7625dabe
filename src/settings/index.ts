/* Exports of settings for the app. */
export { default as settings } from './plugin.ts'
export { default as settingsRoutes } from './routes.ts'
