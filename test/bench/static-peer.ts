import process from 'node:process'
import fastifyStatic from '@fastify/static'
import Fastify from 'fastify'

/* A separate process that prints its URL: a static file server for the folder `FOLDER`. */
const app = Fastify()
await app.register(fastifyStatic, { root: process.env.FOLDER ?? '' })
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
