import type { FastifyInstance, LightMyRequestResponse } from 'fastify'

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A request with that token. A body is sent as JSON. */
export async function callAs (
  app: FastifyInstance,
  token: string,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  payload?: object
): Promise<LightMyRequestResponse> {
  return await app.inject({ method, url, headers: bearer(token), ...(payload === undefined ? {} : { payload }) })
}

/** The status of `GET /api/v1/paesi`, which every caller with a valid credential may read. */
export async function isLetIn (app: FastifyInstance, headers: Record<string, string>): Promise<number> {
  return (await app.inject({ url: '/api/v1/paesi', headers })).statusCode
}
