import { styleText } from 'node:util'

/* Log lines for a person at a terminal. Everywhere else a line is JSON. */

/** Fields that another part of the line shows, or that are the same in every line. */
const HIDDEN = new Set(['level', 'time', 'pid', 'hostname', 'reqId', 'msg', 'err'])

const LEVELS: Readonly<Record<number, string>> = {
  10: styleText('dim', 'TRACE'),
  20: styleText('dim', 'DEBUG'),
  30: 'INFO ',
  40: styleText('yellow', 'WARN '),
  50: styleText('red', 'ERROR'),
  60: styleText('red', 'FATAL')
}

interface Line { level: number, time: number, msg?: string, reqId?: string, err?: { stack?: string, message?: string } }

/** Formats a JSON line as text: time, level, message and fields, then the stack of an error. */
export function terminalLine (json: string): string {
  const line = JSON.parse(json) as Line & Record<string, unknown>
  const { level, time, msg = '', reqId, err } = line
  const fields = Object.entries(line).filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${styleText('dim', `${name}=`)}${printable(valueText(value))}`)
  // Show the request id, because users see it in error messages.
  if (reqId !== undefined && level > 30) fields.push(`${styleText('dim', 'reqId=')}${printable(reqId)}`)
  const clock = new Date(time).toTimeString().slice(0, 8)
  const text = [clock, LEVELS[level] ?? level, printable(msg), ...fields].join(' ')
  const stack = err?.stack || err?.message
  return stack ? `${text}\n${stack.split('\n').map((each) => `    ${printable(each)}\n`).join('')}` : `${text}\n`
}

function valueText (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Escapes control characters, because a client could control the terminal with them. */
function printable (text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
