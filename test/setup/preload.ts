import { enableCompileCache } from 'node:module'
import { speedUpLoading } from '#src/loading.ts'
import { COMPILE_CACHE } from './processes.ts'

// The server's own start does the same.
enableCompileCache(COMPILE_CACHE)
speedUpLoading()
