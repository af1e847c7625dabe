import { AuthError } from '../errors.ts'

const DEFAULT_SIZE = 50
const LARGEST_SIZE = 1000

/** A page of a list, counted from 1. */
export interface Page { number: number, size: number }

/** The page that is asked for; the official client sends both parameters, empty when it means the first. */
export function pageOf ({ page = '', per_page: size = '' }: { page?: string, per_page?: string }): Page {
  return { number: count(page, 'page', 1, 1_000_000), size: count(size, 'per_page', DEFAULT_SIZE, LARGEST_SIZE) }
}

/**
 * `Link` (RFC 8288) to the next and the last page of the same list. The official client reads what stands after the
 * first `=`.
 * @param asked further parameters of the query
 */
export function pageLinks (
  path: string,
  { number, size }: Page,
  total: number,
  asked: Readonly<Record<string, string | undefined>>
): string {
  const last = Math.max(1, Math.ceil(total / size))
  const same = Object.entries(asked)
    .map(([name, value]) => value ? `&${name}=${encodeURIComponent(value)}` : '').join('')
  const link = (page: number, rel: string) => `<${path}?page=${page}&per_page=${size}${same}>; rel="${rel}"`
  return [...(number < last ? [link(number + 1, 'next')] : []), link(last, 'last')].join(', ')
}

/**
 * Whether the oldest users come first, by the one order that the protocol has (`created_at`, `asc` or `desc`).
 * @throws AuthError validation_failed
 */
export function isOldestFirst (sort = ''): boolean {
  const [, field = '', direction = 'desc'] = /^([^ ]*)(?: (.*))?$/s.exec(sort) ?? []
  if (sort !== '' && field !== 'created_at') throw badSort(`bad field for sort '${field}'`)
  const order = direction.toLowerCase()
  if (order !== 'asc' && order !== 'desc') {
    throw badSort(`bad direction for sort '${direction}', only 'asc' and 'desc' allowed`)
  }
  return order === 'asc'
}

function badSort (problem: string): AuthError {
  return new AuthError('validation_failed', { message: `Bad Sort Parameters: ${problem}` })
}

function count (text: string, name: string, usual: number, largest: number): number {
  if (text === '') return usual
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > largest) {
    throw new AuthError('validation_failed', { message: `Bad Pagination Parameters: ${name}` })
  }
  return value === 0 ? usual : value
}
