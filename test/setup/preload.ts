import { speedUpLoading } from '#src/loading.ts'

// The server's own start does the same.
speedUpLoading()
