/* A worker task: the thread calls the default export. */
export { makeHtml as default } from './task.ts'
