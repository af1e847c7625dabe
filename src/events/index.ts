/* The exports of the events area. */
export { default as events, type EventTimes } from './routes.ts'
