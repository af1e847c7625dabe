import { Type, type Static } from '@sinclair/typebox'
import { DeviceOptions } from '#schemas/auth/passkey.ts'
import { Closed } from '#schemas/common.ts'
import type { Config } from '#src/config/config.ts'
import { html, type Html } from '#src/lib/html.ts'
import { relyingParty } from '../factors/webauthn/relying-party.ts'
import { Refused } from './ask.ts'
import { hidden } from './parts.ts'
import type { Texts } from './page-texts.ts'
import { ACCOUNT, SECOND_FACTOR, SIGN_IN } from './visitors.ts'

/* Where the forms for devices go. What a device is asked is at `/opzioni` below. */
export const SIGN_IN_PASSKEY = `${SIGN_IN}/passkey`
export const ADD_PASSKEY = `${ACCOUNT}/passkey`
export const PROVE_DEVICE = `${SECOND_FACTOR}/dispositivo`
export const ADD_DEVICE = `${ACCOUNT}/dispositivo`

/** What the script gets before it asks a device: fields of the form, and what the device is to do. */
export const DeviceQuestion = Closed({
  fields: Closed({ challenge: Type.String(), id: Type.Optional(Type.String()) }),
  create: Type.Boolean(),
  options: DeviceOptions
})
export type DeviceQuestion = Static<typeof DeviceQuestion>

export function asksDevices (config: Config): boolean {
  return relyingParty(config)?.origins.includes(new URL(config.PUBLIC_URL).origin) ?? false
}

/**
 * A form that the script sends with a device's answer, and shows where there is a script and may be a device.
 * @param values further fields, empty where the question fills them in
 */
export function deviceForm (
  { action, button, values = {} }: { action: string, button: string, values?: Readonly<Record<string, string>> },
  { deviceFailed }: Texts
): Html {
  const data = html`data-options="${action}/opzioni" data-failure="${deviceFailed}"`
  return html`<form method="post" action="${action}" ${data} hidden>
${hidden({ challenge: '', credential: '', ...values })}<button class="quiet">${button}</button>
<span class="error" role="alert"></span>
</form>
`
}

/** The answer of a device, as the script has written it. @throws Refused */
export function answerOf (credential = ''): object {
  try {
    const answer: unknown = JSON.parse(credential)
    if (typeof answer === 'object' && answer !== null) return answer
  } catch {
    // No answer.
  }
  throw new Refused(400, 'webauthn_verification_failed')
}
