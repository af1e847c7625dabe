/* What the app may use of the SQL console. */
export { default as sqlConsole } from './routes.ts'
