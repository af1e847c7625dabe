import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant } from './common.ts'
import { FILE_NAME } from './storage.ts'

const bucket = Type.String({
  minLength: 1, maxLength: 200, description: 'Il bucket in cui è il file', examples: ['documents']
})
const file = Type.String({
  minLength: 1, maxLength: 2048, description: FILE_NAME, examples: ['12/0/front.jpg']
})

export const SignedUrlQuery = Closed({ bucket, file })

export const SignedUrl = Closed({
  signedUrl: Type.String({ format: 'uri' }),
  expires_at: Instant
}, {
  examples: [{
    signedUrl: 'https://locanda.example/storage/v1/object/sign/documents/12/0/front.jpg?token=eyJhbGciOiJIUzI1NiJ9',
    expires_at: '2026-11-21T09:31:00.000Z'
  }]
})

export type SignedUrl = Static<typeof SignedUrl>

export const StoredFileParams = Closed({ bucket, '*': file })
