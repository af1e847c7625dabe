import { Type, type Static } from '@sinclair/typebox'
import { DeviceOptions } from '#schemas/auth/passkey.ts'
import { Closed } from '#schemas/common.ts'
import type { Config } from '#src/config/config.ts'
import { html, type Html } from '#src/lib/html.ts'
import { relyingParty } from '../factors/webauthn/relying-party.ts'
import { Refused } from './call-route.ts'
import { hidden } from './page-elements.ts'
import type { Texts } from './page-texts.ts'
import { ACCOUNT, SECOND_FACTOR, SIGN_IN } from './page-visitor.ts'

/* URLs of the device forms. The URL of a form's challenge ends with `/opzioni`. */
export const SIGN_IN_PASSKEY = `${SIGN_IN}/passkey`
export const ADD_PASSKEY = `${ACCOUNT}/passkey`
export const PROVE_DEVICE = `${SECOND_FACTOR}/dispositivo`
export const ADD_DEVICE = `${ACCOUNT}/dispositivo`

/** The data that the script needs to ask a device: form fields, and the options for the device. */
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
 * A form that the script submits with a device's response. It is shown only with scripts and device support.
 * @param values further fields. The script fills in empty ones from the challenge
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

/** The device's response, as the script has written it. @throws Refused */
export function parseResponse (credential = ''): object {
  try {
    const response: unknown = JSON.parse(credential)
    if (typeof response === 'object' && response !== null) return response
  } catch {
    // The text is not JSON.
  }
  throw new Refused(400, 'webauthn_verification_failed')
}
