/* What the app may use of the events. */
export { default as events, type EventTimes } from './routes.ts'
