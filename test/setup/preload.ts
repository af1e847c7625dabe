import { enableCompileCache } from 'node:module'
import { speedUpLoading } from '#src/loading.ts'
import { COMPILE_CACHE } from './processes.ts'

// The server also enables the cache when it starts.
enableCompileCache(COMPILE_CACHE)
speedUpLoading()
