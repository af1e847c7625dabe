import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

/** A device’s response, as browsers write it. */
export interface DeviceResponse extends Record<string, unknown> { id: string, response: Record<string, unknown> }

/** A WebAuthn authenticator in software, for the page at a URL. It can also send responses that browsers never send. */
export interface Device {
  create (challenge: string): DeviceResponse
  prove (challenge: string): DeviceResponse
}

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest()
/** The flags for a present and verified person. */
const PRESENT = 0x05
const WITH_CREDENTIAL = 0x40

export function device (
  pageUrl: string,
  { credentialId = randomBytes(32), transports = ['usb'] }: { credentialId?: Buffer, transports?: unknown } = {}
): Device {
  const { hostname, origin } = new URL(pageUrl)
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = credentialId.toString('base64url')
  let uses = 0
  const clientData = (type: string, challenge: string) => Buffer.from(JSON.stringify({ type, challenge, origin }))
  const authData = (flags: number, rest = Buffer.alloc(0)) => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(++uses)
    return Buffer.concat([sha256(hostname), Buffer.of(flags), counter, rest])
  }
  const answer = (response: Record<string, unknown>): DeviceResponse =>
    // The outer id may be shorter than the id in the attestation.
    ({ id: id.slice(0, 1000), rawId: id.slice(0, 1000), type: 'public-key', clientExtensionResults: {}, response })

  return {
    create (challenge) {
      const { x, y } = publicKey.export({ format: 'jwk' })
      const coordinate = (text = '') => Uint8Array.from(Buffer.from(text, 'base64url'))
      const key = Buffer.from(isoCBOR.encode(
        new Map<number, number | Uint8Array>([[1, 2], [3, -7], [-1, 1], [-2, coordinate(x)], [-3, coordinate(y)]])
      ))
      const length = Buffer.alloc(2)
      length.writeUInt16BE(credentialId.length)
      const made = authData(PRESENT | WITH_CREDENTIAL, Buffer.concat([Buffer.alloc(16), length, credentialId, key]))
      const attestation = isoCBOR.encode(new Map<string, unknown>([
        ['fmt', 'none'], ['attStmt', new Map()], ['authData', Uint8Array.from(made)]
      ]) as Parameters<typeof isoCBOR.encode>[0])
      return answer({
        clientDataJSON: clientData('webauthn.create', challenge).toString('base64url'),
        attestationObject: Buffer.from(attestation).toString('base64url'),
        transports
      })
    },

    prove (challenge) {
      const [data, proven] = [clientData('webauthn.get', challenge), authData(PRESENT)]
      return answer({
        clientDataJSON: data.toString('base64url'),
        authenticatorData: proven.toString('base64url'),
        signature: sign('sha256', Buffer.concat([proven, sha256(data)]), privateKey).toString('base64url')
      })
    }
  }
}
