import { enableCompileCache } from 'node:module'
import { speedUpLoading } from '#src/loading.ts'
import { COMPILE_CACHE } from './processes.ts'

// The server does the same when it starts.
enableCompileCache(COMPILE_CACHE)
speedUpLoading()
