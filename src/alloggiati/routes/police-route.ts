import type { RouteOptions } from 'fastify'

/** A route as it is described, without what it does. */
export type Route = Omit<RouteOptions, 'handler'>
