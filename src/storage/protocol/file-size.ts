import { StorageError } from './errors.ts'

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 }

/**
 * A limit in bytes, as Supabase Storage reads it: a number, or a text with a unit (decimal, as there).
 * @throws StorageError
 */
export function readFileSize (value: number | string): number {
  if (typeof value === 'number') return value
  const [, amount = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)(gb|mb|kb|b)?$/i.exec(value.trim()) ?? []
  if (amount === '') {
    throw new StorageError('InvalidRequest', 'Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B')
  }
  return Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? 1))
}
