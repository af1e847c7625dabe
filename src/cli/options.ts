import { isDay } from '#src/lib/time.ts'
import { usageError } from './errors.ts'

/* Readers of option values, for `commander`: what does not fit is a wrong use that names the option. */

export function day (option: string): (text: string) => string {
  return (text) => {
    if (!isDay(text)) throw usageError(`${option}: «${text}» non è un giorno (AAAA-MM-GG)`)
    return text
  }
}

export function integer (option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw usageError(`${option}: «${text}» non è un numero intero da ${min} a ${max}`)
    }
    return value
  }
}

export function oneOf (option: string, values: readonly string[]): (text: string) => string {
  return (text) => {
    if (!values.includes(text)) throw usageError(`${option}: «${text}» non è fra ${values.join(', ')}`)
    return text
  }
}

/** For an option that may be given more than once. */
export function someOf (option: string, values: readonly string[]): (text: string, before?: string[]) => string[] {
  const read = oneOf(option, values)
  return (text, before = []) => [...before, read(text)]
}
