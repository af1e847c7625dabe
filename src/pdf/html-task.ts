/* The module of a thread's task: its default export is what runs. */
export { makeHtml as default } from './task.ts'
