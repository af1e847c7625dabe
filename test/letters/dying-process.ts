import process from 'node:process'
import { build } from '#src/app.ts'
import { readConfig } from '#src/config/config.ts'

/*
 * A server that makes the letter of a booking, or deletes it, and kills itself at a step of that. What it was asked for
 * is in its environment.
 */
const { LETTER_STEP, LETTER_METHOD, LETTER_URL = '', LETTER_BODY, API_KEY = '', ...environ } = process.env

/** Does what was done there, and dies after it at that step. */
function dying<Given extends unknown[], Made> (
  step: string, work: (...given: Given) => Promise<Made>
): (...given: Given) => Promise<Made> {
  return async (...given) => {
    const made = await work(...given)
    if (LETTER_STEP === `after ${step}`) process.kill(process.pid, 'SIGKILL')
    return made
  }
}

const config = readConfig({ API_KEY, ...environ })
const app = await build({ config, jobsByClock: false, logStream: { write () {} } })
const { pdf, storage } = app
pdf.record = dying('recording', pdf.record)
pdf.remove = dying('removing', pdf.remove)
storage.write = dying('writing', storage.write)
storage.settle = dying('settling', storage.settle) as typeof storage.settle
await app.ready()
await app.inject({
  method: LETTER_METHOD as 'POST' | 'DELETE',
  url: LETTER_URL,
  headers: { 'x-api-key': API_KEY, 'idempotency-key': LETTER_STEP! },
  ...(LETTER_BODY === undefined ? {} : { payload: JSON.parse(LETTER_BODY) as object })
})
// Who is here has not met the step.
process.exit(1)
