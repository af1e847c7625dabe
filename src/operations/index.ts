/* What the app may use of operations. */
export { default as events, type EventTimes } from './events/plugin.ts'
