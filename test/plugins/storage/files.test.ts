import t from 'tap'
import { filesBackend } from '#src/plugins/storage/backends/files.ts'
import { temporaryFolder } from '#test/helper.ts'
import { backendRules } from './backend-rules.ts'
import { storageRules } from './storage-rules.ts'

t.test('files in a folder', async (t) => {
  backendRules(t, filesBackend(temporaryFolder(t)))
})

t.test('rows, and files in a folder', async (t) => storageRules(t))
