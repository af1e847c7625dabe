/* Exports of the SQL console for the app. */
export { default as sqlConsole } from './routes.ts'
