/** A network that guests may join. */
export interface WifiNetwork { name: string, password: string, security: 'WPA' | 'WEP' | 'nopass' }

/**
 * What a telephone reads from a code to join a network. The marks of the notation are escaped: a password with a
 * semicolon would else end there, and what follows would be read as further settings.
 */
export function wifiText ({ name, password, security }: WifiNetwork): string {
  const open = security === 'nopass' || password === ''
  return `WIFI:T:${open ? 'nopass' : security};S:${escape(name)};${open ? '' : `P:${escape(password)};`};`
}

function escape (text: string): string {
  return text.replace(/[\\;,:"]/g, (mark) => `\\${mark}`)
}
