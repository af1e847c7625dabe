/* A worker task. The thread calls the default export. */
export { makeHtml as default } from './task.ts'
