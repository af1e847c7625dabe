import { createNodeResolver, importX } from 'eslint-plugin-import-x'
import neostandard from 'neostandard'

/*
 * The floors of `src`, from the lowest to the highest. A file imports from its own floor and from lower ones. A test in
 * test/rules fails if a folder is on no floor.
 */
const floors = [
  ['lib'],
  ['config'],
  ['database'],
  ['services'],
  ['http'],
  ['bookings', 'identity', 'pdf', 'scanning'],
  ['alloggiati', 'documents', 'letters', 'reports', 'scans', 'storage', 'settings', 'dashboard', 'sql'],
  ['administration', 'backup', 'events', 'desk'],
  // The tool must not import anything in `notForTheTool`. It loads its own modules as the server does.
  ['app.ts', 'instance.ts', 'loading.ts', 'rotate-keys.ts', 'server.ts', 'start-error.ts', 'cli', 'demo']
]

/** Higher floors may import any file of these folders. The other folders are areas, with only `index.ts` importable. */
const common = ['lib', 'config', 'database', 'services', 'http']
const notForTheTool = [
  'database', 'services', 'http', ...floors.at(-1).filter(name => name.endsWith('.ts') && name !== 'loading.ts')
]

/** Inside `src/alloggiati`, the folders of records do not import the folders of submissions. */
const recordFolders = ['codec', 'rules', 'tables']
const submissionFolders = ['ledger', 'schedine', 'receipts', 'routes', 'service']

/** Only `src/<area>` imports `drizzle/tables/<area>.ts`. These tables belong to a service. An area may have more. */
const tablesOfFolders = {
  'services/audit': 'audit',
  'services/jobs': 'jobs',
  'services/mail': 'mail',
  'services/files': 'storage',
  'services/rate-counters.ts': 'counters',
  'http/idempotency': 'idempotency'
}
const furtherTables = {
  bookings: ['units', 'occupancy', 'establishments'],
  alloggiati: ['ledger', 'decisions'],
  identity: ['webauthn']
}
const others = folder => {
  const owners = Object.keys(tablesOfFolders).filter(name => name.startsWith(`${folder}/`))
  const rest = `${folder}/!(${owners.map(name => name.slice(folder.length + 1)).join('|')})`
  return [rest, `${rest}/**`]
}

const areas = floors.flat().filter(name => !common.includes(name) && !name.endsWith('.ts'))
const tableOwners = {
  ...Object.fromEntries(areas.map(area => [area, [area, ...furtherTables[area] ?? []]])),
  ...Object.fromEntries(Object.entries(tablesOfFolders).map(([folder, table]) => [folder, [table]]))
}

const inSrc = names => names.map(name => `src/${name}`)
const importZones = [
  { target: 'schemas', from: ['src', 'drizzle', 'test'], message: 'schemas imports no other folder of the project.' },
  { target: 'drizzle', from: ['src', 'test'], message: 'drizzle imports schemas only.' },
  { target: 'src', from: ['test'], message: 'The server and the tool import no tests.' },
  ...floors.slice(0, -1).map((floor, level) => ({
    target: inSrc(floor),
    from: inSrc(floors.slice(level + 1).flat()),
    message: 'A lower floor does not import a higher one.'
  })),
  ...floors.flat().map(name => ({
    target: `src/${name}`,
    from: inSrc(areas.filter(area => area !== name)),
    except: ['index.ts'],
    message: 'Import only the index.ts of another area.'
  })),
  { target: 'src/cli', from: inSrc(notForTheTool), message: 'The tool does not import the server.' },
  ...Object.entries(tableOwners).map(([owner, tables]) => ({
    target: `src/${owner}`,
    from: ['drizzle'],
    except: tables.map(table => `tables/${table}.ts`),
    message: 'A table is imported by its own area alone.'
  })),
  {
    target: inSrc(['*.ts', 'lib/**', 'config/**', 'database/**', ...others('services'), ...others('http')]),
    from: ['drizzle'],
    message: 'A table is imported by its own area alone.'
  },
  {
    target: inSrc(recordFolders.map(folder => `alloggiati/${folder}`)),
    from: inSrc(submissionFolders.map(folder => `alloggiati/${folder}`)),
    message: 'The code of records does not import the code of submissions.'
  }
]

const onlyTheEntriesReadProcess = 'Only the entries of src read the process; pass what you need.'

export default [
  ...neostandard({
    ts: true,
    ignores: ['data/**', 'node_modules/**', '.tap/**', 'drizzle/migrations/**']
  }),
  {
    rules: {
      // The contract's names, in JSON and in the database, are snake case. A schema and its type share one name.
      camelcase: 'off',
      '@typescript-eslint/no-redeclare': 'off',
      // Marks a promise that is deliberately not awaited.
      'no-void': ['error', { allowAsStatement: true }],
      complexity: ['error', 15],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      '@stylistic/max-len': ['error', { code: 120, ignoreUrls: true, ignoreRegExpLiterals: true }]
    }
  },
  {
    files: ['{schemas,drizzle,src,test}/**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // tap itself waits for a subtest and reports its failure.
      '@typescript-eslint/no-floating-promises': ['error', {
        allowForKnownSafePromises: [{ from: 'package', package: '@tapjs/core', name: 'PromiseWithSubtest' }]
      }],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error'
    }
  },
  {
    files: ['{schemas,drizzle,src}/**/*.ts'],
    plugins: { 'import-x': importX },
    settings: { 'import-x/resolver-next': [createNodeResolver({ extensions: ['.ts'] })] },
    rules: {
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones: importZones }],
      // The rule above does not detect the type `import('…').Name`.
      'no-restricted-syntax': ['error', {
        selector: 'TSImportType',
        message: 'Import the type at the top of the file.'
      }, ...['Literal[value', 'TemplateElement[value.raw'].map(text => ({
        selector: `:not(TSLiteralType) > ${text}=/\\b(?:l|d|un|dell|all|nell|sull|dall|quest|c)'[a-zàèéìòù]/i]`,
        message: 'Texts for users have the apostrophe ’.'
      }))]
    }
  },
  // The sandbox responds with the texts of the service.
  { files: ['src/alloggiati/service/sandbox/**'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['src/**'],
    ignores: ['src/server.ts', 'src/rotate-keys.ts', 'src/cli/index.ts', 'src/demo/index.ts', 'src/node-version.cjs'],
    rules: {
      'no-restricted-globals': ['error', {
        globals: [{ name: 'process', message: onlyTheEntriesReadProcess }],
        checkGlobalObject: true
      }],
      'no-restricted-imports': ['error', {
        paths: ['node:process', 'process'].map(name => ({ name, message: onlyTheEntriesReadProcess }))
      }]
    }
  },
  { files: ['test/**'], rules: { 'max-lines': ['error', { max: 600, skipBlankLines: true, skipComments: true }] } }
]
