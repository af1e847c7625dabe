import { enableCompileCache } from 'node:module'
import { speedUpLoading } from '#src/loading.ts'
import { COMPILE_CACHE } from './processes.ts'

// The same as in the server's own start.
enableCompileCache(COMPILE_CACHE)
speedUpLoading()
