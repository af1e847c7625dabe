declare module 'autocannon' {
  interface Options {
    url: string
    connections: number
    /** Seconds; or `amount` of requests. */
    duration?: number
    amount?: number
    /** Milliseconds. */
    sampleInt?: number
    headers?: Record<string, string>
    method?: 'GET' | 'POST'
    body?: string
  }
  interface Result { requests: { total: number }, duration: number, non2xx: number, errors: number }
  export default function autocannon (options: Options): Promise<Result>
}
