/* Exports of the desk for the administration and the app. */
export { barScreens } from './pages/desk-layout.ts'
export { frameTexts } from './pages/texts/frame-texts.ts'
export { default as desk } from './plugin.ts'
export { today } from './today.ts'
