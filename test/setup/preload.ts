import { enableCompileCache } from 'node:module'
import { speedUpLoading } from '#src/loading.ts'

// The server's own start does the same.
enableCompileCache(new URL('../../node_modules/.cache/locanda-test', import.meta.url).pathname)
speedUpLoading()
