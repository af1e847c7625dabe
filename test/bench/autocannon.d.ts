declare module 'autocannon' {
  interface Options {
    url: string
    connections: number
    /** Duration in seconds. Alternatively `amount` is the number of requests. */
    duration?: number
    amount?: number
    /** Interval of samples in milliseconds. */
    sampleInt?: number
    headers?: Record<string, string>
    method?: 'GET' | 'POST'
    body?: string
    /** Requests in turn. `setupRequest` makes each one. */
    requests?: Request[]
  }
  interface Request {
    method: 'GET' | 'POST'
    path: string
    headers: Record<string, string>
    body?: string
    setupRequest?: (request: Request) => Request
  }
  interface Result {
    requests: { total: number }
    latency: { p50: number }
    duration: number
    non2xx: number
    errors: number
  }
  export default function autocannon (options: Options): Promise<Result>
}
