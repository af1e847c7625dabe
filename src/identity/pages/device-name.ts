import Bowser from 'bowser'

/** Of a program that nobody knows: so much of what it says of itself. */
const SHOWN = 60

/** What people call the program behind a `User-Agent`, which is not empty, and its system: `Firefox, Windows`. */
export function deviceName (userAgent: string): string {
  const { browser, os } = Bowser.parse(userAgent)
  if (browser.name === undefined || os.name === undefined) {
    return userAgent.length > SHOWN ? `${userAgent.slice(0, SHOWN)}…` : userAgent
  }
  return `${browser.name}, ${os.name}`
}
